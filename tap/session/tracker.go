package session

import (
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// An Entry is a frame with its message or event, its session and its calls. It is valid
// until the next frame is added.
type Entry struct {
	Frame *tap.Frame
	// Message is what a frame of traffic carries, as [jsonrpc.PeekFrame] reads it;
	// zero for others.
	Message jsonrpc.Message
	// Event is the event of a lifecycle frame; its Name is "" if it cannot be read,
	// and for other frames.
	Event tap.Event
	// Session is the number of its session, 0 if it has none or that is not known
	// yet: see [Sessions] and [Survey]. Facts are what the session has reported about
	// itself so far, not to be changed; nil where [Sessions] does not know it.
	Session int
	Facts   *Facts
	// Exchange is its HTTP exchange before the frame.
	Exchange Exchange
	// Parts has the role and the call of each message: several for a batch,
	// none for a frame without a message.
	Parts []Part
	// Ended are the calls that are over with this frame, in the order in which they
	// ended, including those of sessions that are no longer kept. The calls themselves
	// no longer change, except as CutOff. Messages after the end of a call still name it as long as its
	// id or word is remembered (see [MaxPast]).
	Ended []*Call
	// CutOff are calls that ended before and now have [NoteCutOff].
	CutOff []*Call
	// Waiting are the calls that still wait for a response although their client has hung up, or
	// their exchange has ended, with this frame. Cancelled calls are in Ended instead.
	Waiting []*Call
	// Failed reports whether a lifecycle frame is a failure: see
	// [tap.Event.Failed], and [Call.Lost] of those that it ended.
	Failed bool
	// Refuses is the oldest request that the head of a response refuses, zero for none.
	Refuses Refusal
	// Resumes is, for the head of a request that resumes a stream, the first frame of the
	// exchange that began the stream; 0 for others, and if it is not known.
	Resumes uint64
	// Replays is, for an event that was repeated on a stream that was resumed, the frame
	// that it repeats; 0 for others.
	Replays uint64
}

// A Refusal names a request that was refused, and its call.
type Refusal struct {
	Ref, Call       Ref
	Method, Subject string
}

// Calls yields the calls that the frame is about: those of its messages, or those within which
// they were made (see [Part.Outer]), and that of the request that it refuses.
func (e *Entry) Calls(yield func(Ref) bool) {
	for i := range e.Parts {
		if call := e.Parts[i].Outer(); call != (Ref{}) && !yield(call) {
			return
		}
	}
	if e.Refuses.Call != (Ref{}) {
		yield(e.Refuses.Call)
	}
}

// Loses reports whether calls will get no response because of the frame; see [Call.Lost].
func (e *Entry) Loses() bool { return slices.ContainsFunc(e.Ended, (*Call).Lost) }

// closes reports whether the client closed an exchange, as clients do with GET streams at the end
// and with cancelled requests. It is false if a response was due.
func (e *Entry) closes(due bool) bool {
	x := &e.Event
	return x.Name == tap.EventEnd && x.By == "client" && !due && len(e.Ended) == 0 &&
		(strings.HasSuffix(x.Error, "within the response") || strings.HasSuffix(x.Error, "before the response began"))
}

// Declines reports whether the frame is in a response by which the server declines what it need
// not offer, such as 405 to a GET: see [tap.Event.IsError].
func (e *Entry) Declines() bool {
	head := tap.Event{Name: tap.EventResponse, Status: e.Exchange.Status}
	return e.Frame.Lane == tap.ToClient && head.Status >= 400 && !head.IsError(e.Exchange.Method)
}

// Of returns the message of a part, by its index in Parts.
func (e *Entry) Of(i int) *jsonrpc.Message {
	if e.Message.Kind == jsonrpc.Batch && i < len(e.Message.Batch) {
		return &e.Message.Batch[i]
	}
	return &e.Message
}

// Errors returns the number of errors in the frame, as a [Tally] counts them: at most one,
// except for a batch.
func (e *Entry) Errors() uint64 {
	errors, _ := e.failures()
	return errors
}

// failures returns the number of errors in the frame, and how many of these are not messages.
func (e *Entry) failures() (errors, invalid uint64) {
	switch {
	case e.Frame.Lane == tap.Lifecycle && e.Event.IsError(e.Exchange.Method):
		return 1, 0
	case e.traffic() == nil || e.Replays > 0 || e.Declines():
		return 0, 0
	case e.NoMessage():
		return 1, 1
	}
	return e.Message.Failures()
}

// NoMessage reports whether the frame is the body of a response with status 200 that carries
// no message, although a message is due.
func (e *Entry) NoMessage() bool {
	return e.Frame.Lane == tap.ToClient && e.Frame.Form == tap.FormBody && e.Message.Kind == jsonrpc.Other &&
		e.Exchange.awaitsBody() && !e.Exchange.coded
}

// Revision returns the revision that the session has agreed on so far, or else the last
// that was requested; [jsonrpc.Dialect] in a session of the 002 dialect.
func (e *Entry) Revision() jsonrpc.Revision {
	switch f := e.Facts; {
	case f == nil:
		return ""
	case f.Dialect != "":
		return jsonrpc.Dialect
	case f.Revision != "":
		return f.Revision
	default:
		return f.Requested
	}
}

// Status returns the HTTP status of the frame's exchange, 0 as long as there is none.
func (e *Entry) Status() int {
	switch e.Event.Name {
	case tap.EventRequest:
		return 0 // the number is reused
	case tap.EventResponse:
		return e.Event.Status
	}
	return e.Exchange.Status
}

// traffic returns the message, nil for a frame that carries none.
func (e *Entry) traffic() *jsonrpc.Message {
	if carriesTraffic(e.Frame) {
		return &e.Message
	}
	return nil
}

func carriesTraffic(f *tap.Frame) bool { return f.Lane == tap.ToServer || f.Lane == tap.ToClient }

// read reads the next frame into an empty entry, and assigns it to its session. m is
// the message if it was read already, else nil.
func (s *Sessions) read(e *Entry, f *tap.Frame, m *jsonrpc.Message) {
	e.Frame, e.Exchange = f, s.Exchange(f.Exchange)
	switch {
	case f.Lane == tap.Lifecycle:
		if event, err := tap.ParseEvent(f.Raw); err == nil {
			e.Event = event
		}
		e.Session = s.Add(f, &e.Event, nil)
	case carriesTraffic(f) && m == nil:
		e.Message = jsonrpc.PeekFrame(f)
		e.Session = s.Add(f, nil, &e.Message)
	case carriesTraffic(f):
		e.Message = *m
		e.Session = s.Add(f, nil, &e.Message)
	default:
		e.Session = s.Add(f, nil, nil)
	}
	e.Resumes, e.Replays = s.resumes, s.replays
}

// A Tracker reads the frames of a recording and makes an [Entry] of each. It has a [Pairing]
// for each session, since ids are unique only within one. The zero value is ready. Frames
// must be added in the order of their numbers. A Tracker is not safe for concurrent use.
//
// Its memory is bounded like that of [Sessions] and of the Pairings, which together have
// at most about twice [MaxOpen] requests open. When a session is no longer kept, its open
// calls are handed over as they are.
type Tracker struct {
	// Survey is the result of a first pass, nil if there was none.
	Survey   *Survey
	Sessions Sessions

	// none is for messages outside sessions.
	none  Pairing
	open  int // requests, of all sessions
	entry Entry
	// gone are unanswered calls that are over, beyond is how many more there are.
	gone   []Request
	beyond uint64
}

// MaxGone is how many unanswered calls are remembered after they are over: the first
// ones that were lost, or let go (see [MaxOpen]).
const MaxGone = 16 << 10

// A Request is the first request of an unanswered call.
type Request struct {
	Ref     Ref
	Session int
	Lane    tap.Lane
	At      time.Duration
	// ID is the id on the wire, at most [jsonrpc.MaxWord] bytes of it.
	ID []byte
	// Method is its method, Subject its subject; see [jsonrpc.Subject].
	Method, Subject string
	// Status is the state of the call. Lost reports that the stream on which it was to be
	// answered is over, as StreamEnd describes; see [NoteStreamEnded].
	Status    CallStatus
	Lost      bool
	StreamEnd StreamEnd
	// ErrorText is why it has no response, as far as HTTP shows it; see [Call.ErrorText].
	ErrorText string
	// Waits is the last request of the call, and Since the time of that; Waits is zero if
	// it has a response. See [Call.Waits].
	Waits Ref
	Since time.Duration
}

// Add adds the next frame.
func (t *Tracker) Add(f *tap.Frame) *Entry { return t.AddRead(f, nil) }

// AddRead is Add for a frame whose message was read already, by [jsonrpc.PeekFrame]; m
// is nil if it was not.
func (t *Tracker) AddRead(f *tap.Frame, m *jsonrpc.Message) *Entry {
	e := &t.entry
	clear(e.Ended)
	clear(e.Waiting)
	*e = Entry{Parts: e.Parts[:0], Ended: e.Ended[:0], Waiting: e.Waiting[:0]}
	t.Sessions.read(e, f, m)
	pairing := t.turn()
	switch {
	case f.Lane == tap.Lifecycle:
		pairing.addEvent(f, &e.Event, e.Exchange)
		e.Refuses = pairing.refuses
		e.cutOff(pairing)
		e.Ended = append(e.Ended, pairing.Ended()...)
		e.Waiting = append(e.Waiting, pairing.waiting...)
		e.Failed = e.Event.Failed(e.Exchange.Method) && !e.closes(pairing.due) || e.Loses() ||
			e.Exchange.Body == "" && slices.ContainsFunc(e.Ended, func(c *Call) bool { return c.Notes&NoteNoMessage != 0 })
	case e.Replays > 0:
		e.replay()
	default:
		e.Parts = append(e.Parts, pairing.addOn(t.Sessions.stream(f.Exchange), f, e.traffic())...)
		t.answered(e, pairing)
		if refusal := t.Sessions.refusal(f); refusal != nil {
			pairing.refusedEarly(f.Exchange, refusal)
		}
		e.Ended = append(e.Ended, pairing.Ended()...)
	}
	e.Session = t.Survey.session(f, e.Session)
	t.Survey.setOutcomes(e.Parts)
	for _, c := range e.Ended {
		switch {
		case !c.Status.Unanswered():
		case len(t.gone) < MaxGone:
			t.gone = append(t.gone, c.request(c.Lost()))
		default:
			t.beyond++
		}
	}
	return e
}

func (c *Call) request(lost bool) Request {
	r := Request{
		Ref: c.Ref, Session: c.Session, Lane: c.Lane, At: c.At, ID: c.ID, Method: c.Method, Subject: c.Subject, Status: c.Status, Lost: lost, StreamEnd: c.StreamEnd,
		ErrorText: c.ErrorText,
	}
	if last, ok := c.Waits(); ok {
		r.Waits, r.Since = last.Message, last.At
	}
	return r
}

// Unanswered returns the unanswered calls, in the order in which they began: those
// that are open, and the first [MaxGone] of those that are over. more is the number of
// calls left out.
func (t *Tracker) Unanswered() (all []Request, more uint64) {
	all = slices.Clone(t.gone)
	for _, c := range t.Open() {
		if c.Status.Unanswered() {
			all = append(all, c.request(c.Notes&NoteStreamEnded != 0))
		}
	}
	slices.SortFunc(all, func(a, b Request) int { return a.Ref.Compare(b.Ref) })
	return all, t.beyond
}

// turn returns the Pairing of the entry's session.
func (t *Tracker) turn() *Pairing {
	t.letGo()
	in, ok := t.Sessions.open.Get(t.entry.Session)
	if !ok {
		t.none.total = &t.open
		return &t.none
	}
	if in.pairing == nil {
		in.pairing = &Pairing{session: in.Number, total: &t.open}
	}
	t.entry.Facts = &in.Facts
	return in.pairing
}

// replay makes the parts of a frame that repeats another. They are not added to the Pairing,
// in which a repeated request would wait for an answer.
func (e *Entry) replay() {
	m := e.traffic()
	if m == nil || m.Kind == jsonrpc.Other {
		return
	}
	for m := range m.All {
		i := len(e.Parts)
		x := arrive(e.Frame, m, i, 0)
		x.part.Role, x.part.First = RoleReplay, Ref{e.Replays, i}
		e.Parts = append(e.Parts, x.part)
	}
}

// letGo hands over the open calls of sessions that are no longer kept.
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
	slices.SortFunc(calls, func(a, b *Call) int { return a.Ref.Compare(b.Ref) })
}
