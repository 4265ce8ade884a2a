package replay

import (
	"fmt"
	"slices"
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
	// waived is the last cue that some answer was not held back for.
	waived uint32
}

// watch takes what is waited for first, and lets the answers go that have waited for it
// long enough: then it reports true.
func (w *patience) watch(s *Session, owed uint32) bool {
	if owed != w.waits {
		w.waits, w.until = owed, s.now+w.span
	}
	if owed == 0 || s.now < w.until {
		return false
	}
	s.note(Note{Kind: NoteOrder, Frame: s.script.cues[owed].message(),
		Text: fmt.Sprintf("went on without frame %d, which the client had sent by then in the recording", s.script.cues[owed].seq)})
	w.span /= 2
	w.waits, w.waived = 0, max(w.waived, owed)
	for _, p := range s.plays {
		if p.state == playSends && s.awaits(p, &s.script.items[p.item]) == owed {
			p.waived = owed
		}
	}
	s.missing = slices.DeleteFunc(s.missing, func(m uint32) bool { return m == owed })
	if slices.Contains(s.returns, owed) {
		s.arrive(owed)
	}
	return true
}

// again starts the time anew.
func (w *patience) again(now time.Duration) { w.until = now + w.span }
