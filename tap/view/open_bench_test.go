package view

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// BenchmarkOpen measures the memory of an open request, as B/open.
func BenchmarkOpen(b *testing.B) {
	for _, outline := range []bool{false, true} {
		b.Run(fmt.Sprintf("outline=%t", outline), func(b *testing.B) {
			b.ReportAllocs()
			x, o := &session.Tracker{}, NewOutline()
			before := heapInUse()
			for i := range b.N {
				raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"x"}`, i)
				r := x.Add(&tap.Frame{Seq: uint64(i + 1), Lane: tap.ToServer, Size: int64(len(raw)), Raw: raw})
				if outline {
					o.Add(r)
				}
			}
			held := heapInUse() - before
			b.ReportMetric(float64(held)/float64(min(b.N, session.MaxOpen)), "B/open")
			runtime.KeepAlive(x)
			runtime.KeepAlive(o)
		})
	}
}

// heapInUse returns the number of reachable bytes of the heap.
func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
