package view

import (
	"strconv"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A target is the field of a [filter.Item] that the subject of a request belongs to.
type target uint8

const (
	targetNone target = iota
	targetTool
	targetPrompt
	targetURI
)

func targetOf(method string) target {
	switch method {
	case "tools/call", "tools/invoke":
		return targetTool
	case "prompts/get":
		return targetPrompt
	case "resources/read", "resources/subscribe", "resources/unsubscribe", "notifications/resources/updated":
		return targetURI
	}
	return targetNone
}

func (t target) fill(it *filter.Item, subject string) {
	switch t {
	case targetTool:
		it.Tool = subject
	case targetPrompt:
		it.Prompt = subject
	case targetURI:
		it.URI = subject
	}
}

// sessionName returns the name of a session for a filter.
func sessionName(number int) string {
	if number == 0 {
		return ""
	}
	return strconv.Itoa(number)
}

// Items appends the items of a frame for a filter to dst: one item, or two for each message
// of a batch, one with the kind of the message and one with that of the frame. A frame
// matches if one of its items does. The outcome of a request comes from the [session.Survey].
// A tool, a prompt or a URI is cut at [jsonrpc.MaxSubject] bytes, and missing if the request
// was too large to be loaded.
func Items(dst []filter.Item, r *session.Entry) []filter.Item {
	it := itemOf(r)
	if r.Message.Kind != jsonrpc.Batch || len(r.Parts) == 0 {
		if len(r.Parts) > 0 {
			fill(&it, r, 0)
		}
		return append(dst, it)
	}
	for i := range r.Parts {
		it := it
		fill(&it, r, i)
		it.Is |= filter.IsBatch
		dst = append(dst, it)
		it.Kind = jsonrpc.Batch.String()
		dst = append(dst, it)
	}
	return dst
}

// itemOf returns an item with the fields that every frame has.
func itemOf(r *session.Entry) filter.Item {
	f := r.Frame
	it := filter.Item{Frame: f, Session: sessionName(r.Session), Revision: string(r.Revision()), Status: r.Status()}
	switch f.Lane {
	case tap.Lifecycle:
		it.Kind, it.Method = r.Event.Name, r.Refuses.Method
		targetOf(it.Method).fill(&it, r.Refuses.Subject)
		if r.Errors() > 0 {
			it.Is |= filter.IsError
		}
	case tap.Stderr:
		it.Kind = tap.Stderr.String()
	default:
		it.Kind = r.Message.Kind.String()
		if r.Message.Kind == jsonrpc.Other && len(r.Parts) == 0 {
			it.Sort, _ = OtherWords(f)
		}
		if r.NoMessage() {
			it.Is |= filter.IsError | filter.IsInvalid
		}
	}
	return it
}

// fill adds the fields of one message.
func fill(it *filter.Item, r *session.Entry, i int) {
	m, p := r.Of(i), &r.Parts[i]
	it.Kind, it.ID, it.Method = m.Kind.String(), m.ID, p.Method
	it.Is |= about(m, p)
	if r.Declines() {
		it.Is &^= filter.IsError
	}
	switch p.Kind {
	case jsonrpc.Request, jsonrpc.Notification:
		if t := targetOf(m.Method); t != targetNone {
			t.fill(it, jsonrpc.Subject(*m))
		}
		if p.Unanswered {
			it.Is |= filter.IsPending
			it.Latency, it.Answered = p.Waited, p.Waited > 0
		}
		if p.Cancelled {
			it.Is |= filter.IsCancelled
		}
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		targetOf(p.Method).fill(it, p.Subject)
		it.Latency, it.Answered = p.Latency, p.Request != session.Ref{}
	}
}

// byRole maps roles to the words of a filter.
var byRole = [session.Roles]filter.Is{
	session.RoleRetry: filter.IsRetry, session.RoleCancel: filter.IsCancel,
	session.RoleProgress: filter.IsProgress, session.RoleLog: filter.IsLog,
	session.RoleInterim: filter.IsInterim, session.RoleLate: filter.IsLate,
	session.RoleRepeat: filter.IsDuplicate, session.RoleReplay: filter.IsDuplicate,
	session.RoleOrphan: filter.IsOrphan, session.RoleUnmatched: filter.IsUnmatched,
}

// about returns the words of a message that do not depend on later frames.
func about(m *jsonrpc.Message, p *session.Part) (is filter.Is) {
	if m.IsFailure() {
		is |= filter.IsError
	}
	if m.Kind == jsonrpc.Invalid {
		is |= filter.IsInvalid
	}
	is |= byRole[p.Role]
	if p.Parent != (session.Ref{}) {
		is |= filter.IsNested
	}
	if p.Kind == jsonrpc.Notification && p.Call == (session.Ref{}) {
		is |= filter.IsUnsolicited
	}
	return is
}
