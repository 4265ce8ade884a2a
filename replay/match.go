package replay

import (
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// Which table a cursor is in.
const (
	byExact uint8 = iota
	byChain
	byLoose
	byNear
	byMethod
	byNote
	byOther
	byBare
)

// A cursorKey names a queue of a table by its first cue.
type cursorKey struct {
	first uint32
	table uint8
}

// A cursor says how far a session has used a queue up.
type cursor struct {
	// first is the first cue of the queue, had the last one of those at its head that
	// have been used, 0 for none.
	first, had uint32
	// loop is the next one to be played again, with RepeatLoop.
	loop uint32
	// last is the one that was played last, held how often in a row it was played
	// in the place of the next.
	last uint32
	held uint8
}

// next is the first cue that may not have been used, 0 when all have.
func (c *cursor) next(t *table) uint32 {
	if c.had == 0 {
		return c.first
	}
	return t.next[c.had]
}

// maxHeld is how often a poll gets the answer of the one before. Then the client
// goes another way than the recorded one, and must not wait for ever.
const maxHeld = 8

func (s *Session) cursor(table uint8, q queue) *cursor {
	key := cursorKey{q.first, table}
	c := s.cursors[key]
	if c == nil {
		c = &cursor{first: q.first}
		s.cursors[key] = c
	}
	return c
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
func (s *Session) take(t *table, id uint8, k key) (uint32, fate) {
	q, ok := t.queues[k]
	if !ok {
		return 0, fateNone
	}
	cur := s.cursor(id, q)
	c := s.skipUsed(t, cur)
	if c != 0 {
		if s.early(c) && cur.last != 0 && cur.held < maxHeld {
			cur.held++
			return cur.last, fateHeld
		}
		cur.had, cur.last, cur.held = c, c, 0
		return c, fateFresh
	}
	switch s.script.opt.Repeat {
	case RepeatLast:
		if s.playable(q.last) {
			return q.last, fateAgain
		}
		return cur.last, fateOf(cur.last)
	case RepeatLoop:
		c = s.loop(t, id, k)
		return c, fateOf(c)
	}
	return 0, fateUsed
}

// loop returns the next cue of a key when all begin again with the first, 0 for none.
func (s *Session) loop(t *table, id uint8, k key) uint32 {
	q := t.queues[k]
	cur := s.cursor(id, q)
	for range 2 {
		if cur.loop == 0 {
			cur.loop = q.first
		}
		for cur.loop != 0 && !s.playable(cur.loop) {
			cur.loop = t.next[cur.loop]
		}
	}
	c := cur.loop
	if c != 0 {
		cur.loop = t.next[c]
	}
	return c
}

// fateOf is that of a cue which is played again, if there is one.
func fateOf(c uint32) fate {
	if c == 0 {
		return fateNone
	}
	return fateAgain
}

// skipUsed moves a cursor to the first cue that can still be played, which it returns,
// 0 for none.
func (s *Session) skipUsed(t *table, cur *cursor) uint32 {
	for c := cur.next(t); c != 0; c = t.next[c] {
		if !s.came(c) && s.playable(c) {
			return c
		}
		cur.had = c
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
	x := &s.script.index
	c, exact := s.take(&x.exact, byExact, k.variant(s.variant))
	if exact != fateNone && exact != fateUsed {
		return match{cue: c, fate: exact}
	}
	if s.variant != "" {
		if c, fate := s.take(&x.exact, byExact, k.exact); c != 0 {
			return match{cue: c, fate: fate}
		}
	}
	if c, fate := s.take(&x.other, byOther, k.exact); c != 0 && !s.refused(c) {
		return match{cue: c, fate: fate}
	}
	if k.chained {
		if c, fate := s.take(&x.chain, byChain, k.chain); c != 0 {
			return match{cue: c, fate: fate, chain: true}
		}
	}
	level := s.script.opt.Match
	if level >= MatchParams {
		if c, fate := s.take(&x.loose, byLoose, k.loose); c != 0 {
			return match{cue: c, fate: fate, level: MatchParams}
		}
	}
	if level >= MatchSubset {
		if c, fate := s.subset(m, k); c != 0 {
			return match{cue: c, fate: fate, level: MatchSubset}
		}
	}
	if level >= MatchMethod {
		if c, fate := s.take(&x.near, byNear, k.near); c != 0 {
			return match{cue: c, fate: fate, level: MatchMethod}
		}
		if c, fate := s.take(&x.method, byMethod, k.method); c != 0 {
			return match{cue: c, fate: fate, level: MatchMethod}
		}
	}
	return match{fate: exact}
}

// subset finds a recorded request of the same method and subject all of whose
// params the live one has, among the next MaxNear that have not been used, and
// failing that among the first.
func (s *Session) subset(m *jsonrpc.Message, k *keyed) (uint32, fate) {
	t := &s.script.index.near
	q, ok := t.queues[k.near]
	if !ok {
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
	cur := s.cursor(byNear, q)
	for c, n := s.skipUsed(t, cur), 0; c != 0 && n < MaxNear; c, n = t.next[c], n+1 {
		if !s.came(c) && fits(c) {
			return c, fateFresh
		}
	}
	if s.script.opt.Repeat == RepeatError {
		return 0, fateUsed
	}
	best := uint32(0)
	for c, n := q.first, 0; c != 0 && n < MaxNear; c, n = t.next[c], n+1 {
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
