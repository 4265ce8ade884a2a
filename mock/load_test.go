package mock

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// Load returns errors in the frames.
func TestLoadErrors(t *testing.T) {
	broken := errors.New("page 7 is damaged")
	frames := lines(strings.Repeat(">{\"id\":1,\"method\":\"a\"}\n", 1000))
	_, err := Load(func(yield func(tap.Frame, error) bool) {
		each(frames)(yield)
		yield(tap.Frame{}, broken)
	}, replay.Options{})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	frames[500].Size++
	if _, err := Load(each(frames), replay.Options{}); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "frame 501") {
		t.Error(err)
	}
	rec, err := Load(each(nil), replay.Options{})
	if err != nil || rec.Requests() != 0 || rec.Steps() != 0 {
		t.Error(rec, err)
	}
}

// BenchmarkLoad measures the start of a mock, per recorded call. BenchmarkRead measures reading the
// envelopes of the frames alone.
func BenchmarkLoad(b *testing.B) {
	frames := benchFrames(50_000)
	for b.Loop() {
		if _, err := Load(each(frames), replay.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(frames)), "ns/frame")
}

func BenchmarkRead(b *testing.B) {
	frames := benchFrames(50_000)
	for b.Loop() {
		for i := range frames {
			jsonrpc.PeekFrame(&frames[i])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(frames)), "ns/frame")
}

func benchFrames(calls int) []tap.Frame {
	var text strings.Builder
	text.WriteString(`>{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}},"jsonrpc":"2.0","id":"i"}` + "\n")
	text.WriteString(`{"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}},"jsonrpc":"2.0","id":"i"}` + "\n")
	for i := range calls {
		fmt.Fprintf(&text, `>{"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Oslo","day":%d,"units":"metric"},"_meta":{"progressToken":%d}},"jsonrpc":"2.0","id":%d}`+"\n", i, i, i)
		fmt.Fprintf(&text, `{"result":{"content":[{"type":"text","text":"Day %d in Oslo: 15.5 degrees, partly cloudy, wind from the south-west"}]},"jsonrpc":"2.0","id":%d}`+"\n", i, i)
	}
	return lines(text.String())
}

// BenchmarkStdio measures a round trip over pipes. The sub-benchmark echo only reads and writes
// lines.
func BenchmarkStdio(b *testing.B) {
	frames := benchFrames(1000)
	rec, err := Load(each(frames), replay.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("mock", func(b *testing.B) {
		roundTrips(b, frames, func(in io.Reader, out io.Writer) {
			if _, err := Stdio(b.Context(), rec.Script, in, out, nil); err != nil {
				b.Error(err)
			}
		})
	})
	b.Run("echo", func(b *testing.B) { roundTrips(b, frames, echo) })
}
