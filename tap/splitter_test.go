package tap

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// split passes chunks through a splitter and returns the pieces and how each ended; bytes
// left without an end are the last piece, with CutNone.
func split(chunks [][]byte) (pieces [][]byte, cuts []Cut) {
	var s Splitter
	var held []byte
	for _, chunk := range chunks {
		for len(chunk) > 0 {
			n, cut := s.Next(chunk)
			held = append(held, chunk[:n]...)
			chunk = chunk[n:]
			if cut != CutNone {
				pieces, cuts = append(pieces, held), append(cuts, cut)
				held = nil
			} else if len(chunk) > 0 {
				return append(pieces, nil), append(cuts, 99) // stopped without a reason
			}
		}
	}
	if len(held) > 0 {
		pieces, cuts = append(pieces, held), append(cuts, CutNone)
	}
	return pieces, cuts
}

// checkSplit checks the guarantees of a splitter for any input.
func checkSplit(t *testing.T, raw []byte, chunks [][]byte) {
	t.Helper()
	pieces, cuts := split(chunks)
	if !bytes.Equal(bytes.Join(pieces, nil), raw) {
		t.Fatal("the pieces, joined, are not the input")
	}

	for i, p := range pieces {
		newline := bytes.IndexByte(p, '\n')
		switch cuts[i] {
		case CutFrame:
			if newline != len(p)-1 || len(p) > PartSize {
				t.Fatalf("a frame's end of %d bytes, newline at %d", len(p), newline)
			}

		case CutPart:
			if len(p) != PartSize || newline >= 0 {
				t.Fatalf("a part of %d bytes, newline at %d", len(p), newline)
			}

		case CutNone:
			if i != len(pieces)-1 || newline >= 0 || len(p) >= PartSize {
				t.Fatalf("an open piece of %d bytes at %d of %d", len(p), i, len(pieces))
			}
		default:
			t.Fatal("stopped in the middle of a chunk")
		}
	}
	if want := bytes.Count(raw, []byte{'\n'}); want != countCuts(cuts, CutFrame) {
		t.Fatalf("%d frames, want %d", countCuts(cuts, CutFrame), want)
	}
}

func countCuts(cuts []Cut, want Cut) (n int) {
	for _, c := range cuts {
		if c == want {
			n++
		}
	}
	return n
}

func TestSplitter(t *testing.T) {
	for _, c := range []struct {
		name   string
		chunks []string
		want   []string
	}{
		{"one line", []string{"a\n"}, []string{"a\n"}},
		{"several in one chunk", []string{"a\nb\n\nc"}, []string{"a\n", "b\n", "\n", "c"}},
		{"one over several chunks", []string{"a", "b", "c\nd", "\n"}, []string{"abc\n", "d\n"}},
		{"CRLF stays", []string{"a\r", "\nb\r\n"}, []string{"a\r\n", "b\r\n"}},
		{"a lone CR ends nothing", []string{"a\rb\n"}, []string{"a\rb\n"}},
		{"any bytes", []string{"\x00\xff\n\xc2", "\x85\n"}, []string{"\x00\xff\n", "\xc2\x85\n"}},
	} {
		var chunks [][]byte
		var raw []byte
		for _, s := range c.chunks {
			chunks = append(chunks, []byte(s))
			raw = append(raw, s...)
		}
		checkSplit(t, raw, chunks)
		pieces, _ := split(chunks)
		for i := range max(len(pieces), len(c.want)) {
			if i >= len(pieces) || i >= len(c.want) || string(pieces[i]) != c.want[i] {
				t.Errorf("%s: got %q, want %q", c.name, pieces, c.want)
				break
			}
		}
	}
}

// TestSplitterParts checks the boundaries of a part: a newline as its last byte ends the
// frame; one byte later it is a piece of its own.
func TestSplitterParts(t *testing.T) {
	for _, n := range []int{PartSize - 2, PartSize - 1, PartSize, PartSize + 1, 3*PartSize - 1, 3 * PartSize} {
		raw := append(bytes.Repeat([]byte{'x'}, n), "\ny\n"...)
		for _, size := range []int{len(raw), PartSize, 64 << 10, 4095} {
			checkSplit(t, raw, cutEvery(raw, size))
		}
	}
	// The bytes of one frame must not count for the next.
	long := append(bytes.Repeat([]byte{'x'}, PartSize-10), '\n')
	raw := append(append(append([]byte(nil), long...), long...), bytes.Repeat([]byte{'y'}, PartSize+1)...)
	checkSplit(t, raw, cutEvery(raw, 1000))
	_, cuts := split([][]byte{append(bytes.Repeat([]byte{'x'}, PartSize-1), '\n')})
	if len(cuts) != 1 || cuts[0] != CutFrame {
		t.Errorf("a line of exactly PartSize: %v", cuts)
	}
	_, cuts = split([][]byte{append(bytes.Repeat([]byte{'x'}, PartSize), '\n')})
	if len(cuts) != 2 || cuts[0] != CutPart || cuts[1] != CutFrame {
		t.Errorf("a line of PartSize+1: %v", cuts)
	}
}

func cutEvery(raw []byte, size int) (chunks [][]byte) {
	for len(raw) > 0 {
		n := min(size, len(raw))
		chunks = append(chunks, raw[:n])
		raw = raw[n:]
	}
	return chunks
}

// FuzzSplitter checks the guarantees for any bytes in any chunks. The input is repeated,
// so that frames are long enough for parts.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("a\nb\r\n\n"), uint64(1), uint16(3), uint16(1))
	f.Add([]byte("no newline"), uint64(2), uint16(60000), uint16(40000))
	f.Add([]byte("0123456789abcde\n"), uint64(3), uint16(1), uint16(9))
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64, size, repeat uint16) {
		if n := int(repeat); n > 1 && len(raw)*n < 3*PartSize {
			raw = append(bytes.Repeat(raw, n), '\n')
		}
		r := rand.New(rand.NewPCG(seed, 0))
		var chunks [][]byte
		for rest := raw; len(rest) > 0; {
			n := min(1+r.IntN(int(size)*16+1), len(rest))
			chunks = append(chunks, rest[:n])
			rest = rest[n:]
		}
		checkSplit(t, raw, chunks)
	})
}
