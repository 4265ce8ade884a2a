package web

import (
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A rowID names a row on the wire and in the page: the frame's number, and
// behind it the place in a batch. It stays exact as a JavaScript number up to
// frame 2^39.
type rowID uint64

const (
	indexBits = 14
	// batchIndex is the place of the row that stands for a batch as a whole. Its
	// messages have their own, which are below [jsonrpc.MaxBatch].
	batchIndex = 1<<indexBits - 1
)

// idOf names the row of a message; 0 for no message.
func idOf(r session.Ref) rowID { return rowID(r.Seq)<<indexBits | rowID(r.Index) }

func batchID(seq uint64) rowID { return rowID(seq)<<indexBits | batchIndex }

// A row is a line of the list, as it goes to the page. Its texts are escaped.
type row struct {
	ID   rowID `json:"n"`
	At   int64 `json:"t"` // ns from the start
	Size int64 `json:"s"`
	Lane uint8 `json:"l"` // tap.Lane
	// Kind is that of a [view.Row], or of what is no message its Sort.
	Kind   string `json:"k"`
	Method string `json:"m,omitempty"`
	// Name and Quiet, its Method, are those of its [view.Title], Preview the Args or, of
	// a response, the Result.
	Name    string `json:"w,omitempty"`
	Preview string `json:"a,omitempty"`
	Quiet   string `json:"y,omitempty"`
	Fault   string `json:"f,omitempty"`
	Marks   marks  `json:"b,omitempty"`
	// Role is what it is to its call, "" where it is no message.
	Role string `json:"r,omitempty"`
	// Call, Parent and Request are those of a [session.Part], Latency too: it is
	// meant where there is a Request.
	Call    rowID `json:"c,omitempty"`
	Parent  rowID `json:"p,omitempty"`
	Request rowID `json:"q,omitempty"`
	Latency int64 `json:"d,omitempty"`
	// Session is the number of its session, 0 where there is none.
	Session int `json:"g,omitempty"`
	// Exchange and Status are those of HTTP.
	Exchange uint64 `json:"x,omitempty"`
	Status   int    `json:"h,omitempty"`
	// Before is the last row of the same sort: see predecessors.
	Before rowID `json:"v,omitempty"`
}

// marks are what else is known of a row.
type marks uint16

const (
	markFailed marks = 1 << iota
	markTorn
	markGuess    // its call or the call around that is the likeliest of several
	markLate     // it came when its call was over
	markClash    // another open request had its id
	markBatch    // it stands for a batch
	markMember   // it is a message of a batch
	markOwn      // Before is of the same call
	markError    // it counts as an error
	markPlumbing // see [view.Plumbing]
)

// An update says what has become of a row that was sent before.
type update struct {
	ID rowID `json:"n"`
	// Answer is the row that answers it, and Latency how long that took.
	Answer  rowID `json:"a,omitempty"`
	Latency int64 `json:"d,omitempty"`
	// Status is the state of the call that it began, the name of a
	// [session.CallStatus], End when it was settled, and Error why it failed.
	Status string `json:"s,omitempty"`
	End    int64  `json:"e,omitempty"`
	Error  string `json:"f,omitempty"`
	// Failed says that the answer tells of a failure.
	Failed bool `json:"x,omitempty"`
	// Drop says that the filter does not let it through any more, nor, in the
	// view of calls, anything of its call.
	Drop bool `json:"drop,omitempty"`
}

// maxText is how many bytes of a text stand in a row, maxPreview how many of its Preview.
const (
	maxText    = 300
	maxPreview = 160
)

// brief is a text of the wire for a row.
func brief(s string) string { return upTo(s, maxText) }

// upTo is the beginning of a text of the wire, of at most so many bytes, escaped.
func upTo(s string, most int) string {
	if len(s) > most {
		n := most
		for n > most-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return escape.Escape(s)
}

// newRow makes the row of a line of a frame.
func newRow(l *view.Row, of *session.Entry) row {
	p, t := &l.Part, l.Title()
	r := row{
		ID: idOf(p.Message), At: int64(p.At), Size: l.Size, Lane: uint8(p.Lane), Kind: brief(l.Kind),
		Method: brief(l.Method), Name: brief(t.Name), Preview: upTo(t.Args+t.Result, maxPreview), Quiet: brief(t.Method), Fault: brief(l.Fault),
		Call: idOf(p.Call), Parent: idOf(p.Parent), Request: idOf(p.Request), Latency: int64(p.Latency),
		Exchange: p.Exchange, Status: of.Status(), Session: of.Session,
	}
	if l.Sort != "" {
		r.Kind = l.Sort
	}
	if p.Call != (session.Ref{}) || p.Kind != jsonrpc.Other && isMessage(l.Kind) {
		r.Role = p.Role.String()
	}
	for _, m := range []struct {
		is bool
		marks
	}{
		{l.Failed, markFailed}, {l.Error, markError}, {l.Truncated, markTorn}, {p.Guess, markGuess}, {p.Late, markLate}, {p.Clash != (session.Ref{}), markClash},
		{len(of.Parts) == 0 && view.Plumbing(of), markPlumbing},
	} {
		if m.is {
			r.Marks |= m.marks
		}
	}
	return r
}

// isMessage reports whether a kind is that of a message, so that its role means
// something.
func isMessage(kind string) bool {
	k, err := jsonrpc.ParseKind(kind)
	return err == nil && k != jsonrpc.Batch && k != jsonrpc.Other
}
