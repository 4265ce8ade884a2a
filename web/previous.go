package web

import (
	"hash/maphash"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/session"
)

// maxPrevious is how many previous rows are remembered.
const maxPrevious = 8192

// previousRows finds the row that a message is compared with. In a call that is the
// previous message of the same role and direction, such as the progress before a
// progress; otherwise the previous one with the same method, tool, prompt or resource.
type previousRows struct {
	last bounded.Map[uint64, rowID]
	seed maphash.Seed
}

func newPreviousRows() *previousRows {
	return &previousRows{last: bounded.Map[uint64, rowID]{Max: maxPrevious}, seed: maphash.MakeSeed()}
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
	r.Previous = p.replace(r.ID, p.key(uint64(role), uint64(part.Lane), 0, r.Method, it.Tool, it.Prompt, it.URI))
	if part.Call == (session.Ref{}) {
		return
	}
	if id := p.replace(r.ID, p.key(uint64(role), uint64(part.Lane), uint64(r.Call), r.Method)); id != 0 {
		r.Previous = id
		r.Marks |= markSameCall
	}
}

func (p *previousRows) key(role, lane, call uint64, words ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	maphash.WriteComparable(&h, [3]uint64{role, lane, call})
	for _, w := range words {
		h.WriteString(w)
		h.WriteByte(0)
	}
	return h.Sum64()
}

// replace remembers a row under a key, and returns the one before it, 0 for none.
func (p *previousRows) replace(id rowID, key uint64) rowID {
	previous, _ := p.last.Get(key)
	p.last.Put(key, id)
	return previous
}
