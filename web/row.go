package web

import (
	"strings"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A rowID names a row: the number of its frame, followed by its index in a batch. As a
// JavaScript number it is exact up to frame 2^39.
type rowID uint64

const (
	indexBits = 14
	// batchIndex is the index of the row of a whole batch. Those of its messages are
	// below [jsonrpc.MaxBatch].
	batchIndex = 1<<indexBits - 1
)

// idOf names the row of a message; 0 for no message.
func idOf(r session.Ref) rowID { return rowID(r.Seq)<<indexBits | rowID(r.Index) }

func batchID(seq uint64) rowID { return rowID(seq)<<indexBits | batchIndex }

// A row is a line of the list, as the page receives it. Its texts are escaped.
type row struct {
	ID   rowID `json:"n"`
	At   int64 `json:"t"` // ns from the start
	Size int64 `json:"s"`
	Lane uint8 `json:"l"` // tap.Lane
	// Kind is that of a [view.Row], or its Sort for a frame without a message.
	Kind   string `json:"k"`
	Method string `json:"m,omitempty"`
	// Name and Detail are the Name and the Method of its [view.Title]. Preview is its
	// Args or, for a response, its Result.
	Name    string `json:"w,omitempty"`
	Preview string `json:"a,omitempty"`
	Detail  string `json:"y,omitempty"`
	Fault   string `json:"f,omitempty"`
	Marks   marks  `json:"b,omitempty"`
	// Role is its role in the call, "" if it is not a message.
	Role string `json:"r,omitempty"`
	// Call, Parent, Request and Latency are those of a [session.Part].
	Call    rowID `json:"c,omitempty"`
	Parent  rowID `json:"p,omitempty"`
	Request rowID `json:"q,omitempty"`
	Latency int64 `json:"d,omitempty"` // valid with a Request
	// Session is the number of its session, 0 if there is none.
	Session int `json:"g,omitempty"`
	// Previous is the row that it is compared with: see previousRows.
	Previous rowID `json:"v,omitempty"`
}

// marks are further properties of a row. assets/rows.js has the same numbers.
type marks uint16

const (
	markFailed marks = 1 << iota
	markTruncated
	markGuess    // its call or parent is the likeliest of several
	markLate     // it came after the end of its call
	markClash    // another open request had its id
	markBatch    // a whole batch
	markMember   // a message of a batch
	markSameCall // Previous is in the same call
	markError    // it counts as an error
	markPlumbing // see [view.Plumbing]
)

// An update changes a row that was sent before.
type update struct {
	ID rowID `json:"n"`
	// Response is the row of the response, and Latency the time until then.
	Response rowID `json:"a,omitempty"`
	Latency  int64 `json:"d,omitempty"`
	// Status is the name of the [session.CallStatus] of the call that it began, or too_late
	// (see [session.Call.TooLate]), End the time when the call was settled, lost its response
	// or was left by its client, and Error why it failed.
	Status string `json:"s,omitempty"`
	End    int64  `json:"e,omitempty"`
	Error  string `json:"f,omitempty"`
	// Drop means that the filter no longer matches it nor, in the view of calls, its
	// call.
	Drop bool `json:"drop,omitempty"`
}

// Limits of texts in a row, in bytes.
const (
	maxText    = 300
	maxPreview = 160
)

// brief returns a recorded text for a row, shortened and escaped.
func brief(s string) string { return shorten(s, maxText) }

// shorten returns the beginning of a recorded text, at most n bytes, escaped.
func shorten(s string, n int) string { return escape.String(escape.Shorten(s, n)) }

// newRow makes the row of a frame or message.
func newRow(l *view.Row, of *session.Entry) row {
	p, t := &l.Part, l.Title()
	r := row{
		ID: idOf(p.Message), At: int64(p.At), Size: l.Size, Lane: uint8(p.Lane), Kind: brief(l.Kind), Method: brief(l.Method),
		Name: brief(t.Name), Preview: shorten(t.Args+t.Result, maxPreview), Detail: brief(t.Method), Fault: brief(view.Cause(l.Fault)),
		Call: idOf(p.Call), Parent: idOf(p.Parent), Request: idOf(p.Request), Latency: int64(p.Latency),
		Session: of.Session,
	}
	if l.Sort != "" {
		r.Kind = l.Sort
	}
	if p.Call != (session.Ref{}) || p.Kind != jsonrpc.Other && isMessage(l.Kind) {
		r.Role = p.Role.String()
	}
	for _, m := range [...]struct {
		is bool
		marks
	}{
		{l.Failed, markFailed}, {l.Error, markError}, {l.Truncated, markTruncated}, {p.Guess, markGuess}, {p.Late, markLate},
		{p.Clash != session.Ref{}, markClash}, {len(of.Parts) == 0 && view.Plumbing(of), markPlumbing},
	} {
		if m.is {
			r.Marks |= m.marks
		}
	}
	return r
}

// isMessage reports whether a kind is that of a message, which has a role.
func isMessage(kind string) bool {
	k, err := jsonrpc.ParseKind(kind)
	return err == nil && k != jsonrpc.Batch && k != jsonrpc.Other
}

// escapeText returns a text as valid UTF-8, escaped.
func escapeText(s string) string { return escape.String(strings.ToValidUTF8(s, "�")) }

// maxPrevious is how many previous rows are remembered.
const maxPrevious = 8192

// previousRows finds the row that a message is compared with. In a call that is the
// previous message of the same role and direction, such as the progress before a
// progress; otherwise the previous one with the same method, tool, prompt or resource.
type previousRows struct {
	last bounded.Map[previousKey, rowID]
}

type previousKey struct {
	role  session.Role
	lane  tap.Lane
	call  rowID
	words string
}

// note sets the row's Previous, and remembers the row.
func (p *previousRows) note(r *row, part *session.Part, it *filter.Item) {
	if r.Role == "" || part.Role == session.RoleInvalid {
		return
	}
	role := part.Role
	switch role { // those with the same content
	case session.RoleRetry:
		role = session.RoleRequest
	case session.RoleInterim, session.RoleLate, session.RoleRepeat:
		role = session.RoleResponse
	}
	// Joined words do not keep the frame in memory.
	words := strings.Join([]string{r.Method, it.Tool, it.Prompt, it.URI}, "\x00")
	r.Previous = p.replace(r.ID, previousKey{role, part.Lane, 0, words})
	if part.Call == (session.Ref{}) {
		return
	}
	if id := p.replace(r.ID, previousKey{role, part.Lane, r.Call, strings.Clone(r.Method)}); id != 0 {
		r.Previous = id
		r.Marks |= markSameCall
	}
}

// replace remembers a row under a key, and returns the one before it, 0 for none.
func (p *previousRows) replace(id rowID, key previousKey) rowID {
	previous, _ := p.last.Get(key)
	p.last.Put(key, id)
	return previous
}
