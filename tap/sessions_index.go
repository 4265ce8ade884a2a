package tap

// A SessionIndex is what a first pass over a recording tells of its sessions, so
// that a second one knows the session of every frame at once: of the head of a
// request too, which comes before the message that tells. It remembers the
// exchanges whose session was told late, so its memory grows with their number:
// the handshakes, and all those of 2026-07-28. The zero value is ready.
type SessionIndex struct {
	late map[uint64]int
}

// Note takes what the last frame told.
func (x *SessionIndex) Note(s *Sessions) {
	exchange, number := s.Late()
	if exchange == 0 {
		return
	}
	if x.late == nil {
		x.late = map[uint64]int{}
	}
	x.late[exchange] = number
}

// Of returns the session of a frame; soFar is what [Sessions] said of it.
func (x *SessionIndex) Of(f *Frame, soFar int) int {
	if soFar != 0 || x == nil {
		return soFar
	}
	return x.late[f.Exchange]
}
