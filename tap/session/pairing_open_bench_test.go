package session

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// BenchmarkPairingOpen says what an open request costs to hold: B/open. Of more than
// [MaxOpen] all are counted on those that stay.
func BenchmarkPairingOpen(b *testing.B) {
	for _, c := range []struct{ name, request string }{
		{"small", `{"jsonrpc":"2.0","id":%d,"method":"x"}`},
		{"call", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get_weather","arguments":{"location":"New York"}}}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var t Pairing
			before := heapInUse()
			for i := range b.N {
				raw := fmt.Appendf(nil, c.request, i)
				m := jsonrpc.Peek(raw)
				t.Add(&tap.Frame{Seq: uint64(i + 1), Lane: tap.ToServer, Size: int64(len(raw))}, &m)
			}
			held := heapInUse() - before
			b.ReportMetric(float64(held)/float64(min(b.N, MaxOpen)), "B/open")
			runtime.KeepAlive(&t)
		})
	}
}

// heapInUse is how many bytes of the heap are reachable.
func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
