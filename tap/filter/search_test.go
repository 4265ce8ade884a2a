package filter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap"
)

// TestUnescape goes through what an escape can be, cut everywhere.
func TestUnescape(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{``, ``},
		{`plain`, `plain`},
		{`\"\\\/\b\f\n\r\t`, "\"\\/\b\f\n\r\t"},
		{`na\u00efve \u00EF`, "naïve ï"},
		{`\ud83d\ude00`, "😀"},
		{`\ud83d`, "\ufffd"},
		{`\ud83dx`, "\ufffdx"},
		{`\ud83d\n`, "\ufffd\n"},
		{`\ud83d\ud83d\ude00`, "\ufffd😀"},
		{`\ud83d\u0041`, "\ufffdA"},
		{`\ude00\ud83d`, "\ufffd\ufffd"},
		{`\ud83d\u12`, "\ufffd" + `\u12`},
		{`\ud83d\`, "\ufffd\\"},
		{`\u0000`, "\x00"},
		{`\`, `\`},
		{`\u`, `\u`},
		{`\u00e`, `\u00e`},
		{`\u00g0`, `\u00g0`},
		{`\u12\n`, "\\u12\n"},
		{`\x41 \U \'`, `\x41 \U \'`},
		{`\\u0041`, `\u0041`},
		{"\xff\\n\xfe", "\xff\n\xfe"},
	} {
		if got := slowUnescape(c.in); got != c.want {
			t.Errorf("reference: %q became %q, want %q", c.in, got, c.want)
		}
		for size := 1; size <= len(c.in)+1; size++ {
			var u unescaper
			var got []byte
			for in := []byte(c.in); len(in) > 0; {
				n := min(size, len(in))
				got = u.write(got, in[:n])
				in = in[n:]
			}
			if got = u.end(got); string(got) != c.want {
				t.Errorf("%q, %d bytes at a time, became %q, want %q", c.in, size, got, c.want)
			}
		}
	}
}

// texts are needles and payloads whose every pair is tried.
var texts = []string{
	"a", "A", "ab", "aab", "aaab", "abab", "abcabd", "ABCABD", "b*a", "k", "\u212a", "s", "ſ", "ß", "ẞ", "σς", "Σ", "é", "É", "e\u0301",
	"天気", "天*報", "😀", "\ufffd", "\\", `\\`, `\n`, "\n", "n", `"`, `\"`, `u00e9`, "İ", "ı", "i", "Ⱥ", "ⱥ", "ⱥb", "ǅ", "ab\ncd", "\x00",
	"aaaaaaaab", "abcabcabcabd", "xⱥ\u212aé", strings.Repeat("a", 300) + "b",
}

