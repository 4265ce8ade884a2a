package replay

import (
	"fmt"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Coverage says which requests of some scripts any of their sessions has asked
// for.
type Coverage struct {
	scripts []*Script
	asked   map[*Script]map[uint32]bool
}

// NewCoverage makes a Coverage of no session yet.
func NewCoverage(scripts ...*Script) *Coverage {
	v := &Coverage{scripts, map[*Script]map[uint32]bool{}}
	for _, s := range scripts {
		v.asked[s] = map[uint32]bool{}
	}
	return v
}

// NewCoverage makes a Coverage of one script.
func (s *Script) NewCoverage() *Coverage { return NewCoverage(s) }

// Add counts what a session of one of the scripts has been asked for.
func (v *Coverage) Add(s *Session) {
	asked := v.asked[s.script]
	for c := range s.arrived {
		if s.script.cues[c].kind == cueRequest {
			asked[c] = true
		}
	}
}

// Recorded returns how many requests the scripts have.
func (v *Coverage) Recorded() (n int) {
	for _, s := range v.scripts {
		n += s.Requests()
	}
	return n
}

// Asked returns how many of the recorded requests were asked for.
func (v *Coverage) Asked() (n int) {
	for _, s := range v.scripts {
		n += len(v.asked[s])
	}
	return n
}

// Unasked names the recorded requests that no session was asked for, in recorded
// order, at most so many.
func (v *Coverage) Unasked(most int) (notes []Note) {
	for _, s := range v.scripts {
		notes = append(notes, s.unasked(func(c uint32) bool { return v.asked[s][c] }, most-len(notes))...)
	}
	return notes
}

func (s *Script) unasked(asked func(uint32) bool, most int) (notes []Note) {
	for c := range s.cues {
		x := &s.cues[c]
		if x.kind != cueRequest || asked(uint32(c)) {
			continue
		}
		if len(notes) == most {
			break
		}
		n := Note{Kind: NoteUnasked, Frame: x.message()}
		if m, _, err := s.message(x.place); err == nil {
			n.Method, n.Subject = m.Method, jsonrpc.Subject(m)
		}
		n.Text = fmt.Sprintf("frame %d, %s, was not asked for", x.seq, about(n.Method, n.Subject))
		notes = append(notes, n)
	}
	return notes
}
