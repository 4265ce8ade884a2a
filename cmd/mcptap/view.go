package main

import (
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A viewer turns frames, in order, into rows. It holds what is open and nothing
// else, so a recording may be of any length.
type viewer struct {
	feed *view.Feed
	// only is the session that counts, 0 for all.
	only   int
	counts rowCounts
}

// rowCounts is what a listing sums up at its end.
type rowCounts struct {
	frames uint64
	errors uint64 // as session.Tally counts them
	bytes  int64
}

func newViewer() *viewer {
	return &viewer{feed: view.NewFeed()}
}

// A row is what one line of a listing says about a frame, or about one message
// of a batch. Its texts come from the wire as they are.
type row struct {
	frame  *tap.Frame
	kind   string // request, response, error, notification, batch, invalid, other, stderr, or an event's name
	sort   string // of what carries no message; see view.Line
	id     []byte // as it stands; nil when there is none
	method string // of a response: that of its request
	about  string
	// failed says that it tells of a failure; fault is that failure in words.
	failed bool
	fault  string
	// parts are its messages and the calls that they belong to.
	parts []session.Part
	msg   jsonrpc.Message
	// session is the number of its session in a recording of HTTP traffic, 0 for
	// none, and resumes is as view.Row has it.
	session int
	resumes uint64
	// ended are the calls that the end of an exchange ended.
	ended []view.Ended
	// deltas are how its answers differ from those before, if that was asked.
	deltas []*view.Delta
}

// row reads the next frame.
func (v *viewer) row(f *tap.Frame) row {
	return newRow(v.next(f))
}

// next reads the next frame, for whoever wants more of it than a row.
func (v *viewer) next(f *tap.Frame) *view.Row {
	r := v.feed.Add(f)
	if v.only != 0 && r.Session != v.only {
		return r
	}
	v.counts.frames++
	v.counts.bytes += f.Size
	v.counts.errors += r.Errors()
	return r
}

func newRow(r *view.Row) row {
	line := r.Line()
	out := lineRow(&line)
	out.frame, out.msg, out.parts = r.Frame, r.Message, r.Parts
	if r.Frame.Exchange > 0 {
		out.session = r.Session
	}
	return out
}

// lineRow makes a row of a line that may stand alone.
func lineRow(l *view.Line) row {
	p := &l.Part
	r := row{
		frame: &tap.Frame{
			Seq: p.Message.Seq, At: p.At, Took: l.Took, Lane: p.Lane, Exchange: p.Exchange, Truncated: l.Torn, Size: l.Size,
		},
		kind: l.Kind, sort: l.Sort, id: l.ID, method: l.Method, about: l.About, failed: l.Failed, fault: l.Fault,
		resumes: l.Resumes, ended: l.Ended,
	}
	if p.Role != session.RoleInvalid {
		r.parts = []session.Part{*p}
	}
	return r
}

// answers returns the response among the messages that answers a request, the first
// of a batch.
func (r *row) answers() (session.Part, bool) {
	for _, p := range r.parts {
		if p.Request != (session.Ref{}) && p.Role != session.RoleReplay {
			return p, true
		}
	}
	return session.Part{}, false
}