var payloads = []string{
	"", "a", "aaab", "aaaaaaaaab", "ababab", "abcabcabd", "ABCabcABD", "\u212a", "K", "k", "ſ", "S", "ß", "ẞ", "ς", "Σσ", "É", "é", "E\u0301",
	"天気予報", "\u5969報天報", `\u5929\u6c17`, `\\u5929\\u6c17`, `\ud83d\ude00`, `\\ud83d\\ude00`, `\\\ud83d\\\ude00`, `\ud83d\\ude00`, "\xff", "\xf0\x9f\x98", "\xc3", "\xc3A\xa9",
	"\ufffd", `\ud800`, `\`, `\\`, `\\\\`, `\\\\\\\\n`, `{"a":"b\nc"}`, `{"a":"b\\nc"}`, `ab\ncd`, `ab\\ncd`, `ab\\\ncd`, "İ", "ı", "I", "Ⱥ", "ⱥ", "Ⱥbⱥ", "ǆ", "Ǆ", "\x00", `\u0000`,
	strings.Repeat("a", 1000) + "b", strings.Repeat("abc", 100) + "abd", "x" + strings.Repeat("Ⱥ", 9) + "\u212aÉ", `xⱥk\u00c9`,
	strings.Repeat(`\u0061`, 300) + "b", "\xe2\x84", "\xe2\x84\xaa", "\xe2\x84K", `\u12`, `\u12` + "a", `a\u00`,
}

// TestSearchAgreesWithReference cuts each payload into pieces of many sizes.
func TestSearchAgreesWithReference(t *testing.T) {
	for _, text := range texts {
		s := newSearch([]*needle{newGlobNeedle(text)})
		for _, p := range payloads {
			want := slowFound(text, true, p)
			if got := s.whole([]byte(p)); got != want {
				t.Errorf("%q in %q: %v, want %v", text, p, got, want)
			}
			for _, size := range []int{1, 2, 3, 5, 7, 64} {
				s.begin()
				got := false
				for b := []byte(p); len(b) > 0 && !got; b = b[min(size, len(b)):] {
					got = s.pieces(b[:min(size, len(b))])
				}
				if got = got || s.end(); got != want {
					t.Errorf("%q in %q, %d bytes at a time: %v, want %v", text, p, size, got, want)
				}
			}
		}
	}
}

// TestSearchAcrossPieces puts texts and escapes across the ends of the pieces
// that a payload in memory is read in.
func TestSearchAcrossPieces(t *testing.T) {
	for _, spelled := range []string{"nädel", `n\u00e4del`, `n\\u00e4del`, `n\u00E4del`, `NÄD\u0065L`} {
		s := newSearch([]*needle{newNeedle("NÄDEL")})
		for off := -12; off <= 2; off++ {
			p := []byte(strings.Repeat("n", pieceSize+off) + spelled + strings.Repeat("n", 100))
			if !s.whole(p) {
				t.Errorf("%s at %d: not found", spelled, off)
			}
			p[pieceSize+off+len(spelled)-1] = 'x'
			if s.whole(p) {
				t.Errorf("%s at %d: found what is not there", spelled, off)
			}
		}
	}
}

// TestRandomSearch has few letters, so that much nearly matches.
func TestRandomSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string, n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(from[rng.IntN(len(from))])
		}
		return b.String()
	}
	found := 0
	for range 20000 {
		text := "a" + pick([]string{"a", "b", "K", "Ⱥ", "*", `\`, "n", "é"}, rng.IntN(5))
		p := pick([]string{"a", "b", "k", "\u212a", "ⱥ", "Ⱥ", "A", `\`, "n", `\\n`, "É", `\u00e9`, "\xc3", "\xe2\x84"}, rng.IntN(20))
		want := slowFound(text, true, p)
		if want {
			found++
		}
		if got := newSearch([]*needle{newGlobNeedle(text)}).whole([]byte(p)); got != want {
			t.Fatalf("%q in %q: %v, want %v", text, p, got, want)
		}
	}
	if found < 2000 || found > 18000 {
		t.Errorf("found %d of 20000: the texts are badly chosen", found)
	}
}

// TestGlobAgreesWithRegexp tries stars in fields.
func TestGlobAgreesWithRegexp(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	letters := []string{"a", "b", "A", "é", "É", "*", "*"}
	for range 20000 {
		glob, s := "*", ""
		for range rng.IntN(6) {
			if rng.IntN(3) == 0 {
				glob = letters[rng.IntN(len(letters))] + glob
			}
			glob += letters[rng.IntN(len(letters))]
		}
		for range rng.IntN(8) {
			s += letters[rng.IntN(len(letters))]
		}
		re := regexp.MustCompile("(?is)^" + strings.ReplaceAll(regexp.QuoteMeta(glob), `\*`, ".*") + "$")
		if got, want := newGlob(glob).match(s), re.MatchString(s); got != want {
			t.Fatalf("%q on %q: %v, want %v", glob, s, got, want)
		}
	}
}

// large is a payload that is not in memory.
func large(r func() io.Reader) *Item {
	return &Item{Frame: &tap.Frame{Lane: tap.ToClient, Raw: []byte("{"), Size: 1 << 40}, Raw: func(w io.Writer) error {
		_, err := io.Copy(w, r())
		return err
	}}
}

// TestLargePayload searches what does not fit, in few bytes at a time.
func TestLargePayload(t *testing.T) {
	text := strings.Repeat(`filler \n \u00e4 \\n `, 4000) + `n\u00e4del end` + strings.Repeat("more ", 100)
	for _, q := range []string{"NÄDEL", `/nädel end/`, `/(?i)NÄDEL\b/`, `/ä \n/`, "-absent", "filler*nädel*more", `/\\u00e4del/`} {
		f := mustParse(t, q)
		for name, wrap := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader} {
			if !matches(t, f, large(func() io.Reader { return wrap(strings.NewReader(text)) })) {
				t.Errorf("%s, %s: no match", q, name)
			}
		}
		raw := []byte(strings.Repeat(text, 14)) // more than what is unescaped as a whole
		if !matches(t, f, &Item{Frame: &tap.Frame{Raw: raw, Size: int64(len(raw))}}) {
			t.Errorf("%s, in memory: no match", q)
		}
	}
}

// TestStopsReading: no more of a large payload is read than is needed.
func TestStopsReading(t *testing.T) {
	for _, q := range []string{"found", "/found/", "/fo[uw]nd/", "is:error found"} {
		read := 0
		it := &Item{Frame: &tap.Frame{Size: 1 << 40}, Is: IsError}
		it.Raw = func(w io.Writer) error {
			for range 1000 {
				n, err := w.Write([]byte(strings.Repeat("found it ", 1000)))
				read += n
				if err != nil {
					return fmt.Errorf("wrapped: %w", err)
				}
			}
			return nil
		}
		if !matches(t, mustParse(t, q), it) {
			t.Errorf("%s: no match", q)
		}
		if read > 40_000 {
			t.Errorf("%s: %d bytes read", q, read)
		}
	}
}

// TestUnreadablePayload: what cannot be read is an error, unless it does not
// matter.
func TestUnreadablePayload(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, c := range []struct {
		q  string
		ok bool
	}{
		{"absent", false}, {"-absent", false}, {"/absent/", false}, {"/a.c.e/", false}, {"absent OR other", false},
		{"start", true}, {"/st[ao]rt/", true}, {"seq:0", true}, {"is:error absent", true}, {"-is:error OR absent", true},
	} {
		it := large(func() io.Reader { return io.MultiReader(strings.NewReader("start "), iotest.ErrReader(broken)) })
		ok, err := mustParse(t, c.q).Match(it)
		if (err == nil) != c.ok || err != nil && (ok || !errors.Is(err, broken)) {
			t.Errorf("%s: %v, %v", c.q, ok, err)
		}
		f := mustParse(t, c.q)
		f.Match(it)
		if _, err := f.Match(&Item{Frame: &tap.Frame{}}); err != nil {
			t.Errorf("%s: the error stays: %v", c.q, err)
		}
	}
}

// TestRequired: every match of a regular expression contains one of the texts.
func TestRequired(t *testing.T) {
	for re, want := range map[string]string{
		`error`:              "error",
		`(?i)error`:          "ERROR",
		`^\s*error: (.*)$`:   "error: ",
		`(timeout)+`:         "timeout",
		`(timeout){2,3}`:     "timeout",
		`(timeout)?`:         "",
		`(timeout)*`:         "",
		`timeout|refused`:    "timeout,refused",
		`timeout|.*`:         "",
		`x(abc|def)y|ghi`:    "abc,def,ghi",
		`ab`:                 "",
		`[a-z]+`:             "",
		`abc.*longer.*xyz`:   "longer",
		"abc\ufffd":          "",
		`\bcafé\b`:           "café",
		`(?:a|b)timeout(?:)`: "timeout",
	} {
		tree, err := parseRegexp(re)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(required(tree.Simplify()), ","); got != want {
			t.Errorf("%s: %q, want %q", re, got, want)
		}
	}
}

// TestRegexpBytes: bytes that are no text do not keep an expression from
// matching what is around them.
func TestRegexpBytes(t *testing.T) {
	raw := []byte("\xff\xfe{\"a\":\"\xc3x\"}\x00tail")
	for q, want := range map[string]bool{`/\x00tail/`: true, `/"a":".x"/`: true, "/\ufffd{/": true, "tail": true, "x\"": true, `"a\":\""`: true, `/\\/`: false} {
		if got := matches(t, mustParse(t, q), &Item{Frame: &tap.Frame{Raw: raw, Size: int64(len(raw))}}); got != want {
			t.Errorf("%s: %v", q, got)
		}
	}
}

// TestBuffersAreBounded: however large the payload, a filter keeps little.
func TestBuffersAreBounded(t *testing.T) {
	f := mustParse(t, `/x[yw]z/`) // with no text that it needs
	raw := bytes.Repeat([]byte(`\n`), maxBuffered+1)
	matches(t, f, &Item{Frame: &tap.Frame{Raw: raw, Size: int64(len(raw))}})
	for _, b := range f.buf {
		if cap(b) > maxBuffered {
			t.Errorf("%d bytes kept", cap(b))
		}
	}
	s := newSearch([]*needle{newNeedle("nädel")})
	s.whole(bytes.Repeat([]byte(`\\\\n`), pieceSize))
	for _, b := range s.buf {
		if cap(b) > pieceSize+64 {
			t.Errorf("%d bytes kept", cap(b))
		}
	}
}

// FuzzSearch compares the search with the slow one.
func FuzzSearch(f *testing.F) {
	for i, p := range payloads {
		f.Add(texts[i%len(texts)], p, uint8(i))
	}
	f.Fuzz(func(t *testing.T, text, payload string, size uint8) {
		if !utf8.ValidString(text) || onlyStars(text) || len(text)*len(payload) > 1<<16 { // as the other is slow
			return
		}
		want := slowFound(text, true, payload)
		s := newSearch([]*needle{newGlobNeedle(text)})
		if got := s.whole([]byte(payload)); got != want {
			t.Errorf("%q in %q: %v, want %v", text, payload, got, want)
		}
		s.begin()
		got := false
		n := int(size)%9 + 1
		for b := []byte(payload); len(b) > 0 && !got; b = b[min(n, len(b)):] {
			got = s.pieces(b[:min(n, len(b))])
		}
		if got = got || s.end(); got != want {
			t.Errorf("%q in %q, %d at a time: %v, want %v", text, payload, n, got, want)
		}
	})
}
