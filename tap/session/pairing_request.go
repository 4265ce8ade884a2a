package session

import (
	"bytes"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// request takes a request: the first of a call, or a further one of a call.
func (t *Pairing) request(x *arrival) {
	var w callWords
	w.read(x.m.Params)
	a := &openRequest{
		ref: x.part.Message, at: x.f.At, method: x.part.Method, id: word(wordID, x.f.Lane, x.m.ID), token: word(wordToken, x.f.Lane, w.meta.token),
		task: w.task != nil,
	}
	if a.id == "" {
		a.id = unreadID(x.f.Lane)
	} else if open := t.byWord.of(a.id); !open.empty() {
		x.part.Clash = open.oldest().ref
	}
	role := RoleRequest
	if a.call, a.purpose = t.known(x, &w); a.call == nil {
		a.call = t.begin(x, &w)
		a.call.first = a
	} else if role = RoleRetry; a.purpose == asksCancel {
		role = RoleCancel
	}
	c := a.call
	if a.subject = c.Subject; a.ref != c.Ref {
		a.subject = jsonrpc.Subject(*x.m)
	}
	a.guess = x.part.Guess || x.m.ID == nil // unread
	switch {
	case a.purpose == asksUpdate:
		c.answerEmbedded(x, w.inputs)
	case a.purpose == asksCancel && !c.Status.Settled():
		c.cancelled(x, &w)
	}
	t.ask(x, &w, a)
	t.give(x, c, role)
	t.rest(c)
	t.bound()
}

// known finds the call that a request is a further one of.
func (t *Pairing) known(x *arrival, w *callWords) (*callState, purpose) {
	if why := taskPurpose(x.m.Method); why != asksCall {
		tasks := t.calls.of(word(wordTask, x.f.Lane, w.taskID))
		if c := tasks.newest(); c != nil {
			x.part.Guess = len(tasks.items) > 1
			return c, why
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
func (t *Pairing) begin(x *arrival, w *callWords) *callState {
	c := &callState{Call: &Call{
		Ref: x.part.Message, Lane: x.f.Lane, Exchange: x.f.Exchange, At: x.f.At, Session: t.session,
		ID: bytes.Clone(x.m.ID[:min(len(x.m.ID), jsonrpc.MaxWord)]), Method: x.part.Method, Subject: jsonrpc.Subject(*x.m), Revision: t.revision(w),
	}}
	if x.m.Long {
		c.Notes |= NoteLong
	}
	if (w.meta.version != nil || t.facts.Revision == "") && (w.name != nil || w.uri != nil) {
		c.name, c.arguments = shapeName(w), hashText(w.arguments)
	}
	t.begun.add(c)
	t.within(x, w, c)
	if x.m.Method == "elicitation/create" && w.elicitation != nil {
		t.elicited(x, c, w.elicitation)
		t.outlives(c) // its end may be reported before its response
	}
	if x.f.Lane == tap.ToServer {
		t.opens(x, c)
	}
	return c
}

// opens looks at how a client begins: with a handshake, or with a probe before
// anything else.
func (t *Pairing) opens(x *arrival, c *callState) {
	switch {
	case x.m.Method == "initialize":
		t.initialize = c
		t.facts.Learn(&t.finding, x.f.Lane, x.m)
	case x.m.Method != "server/discover":
	case !t.spoke:
		c.Notes |= NoteProbe
		return
	}
	t.spoke = true
}

// revision is the version that a request is in.
func (t *Pairing) revision(w *callWords) jsonrpc.Revision {
	switch {
	case w.meta.version != nil:
		return revisionNamed(w.meta.version)
	case t.facts.Dialect != "":
		return jsonrpc.Dialect
	}
	return t.facts.Revision
}

// revisionNamed is the version that a string names.
func revisionNamed(v jsonrpc.Value) jsonrpc.Revision {
	for _, r := range jsonrpc.Revisions {
		if string(v[1:len(v)-1]) == string(r) {
			return r
		}
	}
	return jsonrpc.Revision(jsonrpc.Bound(v.Decoded()))
}

// ask opens a request.
func (t *Pairing) ask(x *arrival, w *callWords, a *openRequest) {
	c := a.call
	c.requests.add(a)
	t.open.add(1)
	c.Requests = addRef(c.Requests, a.ref)
	if x.part.Clash != (Ref{}) {
		c.Notes |= NoteClash
	}
	t.byWord.add(a.id, a)
	if a.token != "" {
		if !t.byWord.of(a.token).empty() {
			c.Notes |= NoteTokenClash
		}
		t.byWord.add(a.token, a)
	}
	if x.f.Lane != tap.ToServer {
		return
	}
	if a.exchange = x.f.Exchange; a.exchange != 0 {
		t.streams.add(a.exchange, a)
	}
	if a.purpose <= asksRetry && mayCause(x.m.Method) {
		t.causes(a, &t.causing)
	}
	if w.meta.logLevel != nil {
		a.level = 1 + logLevel(w.meta.logLevel.Decoded())
		t.logging[a.level].add(a)
	}
	if x.m.Method == "subscriptions/listen" {
		t.name(c, &c.subscriptionKey, word(wordSubscription, x.f.Lane, x.m.ID))
	}
}

// causes puts a request into the queue of those that the server may ask something
// for.
func (t *Pairing) causes(a *openRequest, q *queue[*openRequest]) {
	a.causing = q
	q.add(a)
}

// name makes a call known by a word, unless that is "". Key is its member for
// that kind of word.
func (t *Pairing) name(c *callState, key *string, word string) {
	if *key != "" {
		t.calls.remove(*key, c)
	}
	if *key = word; word != "" {
		t.calls.add(word, c)
	}
}

// mayCause reports whether a server may ask the client something because of a
// request: one that makes it work, not a list, a ping or a handshake. Nothing is
// known of custom methods.
func mayCause(method string) bool {
	switch method {
	case "tools/call", "prompts/get", "resources/read", "completion/complete", "tools/invoke":
		return true
	}
	_, known := jsonrpc.LookupMethod(method)
	return !known
}

// within finds the call that a call is asked within.
func (t *Pairing) within(x *arrival, w *callWords, c *callState) {
	var parent *callState
	past := ""
	switch related := word(wordTask, opposite(x.f.Lane), w.meta.relatedTask); {
	case !t.calls.of(related).empty():
		parent = t.calls.of(related).newest()
	case taskPurpose(x.m.Method) != asksCall:
		past = word(wordTask, x.f.Lane, w.taskID)
	case w.meta.relatedTask != nil:
		past = related
	case w.state != nil:
		past = word(wordState, x.f.Lane, w.state)
	case x.f.Lane == tap.ToClient && mayNest(x.m.Method):
		parent, c.Guess = t.cause(x)
	}
	switch of := t.past.At(past); {
	case parent != nil:
		c.Parent = parent.Ref
		if c.Revision == "" {
			c.Revision = parent.Revision
		}
	case of != nil: // a task or a state whose call may be over
		c.Parent = of.call
		parent = t.long[of.call]
	}
	if parent != nil {
		parent.Nested = addRef(parent.Nested, c.Ref)
	}
}

// mayNest reports whether a server asks a method for the sake of a call.
func mayNest(method string) bool {
	switch method {
	case "sampling/createMessage", "elicitation/create", "roots/list":
		return true
	}
	_, known := jsonrpc.LookupMethod(method)
	return !known
}

// cause is the call for which a server asks something, and whether that is a
// guess. On an HTTP exchange without a request (a GET stream) what comes should
// have nothing to do with an open request, except in HTTP+SSE, where everything
// comes on one.
func (t *Pairing) cause(x *arrival) (*callState, bool) {
	due := t.rootsDue && x.m.Method == "roots/list"
	if due {
		t.rootsDue = false
	}
	if q := t.stream(x.f.Exchange); !q.empty() {
		return q.newest().call, len(q.items) > 1
	}
	if q := &t.causing; !q.empty() {
		return q.newest().call, len(q.items) > 1 || x.f.Exchange != 0 || due
	}
	if q := &t.tasks; !q.empty() {
		return q.newest().call, true // it should have named the task
	}
	return nil, false
}

func opposite(lane tap.Lane) tap.Lane { return tap.ToServer + tap.ToClient - lane }
