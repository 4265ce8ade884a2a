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

// A rowID identifies a row: the number of its frame, followed by its index in a batch. As a
// JavaScript number it is exact up to frame 2^39.
type rowID uint64

const (
	indexBits = 14
	// batchIndex is the index of the row of a whole batch. The indexes of its messages are
	// below [jsonrpc.MaxBatch].
	batchIndex = 1<<indexBits - 1
)

// idOf returns the id of the row of a message, 0 for no message.
func idOf(r session.Ref) rowID { return rowID(r.Seq)<<indexBits | rowID(r.Index) }

func batchID(seq uint64) rowID { return rowID(seq)<<indexBits | batchIndex }

// A row is a line of the list, as the page receives it. Its texts are escaped.
type row struct {
	ID   rowID `json:"n"`
	At   int64 `json:"t"` // ns from the start
	Size int64 `json:"s"`
	Lane uint8 `json:"l"` // tap.Lane
	// Kind is the Kind of the [view.Row], or its Sort for a frame without a message.
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
	// Call, Parent, Request and Latency are as in [session.Part].
	Call    rowID `json:"c,omitempty"`
	Parent  rowID `json:"p,omitempty"`
	Request rowID `json:"q,omitempty"`
	Latency int64 `json:"d,omitempty"` // valid if Request is set
	// Session is the number of its session, 0 if there is none.
	Session int `json:"g,omitempty"`
	// Previous is the row to compare with: see previousRows.
	Previous rowID `json:"v,omitempty"`
}

// marks are further properties of a row. assets/rows.js uses the same values.
type marks uint16

const (
	markFailed marks = 1 << iota
	markTruncated
	markGuess    // its call or parent is only the most likely one
	markLate     // it arrived after the end of its call
	markClash    // another open request had the same id
	markBatch    // a whole batch
	markMember   // a message of a batch
	markSameCall // Previous is in the same call
	markError    // it counts as an error
	markPlumbing // see [view.Plumbing]
	markAside    // the call view omits it: see [view.Notable]
	markByTap    // the tap wrote it
)

// An update changes a row that was sent before.
type update struct {
	ID rowID `json:"n"`
	// Response is the row of the response or, if HTTP refused the call, of the head of its response,
	// whose body is the row Body. Latency is the time until the response.
	Response rowID `json:"a,omitempty"`
	Body     rowID `json:"o,omitempty"`
	Latency  int64 `json:"d,omitempty"`
	// State is that of the call that the row started. End is when the call was settled, lost its
	// response or was left by its client, and Error is why it failed.
	State session.State `json:"s,omitempty"`
	End   int64         `json:"e,omitempty"`
	Error string        `json:"f,omitempty"`
	// Drop means that the filter no longer matches the row or, in the call view, its call.
	Drop bool `json:"drop,omitempty"`
}

// Limits of texts in a row, in bytes.
const (
	maxText    = 300
	maxPreview = 160
)

// brief returns a recorded text for a row, shortened and escaped.
func brief(s string) string { return shorten(s, maxText) }

// shorten returns at most the first n bytes of a recorded text, escaped.
func shorten(s string, n int) string { return escape.String(escape.Shorten(s, n)) }

// newRow returns the row of a frame or message.
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
		{len(of.Parts) == 0 && !view.Notable(of) || p.Call == session.Ref{} && of.Declines(), markAside},
	} {
		if m.is {
			r.Marks |= m.marks
		}
	}
	return r
}

// isMessage reports whether a kind is a kind of message.
func isMessage(kind string) bool {
	k, err := jsonrpc.ParseKind(kind)
	return err == nil && k != jsonrpc.Batch && k != jsonrpc.Other
}

// escapeText returns a text as escaped, valid UTF-8.
func escapeText(s string) string { return escape.String(strings.ToValidUTF8(s, "�")) }

// maxPrevious limits the previous rows that are remembered.
const maxPrevious = 8192

// previousRows finds the row to compare a message with. Within a call it is the previous message with
// the same role and direction, such as the preceding progress notification; otherwise the previous one
// with the same method, tool, prompt or resource.
type previousRows struct {
	last bounded.Map[previousKey, rowID]
}

type previousKey struct {
	role  session.Role
	lane  tap.Lane
	call  rowID
	words string
}

// note sets the row's Previous, and records the row.
func (p *previousRows) note(r *row, part *session.Part, it *filter.Item) {
	if r.Role == "" || part.Role == session.RoleInvalid {
		return
	}
	role := part.Role
	switch role { // roles with the same content
	case session.RoleRetry:
		role = session.RoleRequest
	case session.RoleInterim, session.RoleLate, session.RoleRepeat:
		role = session.RoleResponse
	}
	// The joined string does not keep the frame in memory.
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

// replace records a row under a key, and returns the previous one, 0 for none.
func (p *previousRows) replace(id rowID, key previousKey) rowID {
	previous, _ := p.last.Get(key)
	p.last.Put(key, id)
	return previous
}
