package web

import (
	"hash/maphash"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/session"
)

// maxBefore is of how many sorts of messages the last one is remembered.
const maxBefore = 8192

// A predecessors knows the last message of each sort, with which the next of
// that sort is compared: within a call the last of the same role and direction,
// as a progress with the one before it or a retry with what it repeats;
// otherwise the last one of the same method, tool, prompt or resource. It
// remembers the last sorts that appeared.
type predecessors struct {
	last bounded.Map[uint64, rowID]
	seed maphash.Seed
}

func newPredecessors() *predecessors {
	return &predecessors{last: bounded.Map[uint64, rowID]{Max: maxBefore}, seed: maphash.MakeSeed()}
}

// note fills in the row's Before, and remembers the row.
func (p *predecessors) note(r *row, part *session.Part, it *filter.Item) {
	if r.Role == "" || part.Role == session.RoleInvalid {
		return
	}
	role := part.Role
	switch role { // what is the same in content
	case session.RoleRetry:
		role = session.RoleRequest
	case session.RoleInterim, session.RoleLate, session.RoleRepeat:
		role = session.RoleResponse
	}
	sort := p.key(uint64(role), uint64(part.Lane), 0, r.Method, it.Tool, it.Prompt, it.URI)
	if part.Call != (session.Ref{}) {
		own := p.key(uint64(role), uint64(part.Lane), uint64(r.Call), r.Method)
		if before, ok := p.put(own, r.ID); ok {
			r.Before = before
			r.Marks |= markOwn
			p.put(sort, r.ID)
			return
		}
	}
	r.Before, _ = p.put(sort, r.ID)
}

func (p *predecessors) key(role, lane, call uint64, words ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	maphash.WriteComparable(&h, [3]uint64{role, lane, call})
	for _, w := range words {
		h.WriteString(w)
		h.WriteByte(0)
	}
	return h.Sum64()
}

func (p *predecessors) put(key uint64, id rowID) (before rowID, known bool) {
	before, known = p.last.Get(key)
	p.last.Put(key, id)
	return before, known
}
