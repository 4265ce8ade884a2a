package main

import (
	"bytes"
	"strings"
	"testing"
)

// longest records the length of the longest write.
type longest struct {
	bytes.Buffer
	n int
}

func (l *longest) Write(p []byte) (int, error) {
	l.n = max(l.n, len(p))
	return l.Buffer.Write(p)
}

// A frame of many bytes that are not text is printed in bounded memory.
func TestTextIsWrittenInPieces(t *testing.T) {
	for in, want := range map[string]string{"\x00": `\x00`, "\xff": `\xff`, "é": "é", "\u202e": `\u202e`} {
		var to longest
		w := &textWriter{w: &to}
		const times = 20_000
		if n, err := w.Write([]byte(strings.Repeat(in, times))); err != nil || n != times*len(in) {
			t.Fatal(n, err)
		}
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
		if to.String() != strings.Repeat(want, times)+"\n" || to.n > 32<<10 {
			t.Errorf("%q: %d bytes, at most %d at once", in, to.Len(), to.n)
		}
	}
}
