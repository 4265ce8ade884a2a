package session

import (
	"slices"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A SessionTracker is a [Tracker] for each session of a recording, so that what
// one client numbers does not mix with what another does. It is used as a
// Tracker is. The zero value is ready.
//
// Its memory grows as that of [Sessions] and of the Trackers does, all of which
// together have about twice [MaxOpen] requests open at most. When a session
// is not kept any more, its open calls are handed over as they are.
type SessionTracker struct {
	Sessions Sessions
	// none is for what belongs to no session.
	none  Tracker
	in    *session
	used  *Tracker
	open  int // requests, of all sessions
	ended []*Call
	parts []Part
}

// Add takes the next frame and its message and returns what [Tracker.Add] of its
// session does. Session is the frame's, as [Sessions.Add] has it.
func (t *SessionTracker) Add(f *tap.Frame, m *jsonrpc.Message) (session int, parts []Part) {
	if f.Lane == tap.Lifecycle {
		e, err := tap.ParseEvent(f.Raw)
		if err != nil {
			e = tap.Event{}
		}
		return t.AddEvent(f, &e), nil
	}
	session = t.Sessions.Add(f, m)
	t.turn(session)
	if first := t.Sessions.Replays(); first > 0 {
		return session, t.replay(f, m, first)
	}
	parts = t.used.Add(f, m)
	t.ended = append(t.ended, t.used.Ended()...)
	return session, parts
}

// AddEvent is Add for a frame about the run whose event was read already; see
// [Tracker.AddEvent].
func (t *SessionTracker) AddEvent(f *tap.Frame, e *tap.Event) (session int) {
	session = t.Sessions.AddEvent(f, e)
	t.turn(session)
	t.used.AddEvent(f, e)
	t.ended = append(t.ended, t.used.Ended()...)
	return session
}

// turn chooses the Tracker of a session.
func (t *SessionTracker) turn(session int) {
	t.in, _ = t.Sessions.open.Get(session)
	t.used = &t.none
	t.none.open.all = &t.open
	clear(t.ended)
	t.ended = t.ended[:0]
	t.letGo()
	if t.in != nil {
		if t.in.tracker == nil {
			t.in.tracker = &Tracker{session: session, open: openRequests{all: &t.open}}
		}
		t.used = t.in.tracker
	}
}

// replay makes the parts of a frame that repeats another. The Tracker knows that
// one: a request that is answered already must not wait once more.
func (t *SessionTracker) replay(f *tap.Frame, m *jsonrpc.Message, first uint64) []Part {
	t.parts = t.parts[:0]
	if m == nil || m.Kind == jsonrpc.Other {
		return nil
	}
	list := m.Batch
	if m.Kind != jsonrpc.Batch || len(list) == 0 {
		list = []jsonrpc.Message{*m}
	}
	for i := range list {
		x := arrive(f, &list[i], i, 0)
		x.part.Role, x.part.First = RoleReplay, Ref{first, i}
		t.parts = append(t.parts, x.part)
	}
	return t.parts
}

// letGo hands over the open calls of sessions that are not kept any more.
func (t *SessionTracker) letGo() {
	for _, x := range t.Sessions.forgotten {
		if x.tracker == nil {
			continue
		}
		for _, c := range x.tracker.leave() {
			if !c.Status.Settled() {
				c.Notes |= NoteLetGo
			}
			t.ended = append(t.ended, c)
		}
		x.tracker = nil
	}
}

// Ended returns the calls that the last frame ended; see [Tracker.Ended].
func (t *SessionTracker) Ended() []*Call { return t.ended }

// Facts are those of the session of the last frame, zero if it has none.
func (t *SessionTracker) Facts() Facts {
	if t.in == nil {
		return Facts{}
	}
	return t.in.Facts
}

// Open returns the calls of all sessions that are not over, in the order of
// their first requests; see [Tracker.Open].
func (t *SessionTracker) Open() []*Call {
	open := t.none.Open()
	for _, x := range t.Sessions.open.All {
		if x.tracker != nil {
			open = append(open, x.tracker.Open()...)
		}
	}
	sortCalls(open)
	return open
}

// sortCalls orders calls by their first requests.
func sortCalls(calls []*Call) {
	slices.SortFunc(calls, func(a, b *Call) int {
		if a.Ref.before(b.Ref) {
			return -1
		}
		return 1
	})
}
