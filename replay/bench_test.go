package replay

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// calls returns the frames of a handshake and n different calls.
func calls(n int) []tap.Frame {
	frames := make([]tap.Frame, 0, 2*n+2)
	put := func(lane tap.Lane, text string, args ...any) {
		raw := fmt.Appendf(nil, text+"\n", args...)
		frames = append(frames, tap.Frame{Seq: uint64(len(frames) + 1), Lane: lane, Raw: raw, Size: int64(len(raw))})
	}
	put(tap.ToServer, `{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}},"jsonrpc":"2.0","id":"i"}`)
	put(tap.ToClient, `{"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}},"jsonrpc":"2.0","id":"i"}`)
	for i := range n {
		put(tap.ToServer, `{"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Oslo","day":%d,"units":"metric"},"_meta":{"progressToken":%d}},"jsonrpc":"2.0","id":%d}`, i, i, i)
		put(tap.ToClient, `{"result":{"content":[{"type":"text","text":"Day %d in Oslo: 15.5 degrees, partly cloudy, wind from the south-west"}]},"jsonrpc":"2.0","id":%d}`, i, i)
	}
	return frames
}

// build builds a script as package mock does.
func build(frames []tap.Frame) *Script {
	b := NewBuilder(Options{Pace: Instant})
	var tracker session.Tracker
	for i := range frames {
		b.Add(tracker.Add(&frames[i]), nil)
	}
	return b.Script()
}

// BenchmarkBuild measures building a script, per recorded call and including Peek.
// BenchmarkPeek measures Peek alone.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			frames := calls(n)
			b.ReportAllocs()
			for b.Loop() {
				build(frames)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/call")
		})
	}
}

func BenchmarkPeek(b *testing.B) {
	frames := calls(1000)
	for b.Loop() {
		for i := range frames {
			jsonrpc.Peek(frames[i].Raw)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*1000), "ns/call")
}

// BenchmarkAnswer measures the time from a request to its answer, which must not grow with the
// recording.
func BenchmarkAnswer(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			frames := calls(n)
			s := build(frames)
			x := s.NewSession()
			x.Attach(0, 1, Duplex)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				x.Receive(0, Input{Stream: 1, Raw: frames[2+i%n*2].Raw})
				if out, ok := x.Next(0); !ok || len(out.Raw) < 100 {
					b.Fatal(out, ok)
				}
				x.Notes()
			}
		})
	}
}

// BenchmarkOnce is BenchmarkAnswer for clients that send each recorded message once, with the
// same or other bytes.
func BenchmarkOnce(b *testing.B) {
	const n = 20_000
	frames := calls(n)
	s := build(frames)
	for name, front := range map[string]string{"in its bytes": "", "in others": " "} {
		b.Run(name, func(b *testing.B) {
			said := make([][]byte, n)
			for i := range said {
				said[i] = append([]byte(front), frames[2+i*2].Raw...)
			}
			var x *Session
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%n == 0 {
					x = s.NewSession()
					x.Attach(0, 1, Duplex)
					x.Receive(0, Input{Stream: 1, Raw: frames[0].Raw})
				}
				x.Receive(0, Input{Stream: 1, Raw: said[i%n]})
				if out, ok := x.Next(0); !ok || len(out.Raw) < 100 {
					b.Fatal(out, ok)
				}
				x.Notes()
			}
		})
	}
}

// BenchmarkMemory measures the memory of a script per call, including payloads.
func BenchmarkMemory(b *testing.B) {
	const n = 100_000
	frames := calls(n)
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := build(frames)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/n, "B/call")
		runtime.KeepAlive(s)
	}
}
