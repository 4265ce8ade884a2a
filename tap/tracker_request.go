package tap

// request takes a request: the first of a call, or a further one of a call.
func (t *Tracker) request(x *arrival) {
	var w callWords
	w.read(x.m.Params)
	link, open := t.pairer.request(x.f, x.m, x.part.Message)
	if link.Kind == Clashes {
		x.part.Clash = link.Request
	}
	c, why := t.known(x, &w)
	role := RoleRequest
	var a *asked
	switch {
	case c == nil:
		c = t.begin(x, &w, open)
		a = &c.first
	case why == asksCancel:
		role, a = RoleCancel, &asked{}
	default:
		role, a = RoleAgain, &asked{}
	}
	a.call, a.open, a.purpose, a.guess = c, open, why, x.part.Guess || x.m.ID == nil
	switch {
	case why == asksUpdate:
		c.answerEmbedded(x, w.inputs)
	case why == asksCancel && !c.Status.Settled():
		c.cancelled(x, &w)
	}
	t.ask(x, &w, a)
	t.give(x, c, role)
	t.rest(c)
	t.bound()
}

// known finds the call that a request is a further one of.
func (t *Tracker) known(x *arrival, w *callWords) (*callState, purpose) {
	if why := taskPurpose(x.m.Method); why != asksCall {
		if l := t.named(keyTask, x.f.Lane, w.taskID); l.n > 0 {
			x.part.Guess = l.n > 1
			return l.newest.owner.call, why
		}
		return nil, asksCall
	}
	if w.state != nil || w.inputs != nil {
		if c := t.retried(x, w); c != nil {
			return c, asksRetry
		}
	}
	return nil, asksCall
}

func taskPurpose(method string) purpose {
	switch method {
	case "tasks/get":
		return asksStatus
	case "tasks/result":
		return asksResult
	case "tasks/update":
		return asksUpdate
	case "tasks/cancel":
		return asksCancel
	}
	return asksCall
}

// begin makes a call of its first request.
func (t *Tracker) begin(x *arrival, w *callWords, open *OpenRequest) *callState {
	c, room := t.fresh(), &callRoom{}
	c.Call = &room.Call
	c.Ref, c.Lane, c.Exchange, c.At = x.part.Message, x.f.Lane, x.f.Exchange, x.f.At
	c.Session = t.session
	c.ID = append(room.id[:0:len(room.id)], clip(open.ID, MaxWord)...)
	c.Method, c.Subject, c.Revision = x.part.Method, w.subject(x.m), t.revision(w)
	c.Parts, c.Requests = room.parts[:0:len(room.parts)], room.ref[:0:len(room.ref)]
	if x.m.Long {
		c.Notes |= NoteLong
	}
	if (w.meta.version != nil || t.facts.Revision == "") && (w.name != nil || w.uri != nil) {
		c.name, c.arguments = appendShape(c.name[:0], w), hashText(w.arguments)
	}
	c.first.call = c
	t.pools[poolBegun].add(&c.begun, &c.first)
	t.within(x, w, c)
	if x.m.Method == "elicitation/create" && w.elicitation != nil {
		t.elicited(x, c, w.elicitation)
		t.outlives(c) // its end may be told before its answer
	}
	if x.f.Lane == ToServer {
		t.opens(x, c)
	}
	return c
}

// opens looks at how a client begins: with a handshake, or with a probe before
// anything else.
func (t *Tracker) opens(x *arrival, c *callState) {
	switch {
	case x.m.Method == "initialize":
		t.hello = c
		t.facts.Learn(&t.finding, x.f.Lane, x.m)
	case x.m.Method != "server/discover":
	case !t.spoke:
		c.Notes |= NoteProbe
		return
	}
	t.spoke = true
}

// revision is the version that a request is in.
func (t *Tracker) revision(w *callWords) Revision {
	switch {
	case w.meta.version != nil:
		return revisionNamed(w.meta.version)
	case t.facts.Dialect != "":
		return Dialect
	}
	return t.facts.Revision
}

// revisionNamed is the version that a string names. A known one costs no memory.
func revisionNamed(v written) Revision {
	for _, r := range Revisions {
		if string(v[1:len(v)-1]) == string(r) {
			return r
		}
	}
	return Revision(bound(v.decoded()))
}

// ask puts an open request into the lists by which it can be found.
func (t *Tracker) ask(x *arrival, w *callWords, a *asked) {
	c, lane := a.call, x.f.Lane
	a.open.asked = a
	a.task = w.task != nil
	c.asks.add(&a.sibling, a)
	t.open.add(1)
	c.Requests = addRef(c.Requests, x.part.Message)
	if x.part.Clash != (Ref{}) {
		c.Notes |= NoteClash
	}
	if key := t.word(keyToken, lane, w.meta.token); key != nil {
		if t.words[string(key)].n > 0 {
			c.Notes |= NoteTokenClash
		}
		t.words.add(string(key), &a.token, a)
	}
	if lane != ToServer {
		return
	}
	if x.f.Exchange != 0 {
		t.streams.add(x.f.Exchange, &a.stream, a)
	}
	if a.purpose <= asksRetry && mayCause(x.m.Method) {
		t.pools[poolCausing].add(&a.causing, a)
	}
	if w.meta.logLevel != nil {
		a.level = logLevel(w.meta.logLevel.decoded())
		t.logging[a.level].add(&a.logging, a)
	}
	if x.m.Method == "subscriptions/listen" {
		if key := t.word(keySubscription, lane, x.m.ID); key != nil {
			t.words.add(string(key), &c.extra().subscription, a)
		}
	}
}

