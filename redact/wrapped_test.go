package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// wrapped breaks a text into lines of the given length.
func wrapped(s string, width int, end string) string {
	var lines []string
	for len(s) > width {
		lines, s = append(lines, s[:width]), s[width:]
	}
	return strings.Join(append(lines, s), end)
}

// A secret in base64 over several lines is found wherever the lines end, and the text
// around it is kept.
func TestBase64InLines(t *testing.T) {
	const secret = "plantedHunter2"
	r := New(testOptions())
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		for _, width := range []int{24, 60, 64, 70, 76} {
			for _, end := range []string{"\n", "\r\n", "\n    "} {
				for before := 0; before < 80; before += 7 {
					plain := strings.Repeat("x", before) + " here it is: password=" + secret + " and a bit more of it behind that"
					text := "-----BEGIN MESSAGE-----" + end + wrapped(enc.EncodeToString([]byte(plain)), width, end) + end + "-----END MESSAGE-----\n"
					name := fmt.Sprintf("width %d, %d before, end %q", width, before, end)
					got := redactedText(t, r, text)
					lines := strings.Split(strings.TrimSuffix(got, "\n"), end)
					coded := strings.Join(lines[1:len(lines)-1], "")
					back, err := decode64(coded)
					if enc == base64.StdEncoding { // padding is required
						back, err = enc.DecodeString(coded)
					}
					if err != nil {
						t.Fatalf("%s: %v in\n%s", name, err, got)
					}
					want := strings.ReplaceAll(plain, secret, "redacted-")
					if !sameBut(string(back), want) {
						t.Fatalf("%s: %q", name, back)
					}
					if lines[0] != "-----BEGIN MESSAGE-----" || lines[len(lines)-1] != "-----END MESSAGE-----" {
						t.Fatalf("%s: the text around it became\n%s", name, got)
					}
				}
			}
		}
	}
}

// sameBut reports whether two texts differ only in the digits of one pseudonym.
func sameBut(got, want string) bool {
	i := strings.Index(got, prefix)
	if i < 0 || len(got) < i+len(prefix)+digits {
		return false
	}
	i += len(prefix)
	return got[:i]+got[i+digits:] == want
}

// redactedText redacts a text in a tool's result.
func redactedText(t *testing.T, r *Redactor, text string) string {
	t.Helper()
	r.Again()
	r.known = known{} // otherwise it would be found because it was found before
	spelled, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	raw := answer(`{"type":"text","text":` + string(spelled) + `}`)
	out := twice(r, []tap.Frame{{Seq: 1, Lane: tap.ToClient, Raw: []byte(raw)}})
	var m struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal(out[0], &m); err != nil {
		t.Fatalf("%v: %s", err, out[0])
	}
	return m.Result.Content[0].Text
}

// Lines that only look like one base64 text are searched separately, and so is a line
// with a word on the next one.
func TestLinesOfBase64ThatAreApart(t *testing.T) {
	one := base64.StdEncoding.EncodeToString([]byte("password=plantedHunter2 it is"))
	binary := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xff\x00", len(one)*3/8)))
	for _, text := range []string{
		one + "\n" + one + "\n" + one + "\n",
		one + "\n" + binary[:len(one)] + "\n" + one + "\n",
		one + "\nThen it ends.",
		one + "\nover\n",
		"a word\n" + one + "\n\n" + one,
		wrapped(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("some text, ", 6)+"password=plantedHunter2")), 60, "\n") + "\nThen it ends.",
	} {
		got := redactedText(t, New(testOptions()), text)
		if got == text || strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Errorf("%q became %q", text, got)
		}
		left := strings.Join(strings.Fields(got), "")
		for _, run := range append(strings.Fields(got), left, strings.TrimSuffix(left, "Thenitends.")) {
			if plain, err := decode64(run); err == nil && strings.Contains(string(plain), "plantedHunter2") {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
}

// Long texts that look like the beginnings of many tables or runs take bounded time.
func TestHostileTables(t *testing.T) {
	const n = 20000
	for name, text := range map[string]string{
		"heads":           strings.Repeat("a,password\n", n),
		"heads and rows":  strings.Repeat("a,password\n1,2,3\n", n),
		"quotes":          "a,password\n" + strings.Repeat(`"a"b,`, n) + "\n",
		"open quotes":     strings.Repeat("a,password\n\"x\n", n),
		"rows of quotes":  strings.Repeat("a,password\n\"x\na,password\n\",", n),
		"pipes":           strings.Repeat("|password|a|\n|-|\n", n),
		"one long row":    "|password|a|\n|-|-|\n" + strings.Repeat("|", n),
		"columns":         strings.Repeat("password,", n) + "\n" + strings.Repeat("x1y2z3,", n),
		"lines of base64": strings.Repeat(strings.Repeat("QUJD", 15)+"\n", n/10),
		"short lines":     strings.Repeat("QUJD\n", n),
	} {
		f := tap.Frame{Seq: 1, Lane: tap.ToClient, Form: tap.FormBody, Raw: []byte(text)}
		out := New(testOptions()).Frame(&f)
		if name == "heads and rows" && string(out) != text {
			t.Errorf("%s became %.200s", name, out)
		}
	}
}
