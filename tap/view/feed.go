package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// MaxGone is how many unanswered calls are remembered that are over: the first ones
// that were lost, or let go (see [session.MaxOpen]).
const MaxGone = 16 << 10

// A Feed turns the frames of one recording, in order, into rows. It is not for
// use by several goroutines at once.
type Feed struct {
	// Index is what a first pass found out about sessions. It may be nil.
	Index *session.SessionIndex

	tracker session.SessionTracker
	calls   map[session.Ref]*call
	gone    int    // how many of the calls are over
	beyond  uint64 // unanswered calls that are forgotten
	row     Row
	session int // of the row
}

// A call is what is remembered of an open call for the sake of its answers, and
// of one that is over and unanswered.
type call struct {
	first Question
	more  map[session.Ref]Question // its further requests that are open
	over  bool
}

// A Question is a request that is remembered until its answer comes, or an unanswered
// call by its first request.
type Question struct {
	Ref     session.Ref
	Session int
	Lane    tap.Lane
	At      time.Duration
	// ID is the id as it stands on the wire, at most [jsonrpc.MaxWord] bytes of it.
	ID []byte
	// Method and Subject are what it asks; see [jsonrpc.Subject].
	Method, Subject string
	// Status is how the call stands, Lost that the stream on which it was to be
	// answered is over; see [session.NoteStreamEnded].
	Status session.CallStatus
	Lost   bool
	target target
}

// NewFeed returns a Feed that has read no frames.
func NewFeed() *Feed { return &Feed{calls: map[session.Ref]*call{}} }

// A Row is a frame with what is known of it. It and all that it holds are valid
// until the next frame is added.
type Row struct {
	Frame *tap.Frame
	// Message is the peek of a frame that carries traffic, zero for others.
	Message jsonrpc.Message
	// Event is what a frame about the run says; its Name is "" if that cannot
	// be read.
	Event tap.Event
	// Parts says for each message what it is to which call; see [session.Tracker].
	Parts []session.Part
	// Ended are the calls that are over with this frame.
	Ended []*session.Call
	// Session is the number of its session, 0 if it has none or that is not
	// known yet; see [session.Sessions].
	Session int
	// Revision is the one that the session has agreed on so far, or else the
	// last that was asked for; [jsonrpc.Dialect] in a session of the 002 dialect.
	Revision jsonrpc.Revision
	// Status is the HTTP status of the frame's exchange, 0 as long as there is
	// none.
	Status int
	// Failed reports whether a frame about the run is a failure: see
	// [tap.Event.Failed], and of a call that stays without an answer.
	Failed bool
	// method is that of the request that the frame is about, if it is about one.
	method string

	// Resumes is, of the head of a request that asks to go on with a stream, the
	// first frame of the exchange that began that stream; 0 for others, and where
	// it is not known.
	Resumes uint64

	// to are the requests that the messages answer, by their places.
	to []Question
	// asks says that the exchange whose response begins has brought a request.
	asks bool
}

// Add reads the next frame. The row is valid until the next call.
func (x *Feed) Add(f *tap.Frame) *Row {
	r := &x.row
	before := x.tracker.Sessions.Exchange(f.Exchange)
	*r = Row{Frame: f, to: r.to[:0], method: before.Method, Status: before.Status}
	switch f.Lane {
	case tap.Lifecycle:
		x.life(r)
		r.asks = r.Event.Name == tap.EventResponse && before.Asks
		r.Session = x.tracker.AddEvent(f, &r.Event)
		r.Resumes = x.tracker.Sessions.Resumes()
		r.Ended = x.tracker.Ended()
		for _, c := range r.Ended {
			r.Failed = r.Failed || lost(c)
		}
	case tap.ToServer, tap.ToClient:
		r.Message = jsonrpc.PeekFrame(f)
		r.Session, r.Parts = x.tracker.Add(f, &r.Message)
		r.Ended = x.tracker.Ended()
	default:
		r.Session, _ = x.tracker.Add(f, nil)
		r.Ended = x.tracker.Ended()
	}
	r.Session = x.Index.Of(f, r.Session)
	x.session = r.Session
	x.tie(r)
	r.Revision = x.revision()
	return r
}

