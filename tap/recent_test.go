package tap

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A recent knows what a list of all that was ever put knows of its last words.
func TestRecent(t *testing.T) {
	for _, words := range []int{1, 2, 40, PairerMemory - 1, PairerMemory + 1, 5 * PairerMemory} {
		var x recent[int]
		if x.get([]byte("w0")) != nil || x.get(nil) != nil {
			t.Fatal("it knows a word that was never put")
		}
		rng := rand.New(rand.NewPCG(uint64(words), 1))
		var put []string
		last := map[string]int{}
		for i := range 6 * PairerMemory {
			word := fmt.Sprint("w", rng.IntN(words))
			put, last[word] = append(put, word), i
			x.put(word, i)
			for range 3 {
				word := fmt.Sprint("w", rng.IntN(words+2))
				at, known := last[word]
				known = known && at >= len(put)-PairerMemory
				if got := x.get([]byte(word)); (got != nil) != known || known && *got != at {
					t.Fatalf("of %d words, after %d: %s is known: %v, want %v %d", words, i+1, word, got != nil, known, at)
				}
			}
		}
		if len(x.slots) != PairerMemory || len(x.heads) != PairerMemory {
			t.Errorf("%d slots, %d chains", len(x.slots), len(x.heads))
		}
	}
}

// What is remembered can be changed where it is.
func TestRecentChange(t *testing.T) {
	var x recent[tie]
	x.put("a", tie{})
	x.get([]byte("a")).late = true
	if x.put("b", tie{}); !x.get([]byte("a")).late || x.get([]byte("b")).late {
		t.Error("the change is lost")
	}
	if x.put("a", tie{}); x.get([]byte("a")).late {
		t.Error("what was put before counts")
	}
}
