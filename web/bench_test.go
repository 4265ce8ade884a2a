package web

import (
	"encoding/json"
	"testing"
)

// BenchmarkGather measures how a view converts frames to messages, per frame.
func BenchmarkGather(b *testing.B) {
	for _, o := range []viewOptions{{}, {Calls: true, Filter: "is:error"}, {Filter: "needle"}} {
		b.Run(o.Filter, func(b *testing.B) {
			frames := busy(10_000)
			b.ReportAllocs()
			for b.Loop() {
				g, err := newGatherer(o, &seen{})
				if err != nil {
					b.Fatal(err)
				}
				for i := range frames {
					g.add(&frames[i])
					for g.pending() >= maxRows {
						rows, updates := g.take(maxRows)
						if _, err := json.Marshal(message{Rows: rows, Updates: updates}); err != nil {
							b.Fatal(err)
						}
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(frames)), "ns/frame")
		})
	}
}
