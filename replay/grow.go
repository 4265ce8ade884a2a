package replay

import (
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Growth lets a script be played while it is being made. The law that makes this
// possible: what has not been made yet comes after the last cue there is, so it is
// not played before the client has come that far. A session that needs to know more
// waits for it, and its clock stands still meanwhile, and for as long as it has to share
// the machine with the making, so what it says is what it would have said with all there
// is, and when.
type Growth interface {
	// Lock keeps the script as it is until Unlock is called; the Builder must do
	// its work in between. Several may hold it at once, as nobody changes anything.
	Lock()
	Unlock()
	// More waits, with the lock held before and after but not while it waits, until
	// the script has grown or is whole. It may also return for no reason. The error is
	// that there will never be more although the script is not whole; it is the same
	// each time.
	More() error
	// All is More that returns when the script is whole, so that whoever waits for that
	// costs nothing until then.
	All() error
	// Now is a clock that does not go backwards.
	Now() time.Duration
}

// Grow returns the script while it is being made. From then on the Builder is to be
// used only while nobody holds the lock, up to [Builder.Script], which makes the
// script whole, and [Builder.Refuse] not at all.
func (b *Builder) Grow(g Growth) *Script {
	b.s.growth, b.s.growing = g, true
	return b.s
}

// Empty reports whether there is nothing in it that could be played. It waits until
// there is something.
func (s *Script) Empty() bool {
	s.lock()
	defer s.unlock()
	for s.requests == 0 && len(s.items) == 1 && s.grow() {
	}
	return s.requests == 0 && s.steps() == 0
}

// lock and unlock do nothing with a script that did not grow.
func (s *Script) lock() {
	if s.growth != nil {
		s.growth.Lock()
	}
}

func (s *Script) unlock() {
	if s.growth != nil {
		s.growth.Unlock()
	}
}

// grow waits for more, and reports whether there can be. The caller holds the lock.
func (s *Script) grow() bool {
	if !s.growing {
		return false
	}
	return s.growth.More() == nil
}

// await waits for all of it. The caller holds the lock.
func (s *Script) await() {
	if s.growing {
		_ = s.growth.All()
	}
}

// enter begins an operation of a session. One that comes at a time has moved the clock
// before, which stands still from now on.
func (s *Session) enter() {
	if s.grows {
		s.entered = s.script.growth.Now()
		s.script.growth.Lock()
		s.grows = s.script.growing
		s.locked = true
	}
}

// exit ends it.
func (s *Session) exit() {
	if s.locked {
		s.locked = false
		s.script.growth.Unlock()
		s.stood += s.script.growth.Now() - s.entered
	}
}

// more waits until the script has grown, and reports whether it can have: it is not
// whole, and there was no error. What the session would say after an error is never
// said.
func (s *Session) more() bool {
	if !s.grows || s.failed != nil {
		return false
	}
	s.failed = s.script.growth.More()
	s.grows = s.script.growing
	return s.failed == nil
}

// whole waits until all of the script is there.
func (s *Session) whole() {
	if s.grows && s.failed == nil {
		s.failed = s.script.growth.All()
		s.grows = s.script.growing
	}
}

// cover waits until there is a cue beyond one, so that all is known that hangs on
// it, and all that may be played when the client has come to it.
func (s *Session) cover(c uint32) {
	for uint32(len(s.script.cues)) <= c+1 && s.more() {
	}
}

// trails reports whether a play at the end of its items goes on when there are more
// of them, and waits where that must be known at once: where an answer is owed, as
// patience counts from here, or a stream would end.
func (s *Session) trails(p *play) bool {
	if !s.grows || p.hangs {
		return false
	}
	waits := func() bool {
		c := &s.script.cues[p.cue]
		return !p.answered && !(c.has(cueListens) && c.first != 0 && s.streams.hasDuplex)
	}
	for p.item = s.behind(p); p.item == 0 && waits() && s.more(); {
		p.item = s.behind(p)
	}
	if p.item != 0 || !s.grows {
		return false
	}
	p.move(playTrails)
	if s.trailing == nil {
		s.trailing = map[uint32][]*play{}
	}
	s.trailing[p.cue] = append(s.trailing[p.cue], p)
	return true
}

// behind is the item behind the last one that a play has had, 0 for none so far.
func (s *Session) behind(p *play) uint32 {
	if p.had == 0 {
		return s.script.cues[p.cue].first
	}
	return s.script.items[p.had].next
}

// follow moves the plays on that were at the end of their items and are not any
// more.
func (s *Session) follow() {
	for _, n := range s.longer() {
		c := s.script.items[n].cue
		plays := s.trailing[c]
		delete(s.trailing, c)
		for _, p := range plays {
			if p.state == playTrails {
				p.item = s.behind(p)
				s.advance(p)
			}
		}
	}
	if s.grows || len(s.trailing) == 0 {
		return
	}
	over := s.trailing
	s.trailing = nil
	for _, plays := range over {
		for _, p := range plays {
			if p.state == playTrails {
				s.over(p)
			}
		}
	}
	for c := range s.bound {
		if !s.script.cues[c].has(cueReferred) { // as is known only now
			delete(s.bound, c)
		}
	}
}

// longer finds items, in their order, at which trailing plays go on, among those that
// were not there when it was called last. A session that comes along with the script has
// many such plays and few new items, one that has waited for all of it the reverse.
func (s *Session) longer() (found []uint32) {
	first := s.seen
	fresh := s.script.items[first:]
	s.seen += len(fresh)
	if len(fresh) <= len(s.trailing) {
		for i := range fresh {
			if it := &fresh[i]; !it.has(itemHangs) && s.trailing[it.cue] != nil {
				found = append(found, uint32(first+i))
			}
		}
		return found
	}
	for _, plays := range s.trailing {
		for _, p := range plays {
			if n := s.behind(p); n != 0 && p.state == playTrails {
				found = append(found, n)
			}
		}
	}
	slices.Sort(found)
	return found
}

// settle waits for all of the script, and brings all plays to where they are then.
func (s *Session) settle() {
	if s.grows {
		s.whole()
	}
	if s.trailing != nil {
		s.follow()
	}
}

// An Owed is a request of the client's that has had no answer: its id as it stands, and
// the stream on which the answer would go.
type Owed struct {
	Stream Stream
	ID     []byte
}

// Owed returns the requests that have had no answer, in the order in which they came.
// Next having failed, nothing else will tell their client so.
func (s *Session) Owed() (all []Owed) {
	for _, p := range slices.Backward(s.latest()) {
		if !p.hangs && !p.answered {
			all = append(all, Owed{p.stream, slices.Clone(p.id)})
		}
	}
	for _, out := range s.outbox { // answers of our own, which may suppose what cannot be read
		if len(out.Raw) > 0 && out.Frame.Seq == 0 {
			m := jsonrpc.Peek(out.Raw)
			all = append(all, Owed{out.Stream, slices.Clone(m.ID)})
		}
	}
	return all
}
