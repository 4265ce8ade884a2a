package replay

import (
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// MaxNear is the maximum number of recorded requests that a live one is compared with to find
// the nearest or to match a subset.
const MaxNear = 64

// An index finds triggers by what the client sent.
type index struct {
	// queues are the triggers of each key, in recorded order.
	queues map[Key][]uint32
	// kinds has, by method, the first trigger of each near key, at most MaxNear of them.
	kinds map[string][]uint32
}

func (x *index) add(k Key, t uint32) { x.queues[k] = append(x.queues[k], t) }

func (x *index) has(k Key) bool { return len(x.queues[k]) > 0 }

func (x *index) addRequest(match Match, k *keyed, variant string, t uint32) {
	x.add(k.variant(variant), t)
	if variant != "" {
		x.add(k.other(), t)
	}
	if k.chained {
		x.add(k.chain, t)
	}
	if match >= MatchParams {
		x.add(k.loose, t)
	}
	if match >= MatchMethod {
		x.add(k.byMethod(), t)
	}
	if kinds := x.kinds[k.method]; !x.has(k.near()) && len(kinds) < MaxNear {
		x.kinds[k.method] = append(kinds, t)
	}
	x.add(k.near(), t)
}

// A cursor is the position of a session in a queue.
type cursor struct {
	had  int    // triggers used, from the start of the queue
	loop int    // triggers replayed, with RepeatLoop
	last uint32 // the last trigger played
	held uint8  // how many times last was played instead of the next trigger
}

// maxHeld is how many times a poll gets the previous answer. After that the client is assumed to
// behave differently from the recorded one, and must not wait forever.
const maxHeld = 8

// queue returns the triggers of a key and the session's position among them.
func (s *Session) queue(k Key) ([]uint32, *cursor) {
	q := s.script.index.queues[k]
	cur := s.cursors[k]
	if cur == nil && len(q) > 0 {
		cur = &cursor{}
		s.cursors[k] = cur
	}
	return q, cur
}

// A fate is the result of a lookup in a queue.
type fate uint8

const (
	fateNone   fate = iota // there is no such queue
	fateFresh              // an unused trigger
	fateRepeat             // a used trigger, since all are used
	fateHeld               // the previous trigger, since it is too early for the next one
	fateUsed               // all triggers are used, and none may be reused
)

// take returns the next trigger of a key, 0 for none.
func (s *Session) take(k Key) (uint32, fate) {
	q, cur := s.queue(k)
	if len(q) == 0 {
		return 0, fateNone
	}
	if t := s.skipUsed(q, cur); t != 0 {
		if need := s.script.triggers[t].needs; need != 0 && !s.came(need) && cur.last != 0 && cur.held < maxHeld {
			cur.held++
			return cur.last, fateHeld
		}
		cur.had, cur.last, cur.held = cur.had+1, t, 0
		return t, fateFresh
	}
	t := cur.last
	switch last := q[len(q)-1]; {
	case s.script.opt.Repeat == RepeatError:
		return 0, fateUsed
	case s.script.opt.Repeat == RepeatLoop:
		t = s.loop(k)
	case s.playable(last):
		t = last
	}
	if t == 0 {
		return 0, fateNone
	}
	return t, fateRepeat
}

// loop returns the next trigger of a key whose queue is being replayed, 0 for none.
func (s *Session) loop(k Key) uint32 {
	q, cur := s.queue(k)
	for range q {
		t := q[cur.loop%len(q)]
		if cur.loop++; s.playable(t) {
			return t
		}
	}
	return 0
}

// skipUsed moves a cursor to the first unused playable trigger and returns it, 0 for none.
func (s *Session) skipUsed(q []uint32, cur *cursor) uint32 {
	for ; cur.had < len(q); cur.had++ {
		if t := q[cur.had]; !s.came(t) && s.playable(t) {
			return t
		}
	}
	return 0
}

// playable reports whether a trigger can be played. A trigger that the server refused with an
// HTTP status and no message can be played over HTTP only.
func (s *Session) playable(n uint32) bool {
	t := &s.script.triggers[n]
	alone := t.kind == triggerRequest && t.answer == 0 && s.streams.hasDuplex && s.refused(n)
	return t.kind != triggerRefused && (!alone || s.script.inbound && s.stream != s.streams.duplex)
}

// refused reports whether the recorded response had a failure status.
func (s *Session) refused(t uint32) bool { return s.status(t) >= 400 }

// status returns the HTTP status of the recorded response to a request, 0 for none.
func (s *Session) status(t uint32) int {
	carrier := s.script.triggers[t].carrier
	if r := s.script.triggers[carrier].response; carrier != 0 && r != nil {
		return r.Status
	}
	return 0
}

// A match is the recorded request found for a live one.
type match struct {
	trigger uint32
	fate    fate
	level   Match
	chain   bool // its inputResponses differ
}

// match returns the recorded request whose answer a live request gets.
func (s *Session) match(m *jsonrpc.Message, k *keyed) match {
	t, exact := s.take(k.variant(s.variant))
	if exact != fateNone && exact != fateUsed {
		return match{trigger: t, fate: exact}
	}
	if s.variant != "" {
		if t, fate := s.take(k.exact); t != 0 {
			return match{trigger: t, fate: fate}
		}
	}
	if t, fate := s.take(k.other()); t != 0 && !s.refused(t) {
		return match{trigger: t, fate: fate}
	}
	if k.chained {
		if t, fate := s.take(k.chain); t != 0 {
			return match{trigger: t, fate: fate, chain: true}
		}
	}
	level := s.script.opt.Match
	if level >= MatchParams {
		if t, fate := s.take(k.loose); t != 0 {
			return match{trigger: t, fate: fate, level: MatchParams}
		}
	}
	if level >= MatchSubset {
		if t, fate := s.subset(m, k); t != 0 {
			return match{trigger: t, fate: fate, level: MatchSubset}
		}
	}
	if level >= MatchMethod {
		for _, k := range []Key{k.near(), k.byMethod()} {
			if t, fate := s.take(k); t != 0 {
				return match{trigger: t, fate: fate, level: MatchMethod}
			}
		}
	}
	return match{fate: exact}
}

// subset returns a recorded request with the same method and subject whose params are a subset
// of those of the live request. It searches the next MaxNear unused requests, then the first
// MaxNear.
func (s *Session) subset(m *jsonrpc.Message, k *keyed) (uint32, fate) {
	q, cur := s.queue(k.near())
	if len(q) == 0 {
		return 0, fateNone
	}
	live := s.keyer.params(m)
	fits := func(t uint32) bool {
		x := &s.script.triggers[t]
		if x.modern != k.modern || !s.playable(t) {
			return false
		}
		r := jsonrpc.Peek(x.raw)
		recorded := s.keyer.params(&r)
		recorded.Remove(func(at jsontree.Path, _ jsontree.Value) bool { return len(at) == 1 }, "_meta")
		return contains(live, recorded)
	}
	s.skipUsed(q, cur)
	for _, t := range q[cur.had:min(len(q), cur.had+MaxNear)] {
		if !s.came(t) && fits(t) {
			return t, fateFresh
		}
	}
	if s.script.opt.Repeat == RepeatError {
		return 0, fateUsed
	}
	best := uint32(0)
	for _, t := range q[:min(len(q), MaxNear)] {
		if fits(t) {
			if best = t; s.script.opt.Repeat == RepeatLoop {
				break
			}
		}
	}
	return best, fateRepeat
}
