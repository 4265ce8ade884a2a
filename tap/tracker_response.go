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
		t.unnamed(x)
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

// unnamed takes a response that names no open request. HTTP servers refuse with
// an error that has no id: then the exchange says what was refused. Where the id
// of one side was too far behind to be read, the response belongs to the only
// request that it can belong to, as a guess.
func (t *Tracker) unnamed(x *arrival) {
	noID := len(x.m.ID) == 0 || string(x.m.ID) == "null"
	var a *asked
	switch {
	case x.m.Unread && x.m.ID == nil:
		if a = t.onlyOpen(x, t.pairer.only(opposite(x.f.Lane))); a == nil {
			t.give(x, nil, RoleUnread)
			return
		}
		a.guess = true
	case noID:
		if l := t.streams[x.f.Exchange]; x.m.Kind == ErrorResponse && x.f.Lane == ToClient && l.n == 1 {
			a = l.oldest.owner
			a.call.Notes |= NoteNullID
		}
	default:
		// A request without an id is one whose id was not read.
		q := t.pairer.sides[opposite(x.f.Lane)].open[""]
		if q.oldest != q.newest {
			q.oldest = nil
		}
		if a = t.onlyOpen(x, q.oldest); a != nil && a.open.key != "" {
			a = nil
		}
	}
	if a == nil {
		t.give(x, nil, RoleOrphan)
		return
	}
	link, _ := t.pairer.response(x.f, x.m, x.part.Message, a.open)
	x.part.Request, x.part.Latency = link.Request, link.Latency
	t.answered(x, a)
}

// onlyOpen is the only open request on the exchange of a response, else the given
// one, nil for none.
func (t *Tracker) onlyOpen(x *arrival, r *OpenRequest) *asked {
	if l := t.streams[x.f.Exchange]; x.f.Lane == ToClient && l.n > 0 {
		if l.n > 1 {
			return nil
		}
		return l.oldest.owner
	}
	if r == nil {
		return nil
	}
	return r.asked
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
