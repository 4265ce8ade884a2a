package filter

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap"
)

// TestUnescape tries all kinds of escapes.
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
		if got := unescape([]byte(c.in)); string(got) != c.want {
			t.Errorf("%q became %q, want %q", c.in, got, c.want)
		}
	}
}

// TestFold compares fold with strings.EqualFold.
func TestFold(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		least := r
		for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
			least = min(least, c)
		}
		want := least
		if least < utf8.RuneSelf {
			want = unicode.ToLower(least)
		}
		if got := foldRune(r); got != want {
			t.Errorf("%U folds to %U, want %U", r, got, want)
		}
	}
	for _, s := range slices.Concat(payloads, texts) {
		if got := string(fold([]byte(s))); utf8.ValidString(s) && !strings.EqualFold(got, s) {
			t.Errorf("%q became %q", s, got)
		}
	}
}

// texts are needles and payloads, all pairs of which are tried.
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

// textFilter returns a filter for one text, in which a star matches anything.
func textFilter(text string) *Filter {
	f := &Filter{root: &node{op: opPayload}}
	f.texts = []payloadText{{glob: newGlob(&value{text: text})}}
	return f
}

// TestSearchAgreesWithReference tries every text on every payload.
func TestSearchAgreesWithReference(t *testing.T) {
	for _, text := range texts {
		f := textFilter(text)
		for _, p := range payloads {
			for _, before := range []string{"", "\\n", strings.Repeat("é ", 20)} {
				p := before + p
				want := slowFound(text, true, p)
				if got := f.Search([]byte(p)).has(0); got != want {
					t.Errorf("%q in %q: %v, want %v", text, p, got, want)
				}
			}
		}
	}
}

// TestRandomSearch uses few letters, so that there are many near matches.
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
		if got := textFilter(text).Search([]byte(p)).has(0); got != want {
			t.Fatalf("%q in %q: %v, want %v", text, p, got, want)
		}
	}
	if found < 2000 || found > 18000 {
		t.Errorf("found %d of 20000: the texts are not representative", found)
	}
}

// TestGlobAgreesWithRegexp tries stars in fields.
func TestGlobAgreesWithRegexp(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	letters := []string{"a", "b", "A", "é", "É", "*", "*"}
	for range 20000 {
		text, s := "*", ""
		for range rng.IntN(6) {
			if rng.IntN(3) == 0 {
				text = letters[rng.IntN(len(letters))] + text
			}
			text += letters[rng.IntN(len(letters))]
		}
		for range rng.IntN(8) {
			s += letters[rng.IntN(len(letters))]
		}
		re := regexp.MustCompile("(?is)^" + strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*") + "$")
		if got, want := newGlob(&value{text: text}).is(fold([]byte(s))), re.MatchString(s); got != want {
			t.Fatalf("%q on %q: %v, want %v", text, s, got, want)
		}
	}
}

// TestLargePayload searches payloads of 100 KiB and 1 MiB.
func TestLargePayload(t *testing.T) {
	text := strings.Repeat(`filler \n \u00e4 \\n `, 4000) + `n\u00e4del end` + strings.Repeat("more ", 100)
	for _, q := range []string{"NÄDEL", `/nädel end/`, `/(?i)NÄDEL\b/`, `/ä \n/`, "-absent", "filler*nädel*more", `/\\u00e4del/`} {
		f := mustParse(t, q)
		for _, n := range []int{1, 14} {
			raw := []byte(strings.Repeat(text, n))
			if !matches(t, f, &Item{Frame: &tap.Frame{Raw: raw, Size: int64(len(raw))}}) {
				t.Errorf("%s, %d bytes: no match", q, len(raw))
			}
			if string(raw) != strings.Repeat(text, n) {
				t.Errorf("%s: the payload was changed", q)
			}
		}
	}
}

// TestRegexpBytes checks that bytes that are not text do not prevent an expression from
// matching the text around them.
func TestRegexpBytes(t *testing.T) {
	raw := []byte("\xff\xfe{\"a\":\"\xc3x\"}\x00tail")
	for q, want := range map[string]bool{`/\x00tail/`: true, `/"a":".x"/`: true, "/\ufffd{/": true, "tail": true, "x\"": true, `"a\":\""`: true, `/\\/`: false} {
		if got := matches(t, mustParse(t, q), &Item{Frame: &tap.Frame{Raw: raw, Size: int64(len(raw))}}); got != want {
			t.Errorf("%s: %v", q, got)
		}
	}
}

// FuzzSearch compares the search with the slow one.
func FuzzSearch(f *testing.F) {
	for i, p := range payloads {
		f.Add(texts[i%len(texts)], p)
	}
	f.Fuzz(func(t *testing.T, text, payload string) {
		if !utf8.ValidString(text) || len(text)*len(payload) > 1<<16 { // the reference is slow
			return
		}
		want := slowFound(text, true, payload)
		if got := textFilter(text).Search([]byte(payload)).has(0); got != want {
			t.Errorf("%q in %q: %v, want %v", text, payload, got, want)
		}
	})
}
