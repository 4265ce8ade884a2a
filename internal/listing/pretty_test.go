package listing

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
)

func TestEscape(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"plain words, ümläut, 天気 🌦", "plain words, ümläut, 天気 🌦"},
		{`C:\dir`, `C:\dir`},
		{"\x1b[2J\x1b]0;title\a", `\x1b[2J\x1b]0;title\x07`},
		{"a\tb\r\nc\x00", `a\tb\r\nc\x00`},
		{"del\x7f", `del\x7f`},
		{"C1 \u009b2J \u0085", `C1 \u009b2J \u0085`},
		{"bare \x9b2J", `bare \x9b2J`},
		{"bidi \u202aa\u202bb\u202cc\u202dd\u202ee", `bidi \u202aa\u202bb\u202cc\u202dd\u202ee`},
		{"isolates \u2066\u2067\u2068\u2069", `isolates \u2066\u2067\u2068\u2069`},
		{"marks \u200e\u200f\u061c", `marks \u200e\u200f\u061c`},
		{"lines \u2028\u2029", `lines \u2028\u2029`},
		{"zero \u200b\u200c\u200d\u2060\ufeff", `zero \u200b\u200c\u200d\u2060\ufeff`},
		{"soft\u00adhyphen", `soft\u00adhyphen`},
		{"tags \U000e0041", `tags \U000e0041`},
		{"filler \u3164", `filler \u3164`},
		{"bad \xff\xc3(", `bad \xff\xc3(`},
		{"half \xf0\x9f\x8c", `half \xf0\x9f\x8c`},
		{"surrogate \xed\xa0\x80", `surrogate \xed\xa0\x80`},
		{"replacement \ufffd", "replacement \ufffd"},
	} {
		if got := safe.String(c.in); got != c.want {
			t.Errorf("safe.String(%q) = %q, want %q", c.in, got, c.want)
		}
		if !safe.Clean(safe.String(c.in)) {
			t.Errorf("safe.String(%q) is not clean", c.in)
		}
	}
}

// Output to a terminal has no hazards, for any bytes written in any pieces.
func FuzzTerminal(f *testing.F) {
	for _, s := range []string{"{\"a\":[1,{}],\"b\":\"\u202e\\\"\\u001b\"}", "\xff\x1b[0m\n\r", "[[[[\"", "\xf0\x9f", `{"a":1}{"b":2} x`} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		for _, cut := range []int{len(b) + 1, int(step)%7 + 1} {
			var pretty, text bytes.Buffer
			p, x := &Pretty{W: &pretty}, &textWriter{w: &text}
			for rest := b; len(rest) > 0; {
				n := min(cut, len(rest))
				_, _ = p.Write(rest[:n])
				_, _ = x.Write(rest[:n])
				rest = rest[n:]
			}
			_, _ = p.Close(), x.Close()
			for name, out := range map[string]string{"pretty": pretty.String(), "text": text.String()} {
				if !safe.Clean(strings.ReplaceAll(out, "\n", "")) {
					t.Errorf("%s of %q has a hazard: %q", name, b, out)
				}
			}
		}
	})
}

func TestPretty(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct{ in, want string }{
		{`{}`, "{}\n"},
		{`[ ]`, "[]\n"},
		{`{"a":1.50e+3,"b":[true,null,"x\u00e9\/"],"c":{"d":{}}}`, "{\n  \"a\": 1.50e+3,\n  \"b\": [\n    true,\n    null,\n    \"x\\u00e9\\/\"\n  ],\n  \"c\": {\n    \"d\": {}\n  }\n}\n"},
		{`12345678901234567890.1234567890`, "12345678901234567890.1234567890\n"},
		{`{"k":"a,b:{}[]\"","k":2}`, "{\n  \"k\": \"a,b:{}[]\\\"\",\n  \"k\": 2\n}\n"},
		{`"` + "\u202e" + `"`, `"\u202e"` + "\n"},
		{`{"cut":"of`, "{\"cut\":\"of\n"},
		{"{\"a\":\n\x1b[2J}", "{\"a\":\n\\x1b[2J}\n"},
	} {
		for _, step := range []int{1, 2, 1000} {
			var out bytes.Buffer
			p := &Pretty{W: &out}
			for rest := []byte(c.in); len(rest) > 0; {
				n := min(step, len(rest))
				_, _ = p.Write(rest[:n])
				rest = rest[n:]
			}
			_ = p.Close()
			if out.String() != c.want {
				t.Errorf("%s in steps of %d:\n%s\nwant:\n%s", c.in, step, out.String(), c.want)
			}
		}
	}
	for _, c := range []struct{ in, hint string }{
		{deep(maxPrettyDepth + 1), "nested more than 64 levels deep"},
		{`["` + strings.Repeat("x", maxPretty) + `"]`, "larger than 16 MiB"},
	} {
		var out bytes.Buffer
		p := &Pretty{W: &out}
		_, _ = p.Write([]byte(c.in))
		_ = p.Close()
		if want := c.in + "\n… not indented: " + c.hint + "; use --raw for the exact bytes\n"; out.String() != want {
			t.Errorf("%.100s", out.String()[max(0, out.Len()-100):])
		}
	}
}

// On a terminal, only the first part of a long text is printed.
func TestScreenWriter(t *testing.T) {
	const note = "\n… only the first 1 MiB is shown; use --raw for all of it\n"
	for _, c := range []struct{ in, want string }{
		{`{"a":1,"b":2,"c":3}`, "{\n  \"a\": 1," + note},
		{"[" + strings.Repeat("é", 30), "[" + strings.Repeat("é", 9) + note},
	} {
		var out bytes.Buffer
		p := &Pretty{W: &screenWriter{w: &out, left: 20}}
		_, _ = p.Write([]byte(c.in))
		if err := p.Close(); !errors.Is(err, errEnough) || out.String() != c.want {
			t.Errorf("%s: %v\n%s\nwant:\n%s", c.in, err, out.String(), c.want)
		}
	}
}

func TestPrettyColors(t *testing.T) {
	var out bytes.Buffer
	p := &Pretty{W: &out, Paint: term.Palette{On: true}}
	_, _ = p.Write([]byte("{\"k\":[\"\u202e\",1.50,true]}"))
	_ = p.Close()
	want := "{\n  \x1b[36m\"k\"\x1b[0m: [\n    \x1b[32m\"\x1b[0m\x1b[32m\\u202e\x1b[0m\x1b[32m\"\x1b[0m,\n" +
		"    \x1b[35m1.50\x1b[0m,\n    \x1b[35mtrue\x1b[0m\n  ]\n}\n"
	if out.String() != want {
		t.Errorf("%q, want\n%q", out.String(), want)
	}
}

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
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if to.String() != strings.Repeat(want, times)+"\n" || to.n > 32<<10 {
			t.Errorf("%q: %d bytes, at most %d per write", in, to.Len(), to.n)
		}
	}
}
