package session

import (
	"bytes"
	"slices"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// request handles a request, the first of a call or a further one.
func (t *Pairing) request(x *arrival) {
	w := readFields(x.m.Params)
	a := &request{ref: x.part.Message, at: x.f.At, method: x.part.Method, task: w["task"] != nil}
	id := word(wordID, x.f.Lane, x.m.ID)
	if id == "" {
		id = unreadID(x.f.Lane)
	} else if open := t.words[id].oldest(); open != nil {
		if c := open.call; open.cancelled && c.CancelledBy != c.Lane && x.f.Exchange == 0 {
			// The server has ended the subscription: its id is free.
			c.final = true
			t.abandon(open)
		} else {
			x.part.Clash = open.ref
		}
	}
	role := RoleRequest
	if a.call, a.purpose = t.known(x, w); a.call == nil {
		a.call = t.begin(x, w, a)
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
		c.answerEmbedded(x, w["inputResponses"])
	case a.purpose == asksCancel && !c.Status.Settled():
		c.cancelled(x, w)
	}
	t.name(a, wordID, id)
	t.ask(x, w, a)
	t.give(x, c, role)
	t.bound()
}

// known finds the call that a request continues.
func (t *Pairing) known(x *arrival, w fields) (*call, purpose) {
	if why := taskPurpose(x.m.Method); why != asksCall {
		tasks := t.words[word(wordTask, x.f.Lane, w["taskId"])]
		if c := tasks.newestCall(); c != nil {
			x.part.Guess = len(tasks) > 1
			return c, why
		}
		return nil, asksCall
	}
	if w["requestState"] != nil || w["inputResponses"] != nil {
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
func (t *Pairing) begin(x *arrival, w fields, first *request) *call {
	c := &call{first: first, Call: &Call{
		Ref: x.part.Message, Lane: x.f.Lane, Exchange: x.f.Exchange, At: x.f.At, Session: t.session,
		ID: bytes.Clone(x.m.ID[:min(len(x.m.ID), jsonrpc.MaxWord)]), Method: x.part.Method, Subject: jsonrpc.Subject(*x.m), Revision: t.revisionOf(w),
	}}
	if x.m.Long {
		c.Notes |= NoteLong
	}
	if (w["_meta/protocolVersion"] != nil || t.revision == "") && (w["name"] != nil || w["uri"] != nil) {
		c.name, c.arguments = shapeName(w), hashText(w["arguments"])
	}
	t.calls = append(t.calls, c)
	t.hold(1)
	t.within(x, w, c)
	if x.m.Method == "elicitation/create" && w["elicitationId"] != nil {
		t.elicited(x, c, w["elicitationId"])
	}
	if x.f.Lane == tap.ToServer {
		t.opens(x, c)
	}
	return c
}

// opens recognizes a handshake, and a probe before any other request.
func (t *Pairing) opens(x *arrival, c *call) {
	switch {
	case x.m.Method == "initialize":
		t.initialize = c
		t.dialect = t.dialect || inDialect(x.m.Params, "mcpVersion", "clientCapabilities")
	case x.m.Method != "server/discover":
	case !t.began:
		c.Notes |= NoteProbe
		return
	}
	t.began = true
}

// revisionOf returns the version that a request is in.
func (t *Pairing) revisionOf(w fields) jsonrpc.Revision {
	switch {
	case w["_meta/protocolVersion"] != nil:
		return jsonrpc.Revision(wordText(w["_meta/protocolVersion"]))
	case t.dialect:
		return jsonrpc.Dialect
	}
	return t.revision
}

// ask opens a request.
func (t *Pairing) ask(x *arrival, w fields, a *request) {
	c := a.call
	t.open = append(t.open, a)
	if c.open++; c.open > 1 {
		t.hold(1)
	}
	c.Requests = addRef(c.Requests, a.ref)
	if x.part.Clash != (Ref{}) {
		c.Notes |= NoteClash
	}
	token := word(wordToken, x.f.Lane, w["_meta/progressToken"])
	if slices.ContainsFunc(t.words[token], func(a *request) bool { return !a.cancelled }) {
		c.Notes |= NoteTokenClash
	}
	t.name(a, wordToken, token)
	if x.f.Lane != tap.ToServer {
		return
	}
	t.name(a, wordExchange, exchangeWord(x.f.Exchange))
	a.causes = a.purpose <= asksRetry && mayCause(x.m.Method)
	if w["_meta/logLevel"] != nil {
		a.level = 1 + LogLevel(w["_meta/logLevel"].Decoded())
	}
	if x.m.Method == "subscriptions/listen" {
		t.name(c.first, wordSubscription, word(wordSubscription, x.f.Lane, x.m.ID))
	}
}

// mayCause reports whether a server may send requests because of a request with this
// method: not of a list, a ping or a handshake. A custom method may.
func mayCause(method string) bool {
	switch method {
	case "tools/call", "prompts/get", "resources/read", "completion/complete", "tools/invoke":
		return true
	}
	_, known := jsonrpc.LookupMethod(method)
	return !known
}

// within finds the call within which a call was made.
func (t *Pairing) within(x *arrival, w fields, c *call) {
	var parent *call
	past := ""
	related := word(wordTask, opposite(x.f.Lane), w["_meta/related-task"])
	if parent = t.words[related].newestCall(); parent == nil {
		switch {
		case taskPurpose(x.m.Method) != asksCall:
			past = word(wordTask, x.f.Lane, w["taskId"])
		case w["_meta/related-task"] != nil:
			past = related
		case w["requestState"] != nil:
			past = word(wordState, x.f.Lane, w["requestState"])
		case x.f.Lane == tap.ToClient && mayNest(x.m.Method):
			parent, c.Guess = t.cause(x)
		}
	}
	switch of := t.past.At(past); {
	case parent != nil:
		c.Parent = parent.Ref
		if c.Revision == "" {
			c.Revision = parent.Revision
		}
	case of != nil: // a task or a state whose call may be over
		c.Parent = of.call
		parent = t.call(of.call)
	}
	if parent != nil {
		parent.Nested = addRef(parent.Nested, c.Ref)
	}
}

// mayNest reports whether a request of a server with this method may belong to a call.
func mayNest(method string) bool {
	switch method {
	case "sampling/createMessage", "elicitation/create", "roots/list":
		return true
	}
	_, known := jsonrpc.LookupMethod(method)
	return !known
}

// cause returns the call that caused a request of the server, and whether that is a guess.
// On an HTTP exchange without a request (a GET stream) messages should be unrelated to open
// requests, except in HTTP+SSE, where all of them come on such an exchange.
func (t *Pairing) cause(x *arrival) (c *call, guess bool) {
	due := t.rootsDue && x.m.Method == "roots/list"
	if due {
		t.rootsDue = false
	}
	if stream := t.onStream(); len(stream) > 0 {
		return stream.newestCall(), len(stream) > 1
	}
	if a, several := t.latest(func(a *request) bool { return a.causes && !a.cancelled }); a != nil {
		return a.call, several || x.f.Exchange != 0 || due
	}
	for _, c := range slices.Backward(t.calls[max(0, len(t.calls)-lookBack):]) {
		if c.holder != nil && c.holder.causes {
			return c, true // it should have named the task
		}
	}
	return nil, false
}

// lookBack is how many of the latest calls or open requests are considered for a guess.
const lookBack = 1024

// latest returns the latest open request that fits, or nil, and whether there may be
// several.
func (t *Pairing) latest(fits func(a *request) bool) (found *request, several bool) {
	from := max(0, len(t.open)-lookBack)
	for _, a := range slices.Backward(t.open[from:]) {
		if !fits(a) {
			continue
		}
		if found != nil {
			return found, true
		}
		found = a
	}
	return found, from > 0
}

func opposite(lane tap.Lane) tap.Lane { return tap.ToServer + tap.ToClient - lane }
