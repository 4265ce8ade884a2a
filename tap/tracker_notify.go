package tap

// notification takes a notification.
func (t *Tracker) notification(x *arrival) {
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
			t.give(x, nil, RoleStray)
		}
	case "notifications/elicitation/complete":
		key := t.word(keyElicitation, x.f.Lane, w.elicitation)
		past := t.past[pastElicitations].get(key)
		if past == nil {
			t.give(x, nil, RoleStray)
			return
		}
		t.recall(x, *past, RoleNotification)
	case "notifications/initialized", "initialized":
		t.initialized(x)
	default:
		t.other(x, &w)
	}
}

// progress finds the call of a progress notification, from the side that was
// asked.
func (t *Tracker) progress(x *arrival, w *callWords) {
	lane := opposite(x.f.Lane)
	if w.progressToken == nil { // the 002 dialect
		t.about(x, lane, w.id, RoleProgress)
		return
	}
	key := t.word(keyToken, lane, w.progressToken)
	if l := t.words[string(key)]; l.n > 0 {
		x.part.Guess = l.n > 1 || l.newest.owner.guess
		c := l.newest.owner.call
		x.part.Late = c.Status.Settled()
		t.give(x, c, RoleProgress)
		return
	}
	past := t.past[pastTokens].get(key)
	if past == nil {
		t.give(x, nil, RoleStray)
		return
	}
	x.part.Late = true
	t.recall(x, *past, RoleProgress)
}

// about ties a notification to the request of a lane that has an id, and
// returns it if it is open.
func (t *Tracker) about(x *arrival, lane Lane, id written, role Role) *asked {
	side := &t.pairer.sides[lane]
	if id != nil && len(id) <= MaxWord { // of longer ones too little is compared
		t.pairer.key = appendIDKey(t.pairer.key[:0], id)
		q := side.open[string(t.pairer.key)]
		if a := q.oldest; a != nil && a.asked != nil {
			x.part.Guess = q.newest != q.oldest || a.asked.guess
			x.part.Late = role == RoleProgress && a.asked.call.Status.Settled()
			t.give(x, a.asked.call, role)
			return a.asked
		}
		if past := side.answered.get(t.pairer.key); past != nil {
			x.part.Late = true
			t.recall(x, past.tie, role)
			return nil
		}
	}
	t.give(x, nil, RoleStray)
	return nil
}

// cancel takes a cancellation of a request by its id.
func (t *Tracker) cancel(x *arrival, w *callWords) {
	id := w.requestID
	if id == nil {
		id = w.id
	}
	lane := x.f.Lane
	if lane == ToClient && !t.knows(lane, id) {
		// A server of 2026-07-28 asks nothing itself: it ends a subscription
		// (basic/patterns/cancellation).
		if l := t.named(keySubscription, ToServer, id); l.n > 0 {
			lane = ToServer
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
		t.pools[poolCausing].remove(&a.causing)
		t.rest(c)
	}
}

// knows reports whether a request of a lane with an id is open.
func (t *Tracker) knows(lane Lane, id written) bool {
	t.pairer.key = appendIDKey(t.pairer.key[:0], id)
	_, ok := t.pairer.sides[lane].open[string(t.pairer.key)]
	return ok
}

// cancelWaiting takes the cancellation of a request that was answered, which
// means something where the call waits for input.
func (t *Tracker) cancelWaiting(x *arrival, w *callWords) {
	c := t.long[x.part.Call]
	if c == nil || c.Status != CallInputRequired || c.asks.n > 0 || c.more.holder != nil {
		return
	}
	c.cancelled(x, w)
	c.settle(x, CallCancelled)
}

// cancelled notes who asked for the end of a call.
func (c *callState) cancelled(x *arrival, w *callWords) {
	if c.Cancel == (Ref{}) {
		c.Cancel, c.CancelledBy, c.CancelReason = x.part.Message, x.f.Lane, wordText(w.reason)
	}
}

// initialized ties the second half of the handshake to the first.
func (t *Tracker) initialized(x *arrival) {
	c := t.hello
	switch {
	case c == nil || x.f.Lane != ToServer:
		t.give(x, nil, RoleUnsolicited)
	case c.over:
		t.recall(x, c.tie(), RoleNotification)
	default:
		t.give(x, c, RoleNotification)
	}
	t.rootsDue = t.rootsDue || x.f.Lane == ToServer
}

// subscribed ties what comes on a subscription to it.
func (t *Tracker) subscribed(x *arrival, w *callWords) bool {
	key := t.word(keySubscription, ToServer, w.meta.subscription)
	if key == nil || x.f.Lane != ToClient {
		return false
	}
	if l := t.words[string(key)]; l.n > 0 {
		c := l.newest.owner.call
		x.part.Guess, x.part.Late = l.n > 1, c.Status.Settled()
		if x.m.Method == "notifications/subscriptions/acknowledged" {
			c.goesOn(CallListening)
		}
		t.give(x, c, RoleNotification)
		return true
	}
	past := t.past[pastSubscriptions].get(key)
	if past != nil {
		x.part.Late = true
		t.recall(x, *past, RoleNotification)
	}
	return past != nil
}

// other takes the notifications that are about nothing in particular.
func (t *Tracker) other(x *arrival, w *callWords) {
	if x.m.Method == "notifications/roots/list_changed" && x.f.Lane == ToServer {
		t.rootsDue = true
	}
	c := t.task(opposite(x.f.Lane), w.meta.relatedTask)
	stream := t.streams[x.f.Exchange]
	switch {
	case t.subscribed(x, w):
	case w.meta.subscription != nil:
		t.give(x, nil, RoleStray)
	case c != nil:
		t.give(x, c, RoleNotification)
	case x.f.Lane == ToClient && stream.n > 0:
		c, x.part.Guess = stream.newest.owner.call, stream.n > 1
		if x.m.Method == "notifications/subscriptions/acknowledged" {
			c.goesOn(CallListening)
		}
		t.give(x, c, RoleNotification)
	case x.m.Method == "notifications/subscriptions/acknowledged":
		t.give(x, nil, RoleStray)
	default:
		t.give(x, nil, RoleUnsolicited)
	}
}

// maxElicitations is how many elicitations of one error are remembered.
const maxElicitations = 16

// elicitationsRequired remembers the elicitations of an error -32042, whose
// ends are told later (2025-11-25 client/elicitation).
func (t *Tracker) elicitationsRequired(x *arrival, c *callState) {
	if x.m.ErrorCode != "-32042" {
		return
	}
	left := maxElicitations
	written(x.m.Error).get("data", "elicitations").each(func(_ []byte, v written) bool {
		t.elicited(x, c, v.get("elicitationId"))
		left--
		return left > 0
	})
}

// elicited remembers the id of an elicitation, whose end is told by the side
// that asked for it.
func (t *Tracker) elicited(x *arrival, c *callState, id written) {
	if key := t.word(keyElicitation, x.f.Lane, id); key != nil {
		t.past[pastElicitations].put(string(key), c.tie())
	}
}
