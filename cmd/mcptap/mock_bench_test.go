package main

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/mock"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// benchCalls is the number of calls; a call is two frames.
const benchCalls = 500_000

// benchCall is the request of a recorded call.
func benchCall(i int) string {
	return fmt.Sprintf(`{"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Oslo","day":%d,"units":"metric"},"_meta":{"progressToken":%d}},"jsonrpc":"2.0","id":%d}`+"\n", i, i, i)
}

// benchFile makes a recording of a million frames.
func benchFile(b *testing.B) (path string, frames int) {
	path = filepath.Join(b.TempDir(), "bench"+store.Ext)
	w, err := store.NewWriter(path, tap.Header{ID: "00000000", Label: "bench", Start: time.Unix(0, 0), Transport: "stdio"})
	if err != nil {
		b.Fatal(err)
	}
	seq := uint64(0)
	add := func(lane tap.Lane, text string) {
		seq++
		if err := w.Add(tap.Frame{Seq: seq, At: time.Duration(seq), Lane: lane, Raw: []byte(text), Size: int64(len(text))}); err != nil {
			b.Fatal(err)
		}
	}
	add(tap.ToServer, `{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}},"jsonrpc":"2.0","id":"i"}`+"\n")
	add(tap.ToClient, `{"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}},"jsonrpc":"2.0","id":"i"}`+"\n")
	text := strings.Repeat("Partly cloudy, wind from the south-west. ", 5)
	for i := range benchCalls {
		add(tap.ToServer, benchCall(i))
		add(tap.ToClient, fmt.Sprintf(`{"result":{"content":[{"type":"text","text":"Day %d in Oslo: 15.5 degrees. %s"}]},"jsonrpc":"2.0","id":%d}`+"\n", i, text, i))
	}
	if err := w.Close(store.End{At: time.Duration(seq)}); err != nil {
		b.Fatal(err)
	}
	return path, int(seq)
}

// BenchmarkMockStart compares the start of a mock with a bare scan of the same file of a million frames,
// which reads all of them without parsing. x-scan is the ratio to the scan.
func BenchmarkMockStart(b *testing.B) {
	path, frames := benchFile(b)
	var scan float64
	report := func(b *testing.B) float64 {
		each := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
		b.ReportMetric(each/float64(frames), "ns/frame")
		if scan > 0 {
			b.ReportMetric(each/scan, "x-scan")
		}
		return each
	}
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			bareScan(b, path)
		}
		scan = report(b)
	})
	b.Run("load", func(b *testing.B) {
		heap := uint64(0)
		for b.Loop() {
			rec, err := mock.Load(recording.Frames(b.Context(), path), replay.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			var stats runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&stats)
			heap = stats.HeapAlloc
			runtime.KeepAlive(rec)
			b.StartTimer()
		}
		b.ReportMetric(float64(heap)/float64(frames), "heap-B/frame")
		report(b)
	})
}

// bareScan reads all frames.
func bareScan(b *testing.B, path string) {
	rec, err := store.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	rec.SetMaxRaw(math.MaxInt64)
	for _, err := range rec.Frames(0) {
		if err != nil {
			b.Fatal(err)
		}
	}
}
