package tap

// response takes an answer.
func (t *Tracker) response(x *arrival) {
	link, open := t.pairer.response(x.f, x.m, x.part.Message, t.sameStream(x))
	x.part.Request, x.part.Latency = link.Request, link.Latency
	switch link.Kind {
	case Answers:
		t.answered(x, open.asked)
	case Repeats:
		t.repeated(x)
	default:
		t.refused(x)
	}
}

// sameStream is the request that an answer on an HTTP exchange has come back
// for, nil if it is not certain. Where clients share a session, ids clash that
// the exchanges tell apart.
func (t *Tracker) sameStream(x *arrival) *OpenRequest {
	const few = 8 // a batch may hold any number
	l := t.streams[x.f.Exchange]
	if x.f.Lane != ToClient || l.n == 0 || l.n > few {
		return nil
	}
	t.key = appendIDKey(t.key[:0], x.m.ID)
	for e := l.oldest; e != nil; e = e.newer {
		if e.owner.open.key == string(t.key) {
			return e.owner.open
		}
	}
	return nil
}

// repeated takes an answer to a request that is not open any more: it was
// answered, or given up as cancelled.
func (t *Tracker) repeated(x *arrival) {
	side := &t.pairer.sides[opposite(x.f.Lane)]
	a := side.answered.get(t.pairer.key)
	role := RoleRepeat
	if a.tie.late {
		role = RoleLate
		a.tie.late = false
	}
	x.part.Late = true
	t.recall(x, a.tie, role)
}

// refused takes an answer that names no open request. HTTP servers refuse with
// an error that has no id: then the exchange says what was refused.
func (t *Tracker) refused(x *arrival) {
	noID := len(x.m.ID) == 0 || string(x.m.ID) == "null"
	l := t.streams[x.f.Exchange]
	if x.m.Kind != ErrorResponse || !noID || x.f.Lane != ToClient || l.n != 1 {
		t.give(x, nil, RoleOrphan)
		return
	}
	a := l.oldest.owner
	link, _ := t.pairer.response(x.f, x.m, x.part.Message, a.open)
	x.part.Request, x.part.Latency = link.Request, link.Latency
	a.call.Notes |= NoteNullID
	t.answered(x, a)
}

// answered takes the answer to an open request.
func (t *Tracker) answered(x *arrival, a *asked) {
	c := a.call
	if c.FirstAnswer == 0 {
		c.FirstAnswer = x.f.At
	}
	x.part.Method, x.part.Guess = clipWord(a.open.Method), a.guess
	if c == t.hello {
		t.facts.Learn(&t.finding, x.f.Lane, x.m)
	}
	t.unask(a)
	c.Notes &^= NoteStreamEnded
	if a.status >= 400 && !c.Status.Settled() {
		c.ErrorText = "" // the answer knows better
	}
	if a.purpose <= asksRetry {
		t.callAnswered(x, a)
	} else {
		t.taskAnswered(x, a)
	}
	if c.more == nil || c.more.holder != a {
		t.release(a)
	}
	t.rest(c)
}

// callAnswered takes the answer to the first request of a call, or to a retry.
func (t *Tracker) callAnswered(x *arrival, a *asked) {
	c, m := a.call, x.m
	if c.Status == CallCancelled {
		x.part.Late = true
		t.give(x, c, RoleLate)
		t.conclude(x, c)
		return
	}
	if m.Kind == Response && m.ResultType == "input_required" {
		t.give(x, c, RoleInterim)
		t.await(x, c)
		return
	}
	if m.Kind == Response && (a.task || m.ResultType == "task") && t.created(x, a) {
		return
	}
	t.give(x, c, RoleResponse)
	t.conclude(x, c)
}

// conclude ends a call with the answer that has just come.
func (t *Tracker) conclude(x *arrival, c *callState) {
	m := x.m
	status := CallDone
	switch {
	case m.Kind == ErrorResponse:
		status = CallError
		c.ErrorCode, c.ErrorText = m.ErrorCode, m.ErrorMessage
		t.elicitationsRequired(x, c)
	case m.IsError:
		status = CallToolError
		c.ErrorText = Subject(*m)
	}
	if c.Status == CallCancelled {
		c.settleLate(x, status)
	} else {
		c.settle(x, status)
	}
	c.final = true
	switch {
	case status == CallDone && c.Method == "server/discover":
		c.Notes &^= NoteProbe
		t.spoke = true
	case c == t.hello:
		c.Revision = t.revision(&callWords{})
	}
}
