package session

import (
	"slices"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// An Entry is a frame with what is known of it: it was read, assigned to its session
// and tied to its calls once, for everybody. It and all that it holds are valid until
// the next frame is added.
type Entry struct {
	Frame *tap.Frame
	// Message is what a frame of traffic carries, as [jsonrpc.PeekFrame] reads it;
	// zero for others.
	Message jsonrpc.Message
	// Event is what a frame about the run says; its Name is "" if that cannot be
	// read, and for other frames.
	Event tap.Event
	// Session is the number of its session, 0 if it has none or that is not known
	// yet: see [Sessions] and [Survey]. Facts are what the session has said about
	// itself so far, not to be changed; nil where [Sessions] does not know it.
	Session int
	Facts   *Facts
	// Exchange is what was known of its HTTP exchange before the frame.
	Exchange Exchange
	// Parts says for each message what it is to which call: several for a batch,
	// none for a frame without a message.
	Parts []Part
	// Ended are the calls that are over with this frame, in the order in which they
	// ended, those of sessions that are not kept any more among them. The calls
	// themselves do not change any more. What comes after the end of a call still
	// names it, for as long as its id or word is remembered (see [MaxPast]).
	Ended []*Call
	// Failed reports whether a frame about the run is a failure: see
	// [tap.Event.Failed], and [Call.Lost] of those that it ended.
	Failed bool
	// Resumes is, of the head of a request that asks to go on with a stream, the
	// first frame of the exchange that began that stream; 0 for others, and where
	// it is not known.
	Resumes uint64
	// Replays is, of an event that came before and was sent once more on a stream
	// that was resumed, the frame in which it came first; 0 for others.
	Replays uint64
}

// Of returns the message of a part, by its place in Parts.
func (e *Entry) Of(i int) *jsonrpc.Message {
	if e.Message.Kind == jsonrpc.Batch && i < len(e.Message.Batch) {
		return &e.Message.Batch[i]
	}
	return &e.Message
}

// traffic is the message, nil for a frame that carries none.
func (e *Entry) traffic() *jsonrpc.Message {
	if e.Frame.Lane == tap.ToServer || e.Frame.Lane == tap.ToClient {
		return &e.Message
	}
	return nil
}

// A Tracker reads the frames of a recording: it makes an [Entry] of each, with a
// [Pairing] for each session, so that what one client numbers does not mix with
// what another does. The zero value is ready. Frames must come in the order of
// their numbers. It must not be used by several goroutines at once.
//
// Its memory grows as that of [Sessions] and of the Pairings does, all of which
// together have about twice [MaxOpen] requests open at most. When a session
// is not kept any more, its open calls are handed over as they are.
type Tracker struct {
	// Survey is what a first pass has found out, nil if there was none.
	Survey   *Survey
	Sessions Sessions

	// none is for what belongs to no session.
	none  Pairing
	used  *Pairing
	open  int // requests, of all sessions
	entry Entry
}

// Add takes the next frame.
func (t *Tracker) Add(f *tap.Frame) *Entry {
	e := &t.entry
	clear(e.Ended)
	*e = Entry{Frame: f, Exchange: t.Sessions.Exchange(f.Exchange), Parts: e.Parts[:0], Ended: e.Ended[:0]}
	switch {
	case f.Lane == tap.Lifecycle:
		if event, err := tap.ParseEvent(f.Raw); err == nil {
			e.Event = event
		}
		t.turn(t.Sessions.AddEvent(f, &e.Event))
		t.used.AddEvent(f, &e.Event)
		e.Ended = append(e.Ended, t.used.Ended()...)
		e.Failed = e.Event.Failed(e.Exchange.Method) || slices.ContainsFunc(e.Ended, (*Call).Lost)
		e.Resumes = t.Sessions.Resumes()
	default:
		if e.traffic() != nil {
			e.Message = jsonrpc.PeekFrame(f)
		}
		t.turn(t.Sessions.Add(f, e.traffic()))
		if e.Replays = t.Sessions.Replays(); e.Replays > 0 {
			e.replay()
			break
		}
		e.Parts = append(e.Parts, t.used.Add(f, e.traffic())...)
		e.Ended = append(e.Ended, t.used.Ended()...)
	}
	e.Session = t.Survey.session(f, e.Session)
	return e
}

// turn chooses the Pairing of a session.
func (t *Tracker) turn(number int) {
	t.entry.Session = number
	t.used = &t.none
	t.none.open.all = &t.open
	t.letGo()
	if in, ok := t.Sessions.open.Get(number); ok {
		if in.pairing == nil {
			in.pairing = &Pairing{session: number, open: openRequests{all: &t.open}}
		}
		t.used, t.entry.Facts = in.pairing, &in.Facts
	}
}

// replay makes the parts of a frame that repeats another. The Pairing knows that
// one: a request that is answered already must not wait once more.
func (e *Entry) replay() {
	m := e.traffic()
	if m == nil || m.Kind == jsonrpc.Other {
		return
	}
	list := m.Batch
	if m.Kind != jsonrpc.Batch || len(list) == 0 {
		list = []jsonrpc.Message{*m}
	}
	for i := range list {
		x := arrive(e.Frame, &list[i], i, 0)
		x.part.Role, x.part.First = RoleReplay, Ref{e.Replays, i}
		e.Parts = append(e.Parts, x.part)
	}
}

// letGo hands over the open calls of sessions that are not kept any more.
func (t *Tracker) letGo() {
	for _, x := range t.Sessions.forgotten {
		if x.pairing == nil {
			continue
		}
		for _, c := range x.pairing.leave() {
			if !c.Status.Settled() {
				c.Notes |= NoteLetGo
			}
			t.entry.Ended = append(t.entry.Ended, c)
		}
		x.pairing = nil
	}
}

// Open returns the calls of all sessions that are not over, in the order of
// their first requests; see [Pairing.Open].
func (t *Tracker) Open() []*Call {
	open := t.none.Open()
	for _, x := range t.Sessions.open.All {
		if x.pairing != nil {
			open = append(open, x.pairing.Open()...)
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
