package printable_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap/printable"
)

// Every character that controls, formats or separates is a hazard, except those
// that are letters to the scripts that use them.
func TestHazards(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs) || printable.Hazard(r) {
			continue
		}
		switch {
		case r >= 0x0600 && r <= 0x08e2, r == 0x110bd, r == 0x110cd: // Arabic, Syriac and Kaithi signs that are seen
		case r >= 0x13430 && r <= 0x1345f, r >= 0x1bca0 && r <= 0x1bca3: // hieroglyphs and shorthand
		default:
			t.Errorf("%U is none", r)
		}
	}
	for _, r := range "az AZ09~é天🌦" {
		if printable.Hazard(r) {
			t.Errorf("%U is one", r)
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
		if got := printable.Escape(c.in); got != c.want || !printable.Clean(got) || printable.Clean(c.in) != (c.in == c.want) {
			t.Errorf("Escape(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// A StringWriter and Unquote are inverse, whatever the bytes are and wherever
// they are cut, and other parsers of JSON read the same.
func FuzzString(f *testing.F) {
	for _, s := range []string{"{\"a\":\"\u202e\\\"\\u001b\"}", "\xff\x1b[0m\n\r", "\xf0\x9f", "👩\u200d🚀\U000e0041"} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		var out bytes.Buffer
		w := printable.StringWriter{W: &out}
		var err error
		for rest := b; len(rest) > 0 && err == nil; {
			n := min(int(step)%7+1, len(rest))
			_, err = w.Write(rest[:n])
			rest = rest[n:]
		}
		if err == nil {
			err = w.Close()
		}
		if utf8.Valid(b) != (err == nil) {
			t.Fatalf("%q: %v", b, err)
		}
		if err != nil {
			return
		}
		if !printable.Clean(out.String()) {
			t.Errorf("%q has a hazard", out.String())
		}
		quoted := string(printable.AppendString(nil, string(b)))
		if quoted != `"`+out.String()+`"` {
			t.Fatalf("AppendString: %q, Write: %q", quoted, out.String())
		}
		back, err := printable.Unquote([]byte(quoted))
		var std string
		if err != nil || !bytes.Equal(back, b) || json.Unmarshal([]byte(quoted), &std) != nil || std != string(b) {
			t.Fatalf("%q is read as %q, %v, and %q", quoted, back, err, std)
		}
	})
}

func TestUnquoteErrors(t *testing.T) {
	for _, s := range []string{``, `"`, `x`, `"\`, `"\x"`, `"\u12"`, `"\ud800"`, `"\ud800\u0041"`, `"\ud800\ud80"`, "\"\xff\""} {
		if b, err := printable.Unquote([]byte(s)); err == nil {
			t.Errorf("%q is read as %q", s, b)
		}
	}
	long := `"` + strings.Repeat(`\u0041`, 1000) + `"`
	if b, err := printable.Unquote([]byte(long)); err != nil || string(b) != strings.Repeat("A", 1000) {
		t.Errorf("%v", err)
	}
}

// What is encoded is one line of JSON that no terminal minds, and says the same.
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
		got, err := printable.JSON(c.in)
		if err != nil || string(got) != c.want || !printable.Clean(string(got)) {
			t.Errorf("%+v: %s, %v; want %s", c.in, got, err, c.want)
		}
		var back doc
		if err := json.Unmarshal(got, &back); err != nil || back.Text != c.in.Text {
			t.Errorf("%s: %+v, %v", got, back, err)
		}
	}
	if got, err := printable.JSON(func() {}); err == nil {
		t.Errorf("a function is %s", got)
	}
}