// life reads an event.
func (x *Feed) life(r *Row) {
	if e, err := tap.ParseEvent(r.Frame.Raw); err == nil {
		r.Event = e
	}
	r.Failed = r.Event.Failed(r.method)
	switch r.Event.Name {
	case tap.EventRequest:
		r.Status = 0 // the number is used again
	case tap.EventResponse:
		r.Status = r.Event.Status
	}
}

func (x *Feed) revision() jsonrpc.Revision {
	facts := x.tracker.Facts()
	switch {
	case facts.Dialect != "":
		return jsonrpc.Dialect
	case facts.Revision != "":
		return facts.Revision
	}
	return facts.Requested
}

// tie remembers requests until their answers come.
func (x *Feed) tie(r *Row) {
	for i := range r.Parts {
		p := &r.Parts[i]
		var to Question
		switch p.Kind {
		case jsonrpc.Request:
			x.asked(p, r.message(i))
		case jsonrpc.Response, jsonrpc.ErrorResponse:
			to = x.answered(p)
		}
		r.to = append(r.to, to)
	}
	for _, c := range r.Ended {
		x.over(c)
	}
}

// over forgets a call, unless it is unanswered: then there may still be an answer.
func (x *Feed) over(c *session.Call) {
	held := x.calls[c.Ref]
	if held == nil {
		return
	}
	if c.Status.Unanswered() {
		if x.gone < MaxGone {
			x.gone++
			held.over, held.first.Status, held.first.Lost = true, c.Status, lost(c)
			return
		}
		x.beyond++
	}
	delete(x.calls, c.Ref)
}

// lost reports whether a call that is over has no answer, as its stream ended.
func lost(c *session.Call) bool {
	return !c.Status.Settled() && c.Notes&session.NoteStreamEnded != 0 && c.End != 0
}

// message returns the message of a part.
func (r *Row) message(i int) *jsonrpc.Message {
	if r.Message.Kind == jsonrpc.Batch && i < len(r.Message.Batch) {
		return &r.Message.Batch[i]
	}
	return &r.Message
}

// asked notes a request. Its texts are cloned, as a small frame keeps alive
// what was stored with it.
func (x *Feed) asked(p *session.Part, m *jsonrpc.Message) {
	q := Question{
		Ref: p.Message, Session: x.session, Lane: p.Lane, At: p.At, ID: slices.Clone(m.ID[:min(len(m.ID), jsonrpc.MaxWord)]),
		Method: strings.Clone(p.Method), Subject: strings.Clone(jsonrpc.Subject(*m)), target: targetOf(m.Method),
	}
	if p.Call == p.Message {
		x.calls[p.Call] = &call{first: q}
		return
	}
	if c := x.calls[p.Call]; c != nil {
		if c.more == nil {
			c.more = map[session.Ref]Question{}
		}
		c.more[p.Message] = q
	}
}

// answered returns the request that a message answers, zero if that is not
// known any more.
func (x *Feed) answered(p *session.Part) Question {
	c := x.calls[p.Call]
	switch {
	case c == nil || p.Request == session.Ref{}:
		return Question{}
	case p.Request == p.Call:
		return c.first
	}
	q := c.more[p.Request]
	delete(c.more, p.Request)
	return q
}

// Beyond is how many unanswered calls there are beside those that [Feed.Unanswered]
// returns.
func (x *Feed) Beyond() uint64 { return x.beyond }

// Unanswered returns the unanswered calls, in the order in which they began: those
// that are open, and of the others the first [MaxGone].
func (x *Feed) Unanswered() []Question {
	var all []Question
	for _, c := range x.calls {
		if c.over {
			all = append(all, c.first)
		}
	}
	for _, c := range x.tracker.Open() {
		if held := x.calls[c.Ref]; held != nil && c.Status.Unanswered() {
			q := held.first
			q.Status, q.Lost = c.Status, c.Notes&session.NoteStreamEnded != 0
			all = append(all, q)
		}
	}
	slices.SortFunc(all, func(a, b Question) int { return compare(a.Ref, b.Ref) })
	return all
}

// Sessions returns what is known of the sessions of the recording. It changes
// with each frame and is not to be changed.
func (x *Feed) Sessions() *session.Sessions { return &x.tracker.Sessions }

// Open returns the calls that are not over; see [session.Tracker.Open].
func (x *Feed) Open() []*session.Call { return x.tracker.Open() }

// compare orders messages as they crossed.
func compare(a, b session.Ref) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Index, b.Index))
}
