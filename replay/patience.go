package replay

import (
	"fmt"
	"time"
)

// firstPatience is how long a request waits at first for its answer while the client
// has not come as far as it had in the recording. It must be long enough for a
// client on a busy machine, as else the order of what it gets depends on the time.
const firstPatience = 500 * time.Millisecond

// patience says how long an answer is held back until the client sends what it had
// sent by then in the recording. A client that waits for the answer first would
// never send it. Each time it was in vain, the next time is half as long, so such a
// client is held up for a second in all; as long as the client comes on, the time
// starts anew.
type patience struct {
	span time.Duration
	// waits is the cue that is waited for, until a time; 0 for none.
	waits uint32
	until time.Duration
}

// watch looks what is waited for first.
func (w *patience) watch(s *Session) {
	e, ok := s.owed.front()
	switch {
	case !ok:
		w.waits = 0
	case uint32(e.key) != w.waits:
		w.waits, w.until = uint32(e.key), s.now+w.span
	}
}

// again starts the time anew.
func (w *patience) again(now time.Duration) { w.until = now + w.span }

// expire lets the answers go that have been held back for long enough.
func (w *patience) expire(s *Session) {
	for w.waits != 0 && s.now >= w.until {
		c := &s.script.cues[w.waits]
		s.note(Note{Kind: NoteOrder, Frame: c.message(),
			Text: fmt.Sprintf("went on without frame %d, which the client had sent by then in the recording", c.seq)})
		w.span /= 2
		for e, ok := s.owed.front(); ok && e.key <= int64(w.waits); e, ok = s.owed.front() {
			s.owed.drop()
			e.play.waived = w.waits
			s.schedule(e.play)
		}
		w.watch(s)
	}
}
