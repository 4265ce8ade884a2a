package store

import (
	"testing"
	"time"
)

// What takes less is what most batches are; both kinds are tried first, and the
// other one is looked at again.
func TestThrift(t *testing.T) {
	const n = commitBytes
	for _, c := range []struct {
		name                string
		squeezed, asTheyAre time.Duration // a batch
		plain               int           // of 10 rounds of relook batches
	}{
		{"the disk is slow", 2 * time.Millisecond, 9 * time.Millisecond, 10},
		{"the bytes do not shrink", 9 * time.Millisecond, 2 * time.Millisecond, 10*relook - 10},
		{"it is much the same", 9 * time.Millisecond, 8 * time.Millisecond, 10},
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
			if th.asked = 0; th.plain() != want {
				t.Errorf("after hundreds of batches at costs of %v the next is compressed: %v", th.cost, want)
			}
		})
	}
}

// A small batch says nothing about what a byte takes.
func TestThriftPassesOverSmallBatches(t *testing.T) {
	var th thrift
	th.took(false, time.Second, 100)
	if th.cost != [2]float64{} {
		t.Errorf("costs %v", th.cost)
	}
}
