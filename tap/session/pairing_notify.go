package session

import (
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// notification takes a notification.
func (t *Pairing) notification(x *arrival) {
	var w callWords
	w.read(x.m.Params)
	switch x.m.Method {
	case "notifications/progress", "progress":
		t.progress(x, &w)
	case "notifications/cancelled", "cancel":
		t.cancel(x, &w)
	case "notifications/message":
		t.log(x, &w)
	case "notifications/tasks", "notifications/tasks/status":
		if !t.taskNews(x, &w) && !t.subscribed(x, &w) {
			t.give(x, nil, RoleUnmatched)
		}
	case "notifications/elicitation/complete":
		past := t.past.At(word(wordElicitation, x.f.Lane, w.elicitation))
		if past == nil {
			t.give(x, nil, RoleUnmatched)
			return
		}
		t.recall(x, past, RoleNotification)
	case "notifications/initialized", "initialized":
		t.initialized(x)
	default:
		t.other(x, &w)
	}
}

// progress finds the call of a progress notification, from the side that was
// asked.
func (t *Pairing) progress(x *arrival, w *callWords) {
	lane := opposite(x.f.Lane)
	if w.progressToken == nil { // the 002 dialect
		t.about(x, lane, w.id, RoleProgress)
		return
	}
	key := word(wordToken, lane, w.progressToken)
	if q := t.byWord.of(key); !q.empty() {
		a := q.newest()
		x.part.Guess = len(q.items) > 1 || a.guess
		x.part.Late = a.call.Status.Settled()
		t.give(x, a.call, RoleProgress)
		return
	}
	past := t.past.At(key)
	if past == nil {
		t.give(x, nil, RoleUnmatched)
		return
	}
	x.part.Late = true
	t.recall(x, past, RoleProgress)
}

// about ties a notification to the request of a lane that has an id, and
// returns it if it is open.
func (t *Pairing) about(x *arrival, lane tap.Lane, id jsonrpc.Value, role Role) *openRequest {
	key := word(wordID, lane, id)
	past := t.past.At(key)
	switch q := t.byWord.of(key); {
	case !q.empty():
		a := q.oldest()
		x.part.Guess = len(q.items) > 1 || a.guess
		x.part.Late = role == RoleProgress && a.call.Status.Settled()
		t.give(x, a.call, role)
		return a
	case past != nil:
		x.part.Late = true
		t.recall(x, past, role)
	default:
		t.give(x, nil, RoleUnmatched)
	}
	return nil
}

// cancel takes a cancellation of a request by its id.
func (t *Pairing) cancel(x *arrival, w *callWords) {
	id := w.requestID
	if id == nil {
		id = w.id
	}
	lane := x.f.Lane
	if lane == tap.ToClient && t.byWord.of(word(wordID, lane, id)).empty() {
		// A server of 2026-07-28 sends no requests: it ends a subscription
		// (basic/patterns/cancellation).
		if !t.calls.of(word(wordSubscription, tap.ToServer, id)).empty() {
			lane = tap.ToServer
		}
	}
	a := t.about(x, lane, id, RoleCancel)
	if a == nil {
		t.cancelWaiting(x, w)
		return
	}
	a.cancelled = true
	if c := a.call; a.purpose <= asksRetry && !c.Status.Settled() {
		c.cancelled(x, w)
		c.settle(x, CallCancelled)
		if a.causing == &t.causing {
			t.causing.remove(a)
			a.causing = nil
		}
		t.rest(c)
	}
}

// cancelWaiting takes the cancellation of a request that was answered, which
// means something where the call waits for input.
func (t *Pairing) cancelWaiting(x *arrival, w *callWords) {
	c := t.long[x.part.Call]
	if c == nil || c.Status != CallInputRequired || !c.requests.empty() || c.holder != nil {
		return
	}
	c.cancelled(x, w)
	c.settle(x, CallCancelled)
}

// initialized ties the second half of the handshake to the first.
func (t *Pairing) initialized(x *arrival) {
	c := t.initialize
	switch {
	case c == nil || x.f.Lane != tap.ToServer:
		t.give(x, nil, RoleUnsolicited)
	case c.over:
		past := c.tie()
		t.recall(x, &past, RoleNotification)
	default:
		t.give(x, c, RoleNotification)
	}
	t.rootsDue = t.rootsDue || x.f.Lane == tap.ToServer
}

// subscribed ties what comes on a subscription to it.
func (t *Pairing) subscribed(x *arrival, w *callWords) bool {
	key := word(wordSubscription, tap.ToServer, w.meta.subscription)
	if key == "" || x.f.Lane != tap.ToClient {
		return false
	}
	if q := t.calls.of(key); !q.empty() {
		c := q.newest()
		x.part.Guess, x.part.Late = len(q.items) > 1, c.Status.Settled()
		if x.m.Method == "notifications/subscriptions/acknowledged" {
			c.goesOn(CallListening)
		}
		t.give(x, c, RoleNotification)
		return true
	}
	past := t.past.At(key)
	if past != nil {
		x.part.Late = true
		t.recall(x, past, RoleNotification)
	}
	return past != nil
}

// other takes the notifications that are about nothing in particular.
func (t *Pairing) other(x *arrival, w *callWords) {
	if x.m.Method == "notifications/roots/list_changed" && x.f.Lane == tap.ToServer {
		t.rootsDue = true
	}
	c := t.calls.of(word(wordTask, opposite(x.f.Lane), w.meta.relatedTask)).newest()
	stream := t.stream(x.f.Exchange)
	switch {
	case t.subscribed(x, w):
	case w.meta.subscription != nil:
		t.give(x, nil, RoleUnmatched)
	case c != nil:
		t.give(x, c, RoleNotification)
	case x.f.Lane == tap.ToClient && !stream.empty():
		c, x.part.Guess = stream.newest().call, len(stream.items) > 1
		if x.m.Method == "notifications/subscriptions/acknowledged" {
			c.goesOn(CallListening)
		}
		t.give(x, c, RoleNotification)
	case x.m.Method == "notifications/subscriptions/acknowledged":
		t.give(x, nil, RoleUnmatched)
	default:
		t.give(x, nil, RoleUnsolicited)
	}
}

// maxElicitations is how many elicitations of one error are remembered.
const maxElicitations = 16

// elicitationsRequired remembers the elicitations of an error -32042, whose
// ends are reported later (2025-11-25 client/elicitation).
func (t *Pairing) elicitationsRequired(x *arrival, c *callState) {
	if x.m.ErrorCode != "-32042" {
		return
	}
	left := maxElicitations
	jsonrpc.Value(x.m.Error).Get("data", "elicitations").Each(func(_ []byte, v jsonrpc.Value) bool {
		t.elicited(x, c, v.Get("elicitationId"))
		left--
		return left > 0
	})
}

// elicited remembers the id of an elicitation, whose end is reported by the side
// that asked for it.
func (t *Pairing) elicited(x *arrival, c *callState, id jsonrpc.Value) {
	if key := word(wordElicitation, x.f.Lane, id); key != "" {
		t.remember(key, c.tie())
	}
}

// logLevels is the number of levels of log messages, which are those of RFC
// 5424 (server/utilities/logging).
const logLevels = 8

// logLevel is the rank of a level, from debug, 0, to emergency; logLevels for
// one that does not exist.
func logLevel(name string) int {
	for i, level := range [logLevels]string{
		"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
	} {
		if level == name {
			return i
		}
	}
	return logLevels
}

// log finds the call of a log message.
func (t *Pairing) log(x *arrival, w *callWords) {
	c := t.calls.of(word(wordTask, opposite(x.f.Lane), w.meta.relatedTask)).newest()
	if c == nil && x.f.Lane == tap.ToClient {
		if stream := t.stream(x.f.Exchange); !stream.empty() {
			c, x.part.Guess = stream.newest().call, len(stream.items) > 1
		} else if x.f.Exchange == 0 {
			c, x.part.Guess = t.logged(logLevel(wordText(w.level)))
		}
	}
	if c != nil {
		x.part.Late = c.Status.Settled()
	}
	t.give(x, c, RoleLog)
}

// logged is the call for which a message of a level was logged, and whether
// that is a guess. A server may log only for a request that asks for it, from
// its level on (2026-07-28 server/utilities/logging); where none allows it, it
// is likely to be one of those that ask at all.
func (t *Pairing) logged(level int) (*callState, bool) {
	a, n := newestLogging(t.logging[1 : level+2])
	if n == 0 {
		a, n = newestLogging(t.logging[level+2:])
	}
	if n == 0 {
		return nil, false
	}
	return a.call, n > 1
}

// newestLogging is the latest request in some queues and how many they hold.
func newestLogging(queues []queue[*openRequest]) (newest *openRequest, n int) {
	for i := range queues {
		n += len(queues[i].items)
		if a := queues[i].newest(); a != nil && (newest == nil || newest.ref.Compare(a.ref) < 0) {
			newest = a
		}
	}
	return newest, n
}
