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
	tracker session.Tracker
	calls   map[session.Ref]*call
	gone    int    // how many of the calls are over
	beyond  uint64 // unanswered calls that are forgotten
	row     Row
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

// Use has the Feed know what a first pass has found out. It is called before the
// first frame is added.
func (x *Feed) Use(s *session.Survey) { x.tracker.Survey = s }

// A Row is a frame with what is known of it. It and all that it holds are valid
// until the next frame is added.
type Row struct {
	*session.Entry
	// Revision is the one that the session has agreed on so far, or else the
	// last that was asked for; [jsonrpc.Dialect] in a session of the 002 dialect.
	Revision jsonrpc.Revision
	// Status is the HTTP status of the frame's exchange, 0 as long as there is
	// none.
	Status int

	// to are the requests that the messages answer, by their places.
	to []Question
}

// Add reads the next frame. The row is valid until the next call.
func (x *Feed) Add(f *tap.Frame) *Row {
	e := x.tracker.Add(f)
	x.row = Row{Entry: e, to: x.row.to[:0], Status: e.Exchange.Status, Revision: revision(e.Facts)}
	switch e.Event.Name {
	case tap.EventRequest:
		x.row.Status = 0 // the number is used again
	case tap.EventResponse:
		x.row.Status = e.Event.Status
	}
	x.tie(&x.row)
	return &x.row
}

func revision(facts *session.Facts) jsonrpc.Revision {
	switch {
	case facts == nil:
		return ""
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
			x.asked(p, r.Of(i), r.Session)
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
			held.over, held.first.Status, held.first.Lost = true, c.Status, c.Lost()
			return
		}
		x.beyond++
	}
	delete(x.calls, c.Ref)
}

// asked notes a request. Its texts are cloned, as a small frame keeps alive
// what was stored with it.
func (x *Feed) asked(p *session.Part, m *jsonrpc.Message, in int) {
	q := Question{
		Ref: p.Message, Session: in, Lane: p.Lane, At: p.At, ID: slices.Clone(m.ID[:min(len(m.ID), jsonrpc.MaxWord)]),
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

// Open returns the calls that are not over; see [session.Pairing.Open].
func (x *Feed) Open() []*session.Call { return x.tracker.Open() }

// compare orders messages as they crossed.
func compare(a, b session.Ref) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Index, b.Index))
}
