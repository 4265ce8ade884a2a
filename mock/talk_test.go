package mock

import (
	"slices"
	"strconv"
	"testing"

	"github.com/mcptap/mcptap/replay"
)

// Of many streams the newest can be resumed, and those that are not over, whose place
// among them does not change.
func TestForgetsTheOldestStreams(t *testing.T) {
	k := &talk{streams: map[replay.Stream]*stream{}, named: map[string]*stream{}, times: map[string]int{}}
	open := []int{0, 5, 6}
	const many = 3 * maxNamed
	for i := range many {
		x := k.open(strconv.Itoa(i), formEvents)
		k.kept += x.put(replay.Output{Raw: []byte("{}")})
		x.over = !slices.Contains(open, i)
		x.reading = i == 9
	}
	want := append(slices.Clone(open), 9)
	for i := many - maxNamed + len(want); i < many; i++ {
		want = append(want, i)
	}
	var got []int
	kept := 0
	for _, x := range k.order {
		n, _ := strconv.Atoi(x.name)
		got = append(got, n)
		if k.named[x.name] != x {
			t.Errorf("%s cannot be resumed", x.name)
		}
		for _, e := range x.events {
			kept += len(e.data)
		}
	}
	if !slices.Equal(got, want) || len(k.named) != len(want) {
		t.Errorf("%d streams %v, %d by name, want %d %v", len(got), got[:8], len(k.named), len(want), want[:8])
	}
	if k.kept != kept {
		t.Errorf("%d bytes are kept, want %d", k.kept, kept)
	}
}
