package printable

import (
	"bytes"
	"testing"
)

// most notes the longest piece that is written.
type most struct {
	bytes.Buffer
	n int
}

func (m *most) Write(p []byte) (int, error) {
	m.n = max(m.n, len(p))
	return m.Buffer.Write(p)
}

// However long what is written is, and however much longer it gets, it is passed
// on in pieces.
func TestStringWriterPieces(t *testing.T) {
	for name, word := range map[string]string{"control": "\x00", "plain": "a", "mixed": "añ\u202e\"\x1b", "long": "\U0001f600"} {
		in := bytes.Repeat([]byte(word), 100_000)
		var to most
		w := StringWriter{W: &to}
		for rest := in; len(rest) > 0; {
			n := min(len(rest), 150_001)
			if k, err := w.Write(rest[:n]); k != n || err != nil {
				t.Fatal(k, err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if to.n > 2*stringPiece {
			t.Errorf("%s: %d bytes at once", name, to.n)
		}
		back, err := Unquote([]byte(`"` + to.String() + `"`))
		if err != nil || !bytes.Equal(back, in) {
			t.Errorf("%s: %d bytes came back of %d, %v", name, len(back), len(in), err)
		}
	}
}
