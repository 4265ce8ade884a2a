package escape_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/term/escape"
)

// Every character that controls, formats or separates is a hazard, except those that are letters in some
// script.
func TestHazards(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs) || escape.Hazard(r) {
			continue
		}
		switch {
		case r >= 0x0600 && r <= 0x08e2, r == 0x110bd, r == 0x110cd: // Arabic, Syriac and Kaithi signs that are visible
		case r >= 0x13430 && r <= 0x1345f, r >= 0x1bca0 && r <= 0x1bca3: // hieroglyphs and shorthand
		default:
			t.Errorf("%U is not a hazard", r)
		}
	}
	for _, r := range "az AZ09~é天🌦" {
		if escape.Hazard(r) {
			t.Errorf("%U is a hazard", r)
		}
	}
}

func TestEscape(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain words, ümläut, 天気 🌦", "plain words, ümläut, 天気 🌦"},
		{"\x1b[2J\a", `\x1b[2J\x07`},
		{"a\tb\r\n", `a\tb\r\n`},
		{"\u202e\u009b\U000e0041", `\u202e\u009b\U000e0041`},
		{"bad \xff\xc3(", `bad \xff\xc3(`},
	} {
		if got := escape.String(c.in); got != c.want || !escape.Clean(got) || escape.Clean(c.in) != (c.in == c.want) {
			t.Errorf("String(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// AppendString and Unquote are inverse for all UTF-8, and other JSON parsers read the same.
func FuzzString(f *testing.F) {
	for _, s := range []string{"{\"a\":\"\u202e\\\"\\u001b\"}", "\xff\x1b[0m\n\r", "\xf0\x9f", "👩\u200d🚀\U000e0041", "\ufffd\\ufffd"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		quoted := escape.AppendString(nil, string(b))
		if !escape.Clean(string(quoted)) {
			t.Errorf("%q has a hazard", quoted)
		}
		var inside bytes.Buffer
		if err := escape.WriteInside(&inside, b); err != nil || string(quoted) != `"`+inside.String()+`"` {
			t.Fatalf("AppendString: %q, WriteInside: %q, %v", quoted, inside.String(), err)
		}
		back, err := escape.Unquote(quoted)
		var std string
		if err != nil || json.Unmarshal(quoted, &std) != nil || std != string(back) {
			t.Fatalf("%q is read as %q, %v, and %q", quoted, back, err, std)
		}
		if bytes.Equal(back, b) != utf8.Valid(b) {
			t.Fatalf("%q becomes %q", b, back)
		}
	})
}

func TestShorten(t *testing.T) {
	for _, tt := range []struct {
		s    string
		most int
		want string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"a", 0, "…"}, {"aé", 2, "a…"}, {"é", 1, "…"}, {"東京", 5, "東…"},
		{"😀😀", 7, "😀…"}, {strings.Repeat("\x80", 9), 8, "\x80\x80\x80\x80…"},
	} {
		if got := escape.Shorten(tt.s, tt.most); got != tt.want {
			t.Errorf("%q, %d: %q, want %q", tt.s, tt.most, got, tt.want)
		}
	}
}

func TestUnquoteErrors(t *testing.T) {
	for _, s := range []string{``, `"`, `x`, `"\`, `"\x"`, `"\u12"`, `"\ud800"`, `"\ud800\u0041"`, `"\ud800\ud80"`, "\"\xff\"",
		`null`, `1`, `"a" "b"`, `"\udc00 x"`, `"\\ufffd\ud800"`, "\"\ufffd\xff\"", `"\uFFFD\\\ud800"`} {
		if b, err := escape.Unquote([]byte(s)); err == nil {
			t.Errorf("%q is read as %q", s, b)
		}
	}
	for in, want := range map[string]string{
		`"\ufffd\uFfFd"`: "\ufffd\ufffd", "\"\ufffd\"": "\ufffd", `"\\ufffd"`: `\ufffd`, `"\\\ufffd"`: "\\\ufffd", `"\ud83c\udf26"`: "🌦",
	} {
		if b, err := escape.Unquote([]byte(in)); err != nil || string(b) != want {
			t.Errorf("%s is read as %q, %v", in, b, err)
		}
	}
	long := `"` + strings.Repeat(`\u0041`, 1000) + `"`
	if b, err := escape.Unquote([]byte(long)); err != nil || string(b) != strings.Repeat("A", 1000) {
		t.Errorf("%v", err)
	}
}

// JSON writes one line that is safe on any terminal and decodes to the same value.
func TestJSON(t *testing.T) {
	type doc struct {
		Text string          `json:"text"`
		Raw  json.RawMessage `json:"raw"`
	}
	for _, c := range []struct {
		in   doc
		want string
	}{
		{doc{"a <b> & 天", json.RawMessage(`1.0`)}, `{"text":"a <b> & 天","raw":1.0}`},
		{doc{"\x1b[2J\u009b\u202e\n", json.RawMessage("\"\u202e\U000e0041\"")}, `{"text":"\u001b[2J\u009b\u202e\n","raw":"\u202e\udb40\udc41"}`},
		{doc{"\x7f", json.RawMessage("\"a\xffb\"")}, `{"text":"\u007f","raw":"a\ufffdb"}`},
	} {
		got, err := escape.JSON(c.in)
		if err != nil || string(got) != c.want || !escape.Clean(string(got)) {
			t.Errorf("%+v: %s, %v; want %s", c.in, got, err, c.want)
		}
		var back doc
		if err := json.Unmarshal(got, &back); err != nil || back.Text != c.in.Text {
			t.Errorf("%s: %+v, %v", got, back, err)
		}
	}
	if got, err := escape.JSON(func() {}); err == nil {
		t.Errorf("a function is %s", got)
	}
}

// most records the length of the longest write.
type most struct {
	bytes.Buffer
	n int
}

func (m *most) Write(p []byte) (int, error) {
	m.n = max(m.n, len(p))
	return m.Buffer.Write(p)
}

// Long bytes are written in pieces of bounded size, and no character is split.
func TestWriteInsidePieces(t *testing.T) {
	for name, word := range map[string]string{"control": "\x00", "plain": "a", "mixed": "añ\u202e\"\x1b", "long": "\U0001f600", "no start": "\x80"} {
		in := strings.Repeat(word, 100_000)
		var to most
		if err := escape.WriteInside(&to, []byte(in)); err != nil {
			t.Fatal(err)
		}
		if to.n > 6*64<<10 {
			t.Errorf("%s: %d bytes in one write", name, to.n)
		}
		if to.String() != strings.Trim(string(escape.AppendString(nil, in)), `"`) {
			t.Errorf("%s: the output written in pieces differs", name)
		}
		back, err := escape.Unquote([]byte(`"` + to.String() + `"`))
		if err != nil || word != "\x80" && string(back) != in {
			t.Errorf("%s: %d bytes came back of %d, %v", name, len(back), len(in), err)
		}
	}
	if err := escape.WriteInside(failing{}, []byte("a")); err != io.ErrClosedPipe {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
