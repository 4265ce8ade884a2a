package store

import (
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// What takes less is what most batches are; both kinds are tried first, and the
// other one is looked at again.
func TestThrift(t *testing.T) {
	const n = commitBytes
	const looks = 10 + 6 // after 1, 2, 4, 8, 16, 32 of the first 64
	for _, c := range []struct {
		name                string
		squeezed, asTheyAre time.Duration // a batch
		plain               int           // of 10 rounds of relook batches
	}{
		{"the disk is slow", 2 * time.Millisecond, 9 * time.Millisecond, looks},
		{"the bytes do not shrink", 9 * time.Millisecond, 2 * time.Millisecond, 10*relook - looks},
		{"it is much the same", 9 * time.Millisecond, 8500 * time.Microsecond, looks},
	} {
		t.Run(c.name, func(t *testing.T) {
			var th thrift
			batch := func() bool {
				p := th.plain()
				d := c.squeezed
				if p {
					d = c.asTheyAre
				}
				th.took(p, d, n)
				return p
			}
			if batch() || !batch() {
				t.Fatal("the first two batches are not one of each kind, compressed first")
			}
			th.asked = 0
			plain := 0
			for range 10 * relook {
				if batch() {
					plain++
				}
			}
			if plain != c.plain {
				t.Errorf("%d of %d batches are not compressed, want %d", plain, 10*relook, c.plain)
			}
			// It turns round, if there is much in it.
			c.squeezed, c.asTheyAre = c.asTheyAre, c.squeezed
			for range 20 * relook {
				batch()
			}
			want := th.cost[1] < clearly*th.cost[0]
			if th.asked = relook; th.plain() != want {
				t.Errorf("after hundreds of batches at costs of %v the next is compressed: %v", th.cost, want)
			}
		})
	}
}

// The first batch of a kind may take longer than such batches do, and so does one that
// the disk holds up. Neither settles anything for long.
func TestThriftForgetsSlowBatches(t *testing.T) {
	const slow = 10
	for plainIsBetter, cost := range map[bool][2]time.Duration{true: {9 * time.Millisecond, 6 * time.Millisecond}, false: {6 * time.Millisecond, 9 * time.Millisecond}} {
		var th thrift
		for range 2 * relook {
			p := th.plain()
			d := cost[0]
			if p {
				d = cost[1]
			}
			if p == plainIsBetter && th.asked <= 2 {
				d *= slow
			}
			th.took(p, d, commitBytes)
		}
		if th.asked = relook; th.plain() != plainIsBetter {
			t.Errorf("a slow beginning: costs %v, the next is not compressed: %v", th.cost, !plainIsBetter)
		}
		th.took(plainIsBetter, 2*cost[0], commitBytes) // once
		if th.asked = relook; th.plain() != plainIsBetter {
			t.Errorf("a slow batch: costs %v, the next is not compressed: %v", th.cost, !plainIsBetter)
		}
	}
}

// What comes while nothing piles up is compressed, and says nothing about what takes
// long: the writer waits for it.
func TestThriftIsForWhatPilesUp(t *testing.T) {
	e := newEncoder()
	for range 3 {
		e.r.q.room(tap.ToServer)[0] = 'x'
		e.r.q.record(tap.ToServer, 1)
		e.free <- new(job)
		e.step()
		j := <-e.jobs
		e.r.q.commit(j.entries)
		e.free <- j
		e.r.q.room(tap.ToServer)[0] = 'x'
		e.r.q.record(tap.ToServer, 1)
		e.step()
		j = <-e.jobs
		if e.r.q.commit(j.entries); j.plain || e.thrift.cost != [2]float64{} || e.thrift.asked != 0 {
			t.Fatalf("plain %v, %+v", j.plain, e.thrift)
		}
	}
}

// Chunks of a byte fill a batch with little of the traffic. What such batches take
// counts as well: otherwise the first kind would stay, whatever it costs.
func TestThriftLearnsFromTinyChunks(t *testing.T) {
	e := newEncoder()
	fill := func() {
		for range ringEntries - ringReserve {
			e.r.q.room(tap.ToServer)[0] = 'x'
			e.r.q.record(tap.ToServer, 1)
		}
	}
	j := new(job)
	for want := range 2 {
		fill()
		e.free <- j
		e.step()
		j = <-e.jobs
		if j.plain != (want == 1) {
			t.Fatalf("batch %d is not compressed: %v", want+1, j.plain)
		}
		for e.r.q.commit(j.entries); ; e.r.q.commit(j.entries) {
			if j.entries, _ = e.r.q.pull(j.entries[:0], commitBytes); len(j.entries) == 0 {
				break
			}
		}
	}
}
