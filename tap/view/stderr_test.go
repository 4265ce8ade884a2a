package view

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// The lines of stderr around a match are those within a second before and after it, and
// those that were written while its request was open.
func TestNearby(t *testing.T) {
	n := newNearby()
	var shown []uint64
	tracker := &session.Tracker{}
	seq := uint64(0)
	add := func(at time.Duration, lane tap.Lane, raw string, matches bool) {
		seq++
		r := tracker.Add(&tap.Frame{Seq: seq, At: at, Lane: lane, Raw: []byte(raw), Size: int64(len(raw))})
		for _, l := range n.add(r, matches) {
			shown = append(shown, l.Part.Message.Seq)
		}
	}
	const s = time.Second
	request := func(id int) string { return fmt.Sprintf(`{"id":%d,"method":"ping"}`, id) }
	response := func(id int) string { return fmt.Sprintf(`{"id":%d,"result":{}}`, id) }
	add(1*s, tap.Stderr, "too early", false)
	add(9*s+s/2, tap.Stderr, "before", false)
	add(10*s, tap.ToServer, request(1), true)
	add(15*s, tap.Stderr, "while it is open", false)
	add(16*s, tap.ToServer, request(2), false)
	add(20*s, tap.ToClient, response(1), false)
	add(21*s, tap.Stderr, "right after the end", false)
	add(21*s+1, tap.Stderr, "later", false)
	add(30*s, tap.ToClient, response(2), true) // only the response
	add(31*s, tap.Stderr, "after the response", false)
	add(40*s, tap.Stderr, "matches itself", true)
	add(40*s+1, tap.Stderr, "next to it", false)
	if want := []uint64{2, 4, 7, 10}; !slices.Equal(shown, want) {
		t.Errorf("shown %v, want %v", shown, want)
	}
	for i := range 100 {
		add(50*s+time.Duration(i), tap.Stderr, "many", false)
	}
	if len(n.held.rows) != nearRows || len(n.open) != 0 {
		t.Errorf("%d lines and %d requests are held", len(n.held.rows), len(n.open))
	}
}

func TestLastOf(t *testing.T) {
	held := lastOf{max: callRows}
	for i := range 2 * callRows {
		held.add(Row{Part: session.Part{At: time.Duration(i)}})
	}
	if len(held.rows) != callRows {
		t.Errorf("%d lines are held", len(held.rows))
	}
	first := time.Duration(callRows)
	if got := held.take(0, first+9); len(got) != 10 || got[0].Part.At != first {
		t.Errorf("%d lines", len(got))
	}
	if got := held.take(0, first+9); len(got) != 0 { // each is taken once
		t.Errorf("%d lines were taken twice", len(got))
	}
}
