package store

import "time"

// A thrift settles whether a batch is compressed while more piles up than the
// writer keeps up with. Compressing takes the processor, which the traffic wants
// as well, and saves work for whoever copies the bytes to the disk and for the
// disk itself. What that is worth depends on all three and on the bytes, so it
// is measured: how long the slower half of the writer had of a byte, in batches of
// either kind. Where that is about the same, the kind stays: batches that take
// turns keep the disk and the processor waiting for each other.
type thrift struct {
	cost  [2]float64 // nanoseconds a byte, smoothed: compressed, as they are; 0: unknown
	now   int        // the kind of most batches, an index of cost
	asked int
}

// clearly is what part of the other kind's cost a kind's must be for a change.
const clearly = 0.9

// relook is after how many batches one of the other kind is made, to see what
// that takes by now. At first it is made more often: the beginning is slow, and
// one measure is none.
const relook = 64

// looks reports whether it is time for a batch of the other kind.
func (t *thrift) looks() bool {
	return t.asked%relook == 0 || t.asked < relook && t.asked&(t.asked-1) == 0
}

// plain reports whether the next batch is better not compressed.
func (t *thrift) plain() bool {
	t.asked++
	if t.cost[0] == 0 || t.cost[1] == 0 {
		return t.cost[0] != 0
	}
	if other := 1 - t.now; t.cost[other] < clearly*t.cost[t.now] {
		t.now = other
	}
	return (t.now == 1) != t.looks()
}

// took says how long the slower half had of a batch of n bytes of the queue, which
// plain decided on.
func (t *thrift) took(plain bool, d time.Duration, n int) {
	c := &t.cost[0]
	if plain {
		c = &t.cost[1]
	}
	now := float64(d) / float64(n)
	if *c == 0 {
		*c = now
	}
	// The disk makes some take longer than such batches do, but none shorter.
	if now < *c {
		*c += (now - *c) / 2
	} else {
		*c += (now - *c) / 8
	}
}
