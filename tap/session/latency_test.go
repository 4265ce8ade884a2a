package session

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// A quantile is the nearest rank, also after a merge.
func TestLatencyQuantiles(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 101, 1000} {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		var l, left, right Latencies
		var all []time.Duration
		for range n {
			d := time.Duration(rng.Uint64() >> (1 + rng.UintN(63)))
			all = append(all, d)
			l.Add(d)
			if rng.IntN(3) == 0 {
				left.Add(d)
			} else {
				right.Add(d)
			}
			l.Max() // reading it changes nothing
		}
		slices.Sort(all)
		left.Merge(&right)
		for _, l := range []*Latencies{&l, &left} {
			if l.Min() != all[0] || l.Max() != all[n-1] || l.Count() != uint64(n) {
				t.Fatalf("%d: min %v, max %v, count %d", n, l.Min(), l.Max(), l.Count())
			}
			for _, p := range []int{0, 1, 10, 100, 250, 500, 750, 900, 950, 990, 999, 1000} {
				rank := (n*p + 999) / 1000
				if got, want := l.Quantile(p), all[max(rank, 1)-1]; got != want {
					t.Errorf("%d: %d of a thousand: %v, want %v", n, p, got, want)
				}
			}
			if got, want := l.Below(all[n/2]), slices.Index(all, all[n/2]); got != uint64(want) {
				t.Errorf("%d: %d below %v, want %d", n, got, all[n/2], want)
			}
		}
	}
	var none Latencies
	if none.Min() != 0 || none.Max() != 0 || none.Quantile(500) != 0 || none.Below(1) != 0 {
		t.Errorf("%+v", none)
	}
}

// TestClientHangsUp checks that in the legacy era a call stops waiting when its client hangs up,
// even if the recording continues.
func TestClientHangsUp(t *testing.T) {
	var frames []tap.Frame
	for i, f := range []tap.Frame{
		{Raw: tap.Event{Name: tap.EventRequest, Conn: 1, Proto: "HTTP/1.1", Method: "POST", Target: "/mcp"}.Encode()},
		{Lane: tap.ToServer, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}`)},
		{Raw: tap.Event{Name: tap.EventHangUp, By: "client"}.Encode()},
	} {
		f.Seq, f.At, f.Size, f.Exchange = uint64(i+1), time.Duration(i)*time.Second, int64(len(f.Raw)), 1
		frames = append(frames, f)
	}
	survey, stats := NewSurvey(true), NewStats("", 10)
	meter := NewMeter(stats, 0)
	for i := range frames {
		survey.Add(&frames[i])
		meter.Add(&frames[i])
	}
	survey.End(time.Hour)
	meter.Finish(time.Hour)
	tracker := Tracker{Survey: survey}
	tracker.Add(&frames[0])
	if parts := tracker.Add(&frames[1]).Parts; len(parts) != 1 || parts[0].Waited != time.Second {
		t.Errorf("parts: %+v", parts)
	}
	if calls := stats.Waiting(); len(calls) != 1 || calls[0].Took != time.Second || calls[0].StreamEnd.By != "client" {
		t.Errorf("waiting: %+v", calls)
	}
}
