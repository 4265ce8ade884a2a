package view

import (
	"bytes"

	"github.com/mcptap/mcptap/tap"
)

// Joins says that the frames before the first one are not added; facts are those
// of the recording. From then on rows are Doubtful when what they say could be
// different had these frames been added.
func (x *Feed) Joins(facts tap.Facts) { x.joined, x.facts = true, facts }

// doubtful goes by what ties messages to those before them; see [tap.Tracker].
// What it misses is what a peer may not do: to use an id or a token that is in
// use, here since before the first frame. On HTTP it depends on all before
// which session a frame belongs to.
func (x *Feed) doubtful(r *Row) bool {
	if r.Frame.Exchange != 0 {
		return true
	}
	for i := range r.Parts {
		p := &r.Parts[i]
		answer := p.Kind == tap.Response || p.Kind == tap.ErrorResponse
		if !answer && !r.Frame.Whole() || x.doubts(p, r.message(i)) {
			return true
		}
	}
	return false
}

func (x *Feed) doubts(p *tap.Part, m *tap.Message) bool {
	switch p.Role {
	case tap.RoleOrphan, tap.RoleStray, tap.RoleRepeat, tap.RoleUnread:
		return true
	case tap.RoleLog:
		return x.facts.Era != tap.Legacy || mentions(m, "related-task")
	case tap.RoleNotification, tap.RoleUnsolicited:
		return p.Guess || m.Method == "notifications/initialized" || m.Method == "initialized" || mentions(m, "related-task")
	case tap.RoleRequest:
		// The server asks for the sake of a call; the client may go on with one.
		return p.Lane == tap.ToClient || goesOn(m)
	}
	return false
}

// goesOn reports whether a request may be a further one of a call, or can be
// what a client begins with.
func goesOn(m *tap.Message) bool {
	switch m.Method {
	case "tasks/get", "tasks/result", "tasks/update", "tasks/cancel", "server/discover":
		return true
	}
	return mentions(m, "requestState") || mentions(m, "inputResponses")
}

// mentions reports whether the params may hold a member.
func mentions(m *tap.Message, name string) bool { return bytes.Contains(m.Params, []byte(name)) }
