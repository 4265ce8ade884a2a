package view

import (
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Future is what a first pass over a recording finds out about requests: which got
// no answer, not even a refusal by HTTP, and which belong to a call that was
// cancelled. It remembers these
// and nothing else, so its memory grows with their number. The zero value is
// ready.
type Future struct {
	unanswered, cancelled map[session.Ref]struct{}
}

// Add takes the next row of a [Feed].
func (u *Future) Add(r *Row) {
	if u.unanswered == nil {
		u.unanswered, u.cancelled = map[session.Ref]struct{}{}, map[session.Ref]struct{}{}
	}
	for i := range r.Parts {
		p := &r.Parts[i]
		if p.Role == session.RoleReplay {
			continue
		}
		switch p.Kind {
		case jsonrpc.Request:
			u.unanswered[p.Message] = struct{}{}
		case jsonrpc.Response, jsonrpc.ErrorResponse:
			delete(u.unanswered, p.Request)
		}
	}
	u.end(r.Ended)
}

// End says that the recording is over; open are the calls that are not.
func (u *Future) End(open []*session.Call) { u.end(open) }

func (u *Future) end(calls []*session.Call) {
	for _, c := range calls {
		if c.Cancel != (session.Ref{}) {
			u.cancelled[c.Ref] = struct{}{}
		}
		if c.Notes&session.NoteRefused != 0 {
			for _, request := range c.Requests {
				delete(u.unanswered, request)
			}
		}
	}
}

// of says what is to come of a request.
func (u *Future) of(p *session.Part) (is filter.Is) {
	if u == nil {
		return 0
	}
	if _, ok := u.unanswered[p.Message]; ok {
		is |= filter.IsPending
	}
	if _, ok := u.cancelled[p.Message]; ok {
		is |= filter.IsCancelled
	}
	return is
}
