package replay

import (
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// MaxNear is with how many recorded requests one that fits none is compared at
// most, to find the nearest, and how many the relaxation subset looks at.
const MaxNear = 64

// An index finds triggers by what the client sent.
type index struct {
	// queues are the triggers of each key, in recorded order.
	queues map[key][]uint32
	// kinds are, for each method, the first triggers of the keys near, at most MaxNear of them.
	kinds map[string][]uint32
}

func (x *index) add(k key, t uint32) { x.queues[k] = append(x.queues[k], t) }

func (x *index) has(k key) bool { return len(x.queues[k]) > 0 }

func (x *index) addRequest(match Match, method string, k *keyed, variant string, t uint32) {
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
	if kinds := x.kinds[method]; len(x.queues[k.near()]) == 0 && len(kinds) < MaxNear {
		x.kinds[method] = append(kinds, t)
	}
	x.add(k.near(), t)
}

// A cursor says how far a session has used a queue up.
type cursor struct {
	// had is how many triggers at the head of the queue have been used.
	had int
	// loop is how many have been played again, with RepeatLoop.
	loop int
	// last is the trigger that was played last, held how often in a row it was played
	// in the place of the next.
	last uint32
	held uint8
}

// maxHeld is how often a poll gets the answer of the one before. Then the client
// goes another way than the recorded one, and must not wait for ever.
const maxHeld = 8

// queue returns the triggers of a key, and how far they are used up.
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
	fateFresh             // a trigger that has not been used
	fateAgain             // one that has, since all have
	fateHeld              // the one before, since it is too early for the next
	fateUsed              // all are used, and none may be used again
)

// take finds the next trigger of a key.
func (s *Session) take(k key) (uint32, fate) {
	q, cur := s.queue(k)
	if len(q) == 0 {
		return 0, fateNone
	}
	if t := s.skipUsed(q, cur); t != 0 {
		if s.early(t) && cur.last != 0 && cur.held < maxHeld {
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
	return t, fateAgain
}

// loop returns the next trigger of a key when all begin again with the first, 0 for none.
func (s *Session) loop(k key) uint32 {
	q, cur := s.queue(k)
	for range q {
		t := q[cur.loop%len(q)]
		if cur.loop++; s.playable(t) {
			return t
		}
	}
	return 0
}

// skipUsed moves a cursor to the first trigger that can still be played, which it returns,
// 0 for none.
func (s *Session) skipUsed(q []uint32, cur *cursor) uint32 {
	for ; cur.had < len(q); cur.had++ {
		if t := q[cur.had]; !s.came(t) && s.playable(t) {
			return t
		}
	}
	return 0
}

// playable reports whether a trigger can be played: one that the server refused in HTTP
// alone cannot, unless the message has come in HTTP.
func (s *Session) playable(n uint32) bool {
	t := &s.script.triggers[n]
	alone := t.kind == triggerRequest && t.answer == 0 && s.streams.hasDuplex && s.refused(n)
	return t.kind != triggerRefused && (!alone || s.script.inbound && s.stream != s.streams.duplex)
}

// refused reports whether a request was answered with a status of failure.
func (s *Session) refused(t uint32) bool {
	carrier := s.script.triggers[t].carrier
	return carrier != 0 && s.script.responses[s.script.triggers[carrier].response].Status >= 400
}

// early reports whether the answer to a poll supposes something that the client
// has not done yet.
func (s *Session) early(t uint32) bool {
	if !s.script.triggers[t].has(triggerPoll) {
		return false
	}
	need := s.script.needed[t]
	return need != 0 && !s.came(need)
}

// A match is what was found for a request.
type match struct {
	trigger uint32
	fate    fate
	level   Match
	// chain reports that it is another answer to what the server had asked for.
	chain bool
}

// match finds the recorded request that a live one gets the answer of.
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
		for _, k := range []key{k.near(), k.byMethod()} {
			if t, fate := s.take(k); t != 0 {
				return match{trigger: t, fate: fate, level: MatchMethod}
			}
		}
	}
	return match{fate: exact}
}

// subset finds a recorded request of the same method and subject all of whose
// params the live one has, among the next MaxNear that have not been used, and
// failing that among the first.
func (s *Session) subset(m *jsonrpc.Message, k *keyed) (uint32, fate) {
	q, cur := s.queue(k.near())
	if len(q) == 0 {
		return 0, fateNone
	}
	live := s.keyer.params(m)
	fits := func(t uint32) bool {
		if x := &s.script.triggers[t]; x.has(triggerModern) != k.modern || !s.playable(t) {
			return false
		}
		r, err := s.script.message(s.script.triggers[t].place)
		if err != nil {
			return false
		}
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
	return best, fateAgain
}

// message loads a recorded message.
func (s *Script) message(p place) (jsonrpc.Message, error) {
	raw, err := p.load(s.spool)
	if err != nil {
		return jsonrpc.Message{}, err
	}
	return jsonrpc.Peek(raw), nil
}

// names returns the method of a recorded message and what it is about, "" if it cannot be
// loaded.
func (s *Script) names(p place) (method, subject string) {
	m, err := s.message(p)
	if err != nil {
		return "", ""
	}
	return m.Method, jsonrpc.Subject(m)
}
