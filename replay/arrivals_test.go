package replay

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"
)

func TestArrivals(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		var a arrivals
		want := map[uint32]arrival{}
		at := uint32(0)
		for i := range 2000 {
			if at++; r.IntN(20) == 0 {
				at = r.Uint32N(3000)
			}
			how, ok := a.of(at)
			if was, came := want[at]; came != ok || was != how || a.come(at) != came {
				t.Fatalf("seed %d: cue %d: %v %v, want %v %v", seed, at, how, ok, was, came)
			}
			if !ok {
				want[at] = arrival{uint64(i), time.Duration(i)}
				a.add(at, want[at])
			}
		}
		got := map[uint32]arrival{}
		for c := range a.all() {
			got[c], _ = a.of(c)
		}
		if !maps.Equal(got, want) || a.n != len(want) {
			t.Errorf("seed %d: %d have come, all are %d, want %d", seed, a.n, len(got), len(want))
		}
		for range a.all() {
			break // which stops it
		}
	}
}
