package redact

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The automaton finds the same as a search for each word.
func TestAutomaton(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	random := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "abAB\x00\xff-"[rnd.IntN(7)]
		}
		return string(b)
	}
	for range 200 {
		var words []string
		for range 1 + rnd.IntN(8) {
			if w := random(1 + rnd.IntN(4)); !slices.ContainsFunc(words, func(o string) bool { return strings.EqualFold(o, w) }) {
				words = append(words, w)
			}
		}
		text := []byte(random(60))
		var got, want []string
		a := newAutomaton(words)
		a.each(text, func(w int32, start, end int) { got = append(got, fmt.Sprint(words[w], start, end)) })
		small := func(s []byte) []byte {
			out := bytes.Clone(s)
			for i := range out {
				out[i] = fold(out[i])
			}
			return out
		}
		for _, w := range words {
			for i := 0; i+len(w) <= len(text); i++ {
				if bytes.Equal(small(text[i:i+len(w)]), small([]byte(w))) {
					want = append(want, fmt.Sprint(w, i, i+len(w)))
				}
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || a.any(text) != (len(want) > 0) {
			t.Fatalf("%q in %q: %q, want %q", words, text, got, want)
		}
	}
	all := make([]string, 256) // every byte
	for i := range all {
		all[i] = string([]byte{byte(i), 'x'})
	}
	newAutomaton(all).each([]byte("zzqx"), func(w int32, start, _ int) {
		if fold(all[w][0]) != 'q' || start != 2 {
			t.Errorf("%q at %d", all[w], start)
		}
	})
}
