package session

import (
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// notification handles a notification.
func (t *Pairing) notification(x *arrival) {
	w := readFields(x.m.Params)
	switch x.m.Method {
	case "notifications/progress", "progress":
		t.progress(x, w)
	case "notifications/cancelled", "cancel":
		t.cancel(x, w)
	case "notifications/message":
		t.log(x, w)
	case "notifications/tasks", "notifications/tasks/status":
		if !t.taskNotification(x, w) && !t.subscribed(x, w) {
			t.give(x, nil, RoleUnmatched)
		}
	case "notifications/elicitation/complete":
		past := t.past.At(word(wordElicitation, x.f.Lane, w["elicitationId"]))
		if past == nil {
			t.give(x, nil, RoleUnmatched)
			return
		}
		t.recall(x, past, RoleNotification)
	case "notifications/initialized", "initialized":
		t.initialized(x)
	default:
		t.other(x, w)
	}
}

// progress finds the call of a progress notification, from the side that was
// asked.
func (t *Pairing) progress(x *arrival, w fields) {
	key := word(wordToken, opposite(x.f.Lane), w["progressToken"])
	if w["progressToken"] == nil { // the 002 dialect
		key = word(wordID, opposite(x.f.Lane), w["id"])
	}
	t.about(x, key, RoleProgress)
}

// about assigns a notification to the request with an id or a token, and returns the request
// if it is open.
func (t *Pairing) about(x *arrival, key string, role Role) *request {
	named := t.words[key]
	if len(named) == 0 {
		if !t.aboutPast(x, key, role) {
			t.give(x, nil, RoleUnmatched)
		}
		return nil
	}
	a := named.oldest()
	if key[0] == wordToken {
		a = named.newest()
	}
	x.part.Guess = len(named) > 1 || a.guess
	x.part.Late = role == RoleProgress && a.call.Status.Settled()
	t.give(x, a.call, role)
	return a
}

// aboutPast assigns a notification to a word of the past, if it is remembered.
func (t *Pairing) aboutPast(x *arrival, key string, role Role) bool {
	past := t.past.At(key)
	if past != nil {
		x.part.Late = true
		t.recall(x, past, role)
	}
	return past != nil
}

// cancel handles a cancellation of a request by its id.
func (t *Pairing) cancel(x *arrival, w fields) {
	id := w["requestId"]
	if id == nil {
		id = w["id"]
	}
	lane := x.f.Lane
	if lane == tap.ToClient && t.words[word(wordID, lane, id)] == nil && t.words[word(wordSubscription, tap.ToServer, id)] != nil {
		// A server of 2026-07-28 sends no requests: it ends a subscription
		// (basic/patterns/cancellation).
		lane = tap.ToServer
	}
	a := t.about(x, word(wordID, lane, id), RoleCancel)
	if a == nil {
		t.cancelWaiting(x, w)
		return
	}
	a.cancelled = true
	if c := a.call; a.purpose <= asksRetry && !c.Status.Settled() {
		c.cancelled(x, w)
		c.settle(x, CallCancelled)
		t.rest(c)
	}
}

// cancelWaiting handles the cancellation of a request that was answered. It cancels a call
// that waits for input.
func (t *Pairing) cancelWaiting(x *arrival, w fields) {
	c := t.call(x.part.Call)
	if c == nil || c.Status != CallInputRequired || c.open > 0 || c.holder != nil {
		return
	}
	c.cancelled(x, w)
	c.settle(x, CallCancelled)
}

// initialized assigns the second half of the handshake to the first.
func (t *Pairing) initialized(x *arrival) {
	if t.initialize == nil || x.f.Lane != tap.ToServer {
		t.give(x, nil, RoleUnsolicited)
	} else {
		handshake := t.initialize.tie()
		t.recall(x, &handshake, RoleNotification)
	}
	t.rootsDue = t.rootsDue || x.f.Lane == tap.ToServer
}

// subscribed assigns a notification of a subscription to it.
func (t *Pairing) subscribed(x *arrival, w fields) bool {
	key := word(wordSubscription, tap.ToServer, w["_meta/subscriptionId"])
	if key == "" || x.f.Lane != tap.ToClient {
		return false
	}
	if listening := t.words[key]; len(listening) > 0 {
		c := listening.newestCall()
		x.part.Guess, x.part.Late = len(listening) > 1, c.Status.Settled()
		if x.m.Method == "notifications/subscriptions/acknowledged" {
			c.advance(CallListening)
		}
		t.give(x, c, RoleNotification)
		return true
	}
	return t.aboutPast(x, key, RoleNotification)
}

// other handles all other notifications.
func (t *Pairing) other(x *arrival, w fields) {
	if x.m.Method == "notifications/roots/list_changed" && x.f.Lane == tap.ToServer {
		t.rootsDue = true
	}
	c := t.words[word(wordTask, opposite(x.f.Lane), w["_meta/related-task"])].newestCall()
	stream := t.onStream()
	switch {
	case t.subscribed(x, w):
	case w["_meta/subscriptionId"] != nil:
		t.give(x, nil, RoleUnmatched)
	case c != nil:
		t.give(x, c, RoleNotification)
	case x.f.Lane == tap.ToClient && len(stream) > 0:
		c, x.part.Guess = stream.newestCall(), len(stream) > 1
		if x.m.Method == "notifications/subscriptions/acknowledged" {
			c.advance(CallListening)
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

// elicitationsRequired remembers the elicitations of an error -32042, whose ends are
// notified later (2025-11-25 client/elicitation).
func (t *Pairing) elicitationsRequired(x *arrival, c *call) {
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
func (t *Pairing) elicited(x *arrival, c *call, id jsonrpc.Value) {
	if key := word(wordElicitation, x.f.Lane, id); key != "" {
		t.remember(key, c.tie())
	}
}

// logLevels is the number of levels of log messages, which are those of RFC
// 5424 (server/utilities/logging).
const logLevels = 8

// LogLevel returns the rank of a level, from debug, 0, to emergency; 8 for one that
// does not exist.
func LogLevel(name string) int {
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
func (t *Pairing) log(x *arrival, w fields) {
	c := t.words[word(wordTask, opposite(x.f.Lane), w["_meta/related-task"])].newestCall()
	if c == nil && x.f.Lane == tap.ToClient {
		if stream := t.onStream(); len(stream) > 0 {
			c, x.part.Guess = stream.newestCall(), len(stream) > 1
		} else if x.f.Exchange == 0 {
			c, x.part.Guess = t.logged(LogLevel(wordText(w["level"])))
		}
	}
	if c != nil {
		x.part.Late = c.Status.Settled()
	}
	t.give(x, c, RoleLog)
}

// logged returns the call of a log message with a level, and whether that is a guess. A
// server may log only for a request with a logLevel, from that level on (2026-07-28
// server/utilities/logging); if there is none, any request with a logLevel is likely.
func (t *Pairing) logged(level int) (*call, bool) {
	a, several := t.latest(func(a *request) bool { return a.level > 0 && a.level <= level+1 })
	if a == nil {
		a, several = t.latest(func(a *request) bool { return a.level > 0 })
	}
	if a == nil {
		return nil, false
	}
	return a.call, several
}