// mayCause reports whether a server may ask the client something because of a
// request: one that makes it work, not a list, a ping or a handshake. Nothing is
// known of methods of somebody's own.
func mayCause(method string) bool {
	switch method {
	case "tools/call", "prompts/get", "resources/read", "completion/complete", "tools/invoke":
		return true
	}
	_, known := methodIndex[method]
	return !known
}

// unask takes a request that is not open any more out of the lists, but for its
// token and what it may cause.
func (t *Tracker) unask(a *asked) {
	if a.sibling.listed() {
		a.call.asks.remove(&a.sibling)
		t.open.add(-1)
	}
	t.logging[a.level].remove(&a.logging)
	t.streams.remove(&a.stream)
}

// release takes a request's token out of use, and what it may cause.
func (t *Tracker) release(a *asked) {
	if c := a.call; c.more != nil && c.more.holder == a && a.causing.listed() {
		t.pools[poolTasks].remove(&a.causing)
	} else {
		t.pools[poolCausing].remove(&a.causing)
	}
	t.retire(&a.token, pastTokens, a.call)
}

// within finds the call that a call is asked within.
func (t *Tracker) within(x *arrival, w *callWords, c *callState) {
	parent := t.task(opposite(x.f.Lane), w.meta.relatedTask)
	switch {
	case parent != nil:
	case taskPurpose(x.m.Method) != asksCall:
		t.withinPast(c, pastTasks, t.word(keyTask, x.f.Lane, w.taskID))
	case w.meta.relatedTask != nil:
		t.withinPast(c, pastTasks, t.word(keyTask, opposite(x.f.Lane), w.meta.relatedTask))
	case w.state != nil:
		t.withinPast(c, pastStates, t.word(keyState, x.f.Lane, w.state))
	case x.f.Lane == ToClient && mayNest(x.m.Method):
		parent, c.Guess = t.cause(x)
	}
	if parent != nil {
		c.Parent = parent.Ref
		if c.Revision == "" {
			c.Revision = parent.Revision
		}
		parent.Nested = addRef(parent.Nested, c.Ref)
	}
}

// mayNest reports whether a server asks a method for the sake of a call.
func mayNest(method string) bool {
	switch method {
	case "sampling/createMessage", "elicitation/create", "roots/list":
		return true
	}
	_, known := methodIndex[method]
	return !known
}

// cause is the call for which a server asks something, and whether that is a
// guess. On an HTTP exchange without a request (a GET stream) what comes should
// have nothing to do with an open request, except in HTTP+SSE, where all comes
// on one.
func (t *Tracker) cause(x *arrival) (*callState, bool) {
	due := t.rootsDue && x.m.Method == "roots/list"
	if due {
		t.rootsDue = false
	}
	if l := t.streams[x.f.Exchange]; l.n > 0 {
		return l.newest.owner.call, l.n > 1
	}
	if l := t.pools[poolCausing]; l.n > 0 {
		return l.newest.owner.call, l.n > 1 || x.f.Exchange != 0 || due
	}
	if l := t.pools[poolTasks]; l.n > 0 {
		return l.newest.owner.call, true // it should have named the task
	}
	return nil, false
}

// withinPast puts a call within one that a word of it was tied to: a task whose
// call is over, or a state that was given back before, in a call that may not be
// over.
func (t *Tracker) withinPast(c *callState, past int, key []byte) {
	if of := t.past[past].get(key); of != nil {
		c.Parent = of.call
	}
	if parent := t.long[c.Parent]; parent != nil {
		parent.Nested = addRef(parent.Nested, c.Ref)
	}
}

// What the first byte of a key in Tracker.words says.
const (
	keyToken        = 't'
	keyTask         = 'k'
	keySubscription = 'u'
	keyState        = 's'
	keyShape        = 'f'
	keyElicitation  = 'e'
)

// word makes the key of a word of a request that crossed on a lane, nil if the
// word is absent. It is valid until the next one.
func (t *Tracker) word(kind byte, lane Lane, raw written) []byte {
	t.key = appendWord(append(t.key[:0], kind, byte(lane)), raw)
	if len(t.key) == 2 {
		return nil
	}
	return t.key
}

// named finds the open requests with a word.
func (t *Tracker) named(kind byte, lane Lane, raw written) list[string] {
	key := t.word(kind, lane, raw)
	if key == nil {
		return list[string]{}
	}
	return t.words[string(key)]
}

// task finds the open call of a task that was asked for on a lane.
func (t *Tracker) task(lane Lane, id written) *callState {
	if l := t.named(keyTask, lane, id); l.n > 0 {
		return l.newest.owner.call
	}
	return nil
}

func opposite(lane Lane) Lane { return ToServer + ToClient - lane }
