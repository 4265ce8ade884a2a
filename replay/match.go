package replay

import (
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// MaxNear is with how many recorded requests one that fits none is compared at
// most, to find the nearest, and how many the relaxation subset looks at.
const MaxNear = 64

// An index finds cues by what the client sent.
type index struct {
	// queues are the cues of each key, in recorded order.
	queues map[key][]uint32
	// kinds are, for each method, the first cues of the keys near, at most MaxNear of them.
	kinds map[string][]uint32
}

func (x *index) add(k key, c uint32) { x.queues[k] = append(x.queues[k], c) }

func (x *index) has(k key) bool { return len(x.queues[k]) > 0 }

func (x *index) addRequest(match Match, method string, k *keyed, variant string, c uint32) {
	x.add(k.variant(variant), c)
	if variant != "" {
		x.add(k.other(), c)
	}
	if k.chained {
		x.add(k.chain, c)
	}
	if match >= MatchParams {
		x.add(k.loose, c)
	}
	if match >= MatchMethod {
		x.add(k.method, c)
	}
	if kinds := x.kinds[method]; len(x.queues[k.near]) == 0 && len(kinds) < MaxNear {
		x.kinds[method] = append(kinds, c)
	}
	x.add(k.near, c)
}

// A cursor says how far a session has used a queue up.
type cursor struct {
	// had is how many cues at the head of the queue have been used.
	had int
	// loop is how many have been played again, with RepeatLoop.
	loop int
	// last is the cue that was played last, held how often in a row it was played
	// in the place of the next.
	last uint32
	held uint8
}

// maxHeld is how often a poll gets the answer of the one before. Then the client
// goes another way than the recorded one, and must not wait for ever.
const maxHeld = 8

// queue returns the cues of a key, and how far they are used up.
func (s *Session) queue(k key) ([]uint32, *cursor) {
	q := s.script.index.queues[k]
	cur := s.cursors[k]
	if cur == nil && len(q) > 0 {
		cur = &cursor{}
		s.cursors[k] = cur
	}
	return q, cur
}

// A fate says what a queue had for a request.
type fate uint8

const (
	fateNone  fate = iota // there is no such queue
	fateFresh             // a cue that has not been used
	fateAgain             // one that has, since all have
	fateHeld              // the one before, since it is too early for the next
	fateUsed              // all are used, and none may be used again
)

// take finds the next cue of a key.
func (s *Session) take(k key) (uint32, fate) {
	q, cur := s.queue(k)
	if len(q) == 0 {
		return 0, fateNone
	}
	if c := s.skipUsed(q, cur); c != 0 {
		if s.early(c) && cur.last != 0 && cur.held < maxHeld {
			cur.held++
			return cur.last, fateHeld
		}
		cur.had, cur.last, cur.held = cur.had+1, c, 0
		return c, fateFresh
	}
	c := cur.last
	switch last := q[len(q)-1]; {
	case s.script.opt.Repeat == RepeatError:
		return 0, fateUsed
	case s.script.opt.Repeat == RepeatLoop:
		c = s.loop(k)
	case s.playable(last):
		c = last
	}
	if c == 0 {
		return 0, fateNone
	}
	return c, fateAgain
}

// loop returns the next cue of a key when all begin again with the first, 0 for none.
func (s *Session) loop(k key) uint32 {
	q, cur := s.queue(k)
	for range q {
		c := q[cur.loop%len(q)]
		if cur.loop++; s.playable(c) {
			return c
		}
	}
	return 0
}

// skipUsed moves a cursor to the first cue that can still be played, which it returns,
// 0 for none.
func (s *Session) skipUsed(q []uint32, cur *cursor) uint32 {
	for ; cur.had < len(q); cur.had++ {
		if c := q[cur.had]; !s.came(c) && s.playable(c) {
			return c
		}
	}
	return 0
}

// playable reports whether a cue can be played: one that the server refused in HTTP
// alone cannot on a stream for everything.
func (s *Session) playable(c uint32) bool {
	x := &s.script.cues[c]
	return x.kind != cueRefused && (x.kind != cueRequest || x.answer != 0 || !s.streams.hasDuplex || !s.refused(c))
}

// refused reports whether a request was answered with a status of failure.
func (s *Session) refused(c uint32) bool {
	carrier := s.script.cues[c].carrier
	return carrier != 0 && s.script.responses[s.script.cues[carrier].response].Status >= 400
}

// early reports whether the answer to a poll supposes something that the client
// has not done yet.
func (s *Session) early(c uint32) bool {
	if !s.script.cues[c].has(cuePoll) {
		return false
	}
	need := s.script.needed[c]
	return need != 0 && !s.came(need)
}

// A match is what was found for a request.
type match struct {
	cue   uint32
	fate  fate
	level Match
	// chain says that it is another answer to what the server had asked for.
	chain bool
}

// match finds the recorded request that a live one gets the answer of.
func (s *Session) match(m *jsonrpc.Message, k *keyed) match {
	c, exact := s.take(k.variant(s.variant))
	if exact != fateNone && exact != fateUsed {
		return match{cue: c, fate: exact}
	}
	if s.variant != "" {
		if c, fate := s.take(k.exact); c != 0 {
			return match{cue: c, fate: fate}
		}
	}
	if c, fate := s.take(k.other()); c != 0 && !s.refused(c) {
		return match{cue: c, fate: fate}
	}
	if k.chained {
		if c, fate := s.take(k.chain); c != 0 {
			return match{cue: c, fate: fate, chain: true}
		}
	}
	level := s.script.opt.Match
	if level >= MatchParams {
		if c, fate := s.take(k.loose); c != 0 {
			return match{cue: c, fate: fate, level: MatchParams}
		}
	}
	if level >= MatchSubset {
		if c, fate := s.subset(m, k); c != 0 {
			return match{cue: c, fate: fate, level: MatchSubset}
		}
	}
	if level >= MatchMethod {
		for _, k := range []key{k.near, k.method} {
			if c, fate := s.take(k); c != 0 {
				return match{cue: c, fate: fate, level: MatchMethod}
			}
		}
	}
	return match{fate: exact}
}

// subset finds a recorded request of the same method and subject all of whose
// params the live one has, among the next MaxNear that have not been used, and
// failing that among the first.
func (s *Session) subset(m *jsonrpc.Message, k *keyed) (uint32, fate) {
	q, cur := s.queue(k.near)
	if len(q) == 0 {
		return 0, fateNone
	}
	live := s.keyer.params(m)
	fits := func(c uint32) bool {
		if x := &s.script.cues[c]; x.has(cueModern) != k.modern || !s.playable(c) {
			return false
		}
		r, _, err := s.script.message(s.script.cues[c].place)
		if err != nil {
			return false
		}
		recorded := s.keyer.params(&r)
		recorded.Remove(func(at jsontree.Path, _ jsontree.Value) bool { return len(at) == 1 }, "_meta")
		return contains(live, recorded)
	}
	s.skipUsed(q, cur)
	for _, c := range q[cur.had:min(len(q), cur.had+MaxNear)] {
		if !s.came(c) && fits(c) {
			return c, fateFresh
		}
	}
	if s.script.opt.Repeat == RepeatError {
		return 0, fateUsed
	}
	best := uint32(0)
	for _, c := range q[:min(len(q), MaxNear)] {
		if fits(c) {
			if best = c; s.script.opt.Repeat == RepeatLoop {
				break
			}
		}
	}
	return best, fateAgain
}

// message loads a recorded message.
func (s *Script) message(p place) (jsonrpc.Message, []byte, error) {
	raw, err := p.load(s.spool)
	if err != nil {
		return jsonrpc.Message{}, nil, err
	}
	return jsonrpc.Peek(raw), raw, nil
}
