package replay

// A queue is the cues with one key, in recorded order.
type queue struct{ first, last uint32 }

// A table finds the queue of a key. The cues of a queue are chained by their
// numbers.
type table struct {
	queues map[key]queue
	next   []uint32
}

func (t *table) add(k key, c uint32) (first bool) {
	if t.queues == nil {
		t.queues = map[key]queue{}
	}
	for uint32(len(t.next)) <= c {
		t.next = append(t.next, 0)
	}
	q, ok := t.queues[k]
	if ok {
		t.next[q.last] = c
	} else {
		q.first = c
	}
	q.last = c
	t.queues[k] = q
	return !ok
}

// MaxNear is with how many recorded requests one that fits none is compared at
// most, to find the nearest, and how many the relaxation subset looks at.
const MaxNear = 64

// A lookup finds cues by what the client sent.
type lookup struct {
	// exact has requests, notifications and what is no message by their keys,
	// chain the requests that bring input, other those whose head says more than the
	// message does, by the message alone (see Head.Variant).
	exact, chain, other table
	// bare has the requests of HTTP without a message.
	bare table
	// loose is for the relaxation params, method for the one of that name; both
	// are empty unless they are allowed.
	loose, method table
	// near has the requests by method and subject; notes the notifications by
	// method.
	near, notes table
	// kinds are, for each method, the first cues of its queues in near, at most
	// MaxNear of them.
	kinds map[string][]uint32
}

func (l *lookup) addRequest(match Match, method string, k *keyed, variant key, c uint32) {
	l.exact.add(variant, c)
	if variant != k.exact {
		l.other.add(k.exact, c)
	}
	if k.chained {
		l.chain.add(k.chain, c)
	}
	if match >= MatchParams {
		l.loose.add(k.loose, c)
	}
	if match >= MatchMethod {
		l.method.add(k.method, c)
	}
	if l.near.add(k.near, c) {
		if l.kinds == nil {
			l.kinds = map[string][]uint32{}
		}
		if kinds := l.kinds[method]; len(kinds) < MaxNear {
			l.kinds[method] = append(kinds, c)
		}
	}
}

func (l *lookup) addNotification(k *keyed, c uint32) {
	l.exact.add(k.exact, c)
	l.notes.add(k.method, c)
}
