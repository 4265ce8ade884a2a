package stats

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap/session"
)

func TestHistogram(t *testing.T) {
	add := func(all ...time.Duration) *session.Latencies {
		var l session.Latencies
		for _, d := range all {
			l.Add(d)
		}
		return &l
	}
	for _, c := range []struct {
		name string
		l    *session.Latencies
		want string
	}{
		{"none", add(), ""},
		{"one", add(3 * time.Millisecond), "2ms – 5ms 1"},
		{"zero", add(0), "0µs – 1µs 1"},
		{"on a limit", add(2 * time.Millisecond), "2ms – 5ms 1"},
		{"a few", add(900*time.Microsecond, 1500*time.Microsecond, 1600*time.Microsecond, 30*time.Millisecond), "500µs – 1ms 1, 1ms – 2ms 2, 2ms – 5ms 0, 5ms – 10ms 0, 10ms – 20ms 0, 20ms – 50ms 1"},
		{"wide", add(10, 50*time.Second), "0µs – 1µs 1, 1µs – 10µs 0, 10µs – 100µs 0, 100µs – 1ms 0, 1ms – 10ms 0, 10ms – 100ms 0, 100ms – 1s 0, 1s – 10s 0, 10s – 100s 1"},
		{"beyond all bins", add(time.Hour, 1<<62), "2000s – 5000s 1, 5000s – 10000s 0, 10000s – 20000s 0, 20000s – 50000s 0, 50000s – 100000s 0, 100000s – 200000s 0, 200000s – 500000s 0, 500000s – 1000000s 0, 1000000s – 2000000s 0, 2000000s – 5000000s 1"},
	} {
		h := newHistogram(c.l)
		var got []string
		for i, n := range h.counts {
			got = append(got, fmt.Sprintf("%s %d", h.label(i), n))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.name, s, c.want)
		}
	}
}

func TestBars(t *testing.T) {
	for _, c := range []struct {
		n, whole uint64
		width    int
		want     string
	}{
		{0, 10, 8, ""}, {0, 0, 8, ""}, {10, 10, 4, "████"}, {5, 10, 4, "██"}, {1, 1_000_000, 4, "▏"}, {3, 16, 1, "▎"}, {15, 16, 2, "█▉"},
		{1 << 63, 1 << 63, 2, "██"},
	} {
		if got := bar(c.n, c.whole, c.width); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.n, c.whole, got, c.want)
		}
	}
	var all, some session.Latencies
	for i := range 100 {
		all.Add(time.Duration(i+1) * time.Millisecond)
	}
	some.Add(3 * time.Millisecond)
	some.Add(70 * time.Millisecond)
	some.Add(71 * time.Millisecond)
	h := newHistogram(&all)
	if got := h.spark(&all); got != "▁▁▂▂▅█▁" {
		t.Errorf("all: %q", got)
	}
	if got := h.spark(&some); got != " ▅   █" {
		t.Errorf("some: %q", got)
	}
	if got := h.spark(new(session.Latencies)); got != "" {
		t.Errorf("none: %q", got)
	}
}

// TestCallState checks that the state includes why there is no response, if known.
func TestCallState(t *testing.T) {
	for want, c := range map[string]session.StatsCall{
		"":                               {State: session.StateDone, Status: session.CallDone},
		"too late":                       {State: session.StateTooLate, Status: session.CallDone, StreamEnd: session.StreamEnd{By: "client"}},
		"unanswered":                     {State: session.StateUnanswered},
		"unanswered, the client hung up": {State: session.StateUnanswered, StreamEnd: session.StreamEnd{By: "client"}},
		"lost, the stream ended":         {State: session.StateLost, StreamEnd: session.StreamEnd{By: "server"}},
		"failed, within #4":              {State: session.StateFailed, Status: session.CallToolError, Parent: session.Ref{Seq: 4}},
	} {
		if got := callState(&c); got != want {
			t.Errorf("state %q, want %q", got, want)
		}
	}
}
