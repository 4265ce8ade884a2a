package view

import (
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
)

// A Future is what a first pass over a recording tells of requests: which got
// no answer, not even a refusal by HTTP, and which belong to a call that was
// cancelled. It remembers these
// and nothing else, so its memory grows with their number. The zero value is
// ready.
type Future struct {
	unanswered, cancelled map[tap.Ref]struct{}
}

// Add takes the next row of a [Feed].
func (u *Future) Add(r *Row) {
	if u.unanswered == nil {
		u.unanswered, u.cancelled = map[tap.Ref]struct{}{}, map[tap.Ref]struct{}{}
	}
	for i := range r.Parts {
		p := &r.Parts[i]
		if p.Role == tap.RoleReplay {
			continue
		}
		switch p.Kind {
		case tap.Request:
			u.unanswered[p.Message] = struct{}{}
		case tap.Response, tap.ErrorResponse:
			delete(u.unanswered, p.Request)
		}
	}
	u.end(r.Ended)
}

// End says that the recording is over; open are the calls that are not.
func (u *Future) End(open []*tap.Call) { u.end(open) }

func (u *Future) end(calls []*tap.Call) {
	for _, c := range calls {
		if c.Cancel != (tap.Ref{}) {
			u.cancelled[c.Ref] = struct{}{}
		}
		if c.Notes&tap.NoteRefused != 0 {
			for _, request := range c.Requests {
				delete(u.unanswered, request)
			}
		}
	}
}

// of says what is to come of a request.
func (u *Future) of(p *tap.Part) (is filter.Is) {
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
