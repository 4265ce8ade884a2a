package diff

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// TestMemoryDoesNotGrowWithContent reads sessions with few large calls: little is kept, and a
// comparison needs little more than one call.
func TestMemoryDoesNotGrowWithContent(t *testing.T) {
	const calls, size = 40, 1 << 20
	frame := func(seq uint64, last byte) tap.Frame {
		raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"f","arguments":{"n":%d}}}`, seq/2, seq/2)
		f := tap.Frame{Seq: seq, Lane: tap.ToServer}
		if seq%2 == 1 {
			f.Lane = tap.ToClient
			raw = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s%c"}]}}`, seq/2, strings.Repeat("word ", size/5), last)
		}
		f.Raw = []byte(raw)
		f.Size = int64(len(f.Raw))
		return f
	}
	read := func(last byte) *Session {
		s := reader{Session: NewSession("s", func(seq uint64) (tap.Frame, error) { return frame(seq, last), nil })}
		for seq := uint64(2); seq < 2*calls+2; seq++ {
			f := frame(seq, last)
			s.add(&f, false)
		}
		return s.end()
	}
	before := heap()
	a, b := read('a'), read('b')
	if grown := heap() - before; grown > 8*size {
		t.Errorf("two sessions of %d MB take %d KB", calls, grown>>10)
	}
	r, err := Compare(a, b, Options{})
	if err != nil || len(r.Differences) != 1 || r.Differences[0].Times != calls || len(r.Differences[0].Rows) == 0 {
		t.Fatalf("%v, %d differences", err, len(r.Differences))
	}
	if grown := heap() - before; grown > 16*size {
		t.Errorf("a report with one difference takes %d KB", grown>>10)
	}
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestFlood reads sessions whose servers write very many invalid frames: the same frames are not a
// difference, others are, and the number kept is bounded.
func TestFlood(t *testing.T) {
	read := func(lines int, last string) *Session {
		frame := func(seq uint64) tap.Frame {
			raw := "y\n"
			if seq == uint64(lines) {
				raw = last
			}
			return tap.Frame{Seq: seq, Lane: tap.ToClient, Raw: []byte(raw), Size: int64(len(raw))}
		}
		s := reader{Session: NewSession("s", func(seq uint64) (tap.Frame, error) { return frame(seq), nil })}
		for seq := uint64(1); seq <= uint64(lines); seq++ {
			f := frame(seq)
			s.add(&f, false)
		}
		return s.end()
	}
	const many = 3 * maxInvalid
	if n := len(read(many, "y\n").loose); n != maxInvalid {
		t.Errorf("kept %d frames", n)
	}
	for last, same := range map[string]bool{"y\n": true, "n\n": false} {
		r, err := Compare(read(many, "y\n"), read(many, last), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.AtLeast(Cosmetic) == 0; got != same {
			t.Errorf("the last line %q: the same %v, want %v", last, got, same)
		}
	}
}
