package load

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// A recording with too many requests for memory is refused, with a hint.
func TestDiffOfTooManyRequests(t *testing.T) {
	r := &sessionReader{Recording: &Recording{Name: "x"}, made: map[int]*diff.Session{}, held: FrameCache{first: map[uint64]tap.Frame{}}, requests: maxDiffRequests - 2}
	raw := []byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`)
	f := tap.Frame{Seq: 1, Lane: tap.ToServer, Raw: raw, Size: int64(len(raw))}
	if err := r.add(&f); err != nil {
		t.Fatal(err)
	}
	f.Seq++
	if err := r.add(&f); err == nil || !strings.Contains(err.Error(), "more than 400000 requests") {
		t.Error(err)
	}
}

// TestSessionsFindTheirCounterparts checks that clients of one server may come in any order.
func TestSessionsFindTheirCounterparts(t *testing.T) {
	sessions := func(clients string) (all []*diff.Session) {
		for i, name := range strings.Fields(clients) {
			s := diff.NewSession(name+strconv.Itoa(i), nil)
			raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":%q,"version":"1"}}}`, name)
			var tracker session.Tracker
			s.Add(tracker.Add(&tap.Frame{Seq: 1, Lane: tap.ToServer, Raw: raw, Size: int64(len(raw))}), false)
			s.End()
			all = append(all, s)
		}
		return all
	}
	for _, c := range []struct{ a, b, want string }{
		{"x y", "y x", "x0-x1 y1-y0"},
		{"x x", "x x", "x0-x0 x1-x1"},
		{"x y z", "z q", "x0-q1 y1- z2-z0"},
		{"x", "q x y", "x0-x1 -q0 -y2"},
		{"old", "new", "old0-new0"},
		{"", "x", "-x0"},
	} {
		as := sessions(c.a)
		others, alone := matched(as, sessions(c.b))
		var got []string
		for i, a := range as {
			name := a.Name() + "-"
			if others[i] != nil {
				name += others[i].Name()
			}
			got = append(got, name)
		}
		for _, b := range alone {
			got = append(got, "-"+b.Name())
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s and %s: %s, want %s", c.a, c.b, s, c.want)
		}
	}
}
