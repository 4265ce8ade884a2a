package mock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// What is beyond the memory of a spool is in a file, and reads the same.
func TestSpool(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	r := rand.New(rand.NewPCG(1, 1))
	s := newSpool()
	if n, err := s.ReadAt(make([]byte, 10), 0); n != 0 || err != io.EOF {
		t.Error(n, err)
	}
	var all []byte
	for len(all) < 2*maxInMemory {
		p := bytes.Repeat([]byte{byte(len(all))}, r.IntN(maxInMemory/7))
		if n, err := s.Write(p); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
		all = append(all, p...)
	}
	if err := s.full(); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		from := r.IntN(len(all) + 1)
		p := make([]byte, r.IntN(min(len(all)-from, 1<<16)+1))
		if n, err := s.ReadAt(p, int64(from)); n != len(p) || err != nil || !bytes.Equal(p, all[from:from+n]) {
			t.Fatalf("%d bytes at %d of %d: %d, %v", len(p), from, len(all), n, err)
		}
	}
	if info, err := s.file.Stat(); err != nil || info.Size() != int64(len(all)-maxInMemory) {
		t.Errorf("%d bytes of %d are in the file: %v", info.Size(), len(all), err)
	}
	if n, err := s.ReadAt(make([]byte, 10), int64(len(all)-5)); n != 5 || err != io.EOF {
		t.Error(n, err)
	}
	if _, err := s.ReadAt(make([]byte, 10), -1); err == nil {
		t.Error("no error")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// A recording larger than the memory of the spool plays the same.
func TestLoadLarge(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	frames := benchFrames(maxInMemory / 300)
	eof := tap.Event{Name: tap.EventEOF, Lane: tap.ToServer.String()}.Encode()
	frames = append(frames, tap.Frame{Seq: uint64(len(frames) + 1), At: time.Hour, Raw: eof, Lane: tap.Lifecycle, Size: int64(len(eof))})
	rec, err := Load(each(frames), replay.Options{Pace: replay.Instant})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	if rec.spool.file == nil {
		t.Error("all is in memory")
	}
	if got, err := play(frames, rec, nil); err != nil || !bytes.Equal(got, serverHalf(frames)) {
		t.Errorf("%v, %d bytes", err, len(got))
	}
}

// What is wrong with the frames, or with the place for them, is said.
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
	frames[500].Size--
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	if _, err := Load(each(benchFrames(maxInMemory/200)), replay.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	rec, err := Load(each(nil), replay.Options{})
	if err != nil || rec.Requests() != 0 || rec.Steps() != 0 {
		t.Error(rec, err)
	}
}

// BenchmarkLoad is the start of a mock: a million recorded calls take as long as
// this says for each. BenchmarkRead is what reading the frames' envelopes costs
// alone.
func BenchmarkLoad(b *testing.B) {
	frames := benchFrames(50_000)
	for b.Loop() {
		rec, err := Load(each(frames), replay.Options{})
		if err != nil {
			b.Fatal(err)
		}
		rec.Close()
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

// BenchmarkStdio is a round trip over pipes; the sub-benchmark echo is one that only
// reads a line and writes one.
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
