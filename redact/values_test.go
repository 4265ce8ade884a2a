package redact

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A secret is found however the stream is cut, and everything else is unchanged.
func TestValuesInStreams(t *testing.T) {
	var v *Values
	for secret, name := range map[string]string{"Zk93-abc/def": "<1>", "Zk93-abc": "<2>", "s\"x9 y+z": "<3>", "sunshine": "<4>"} {
		v = v.With(secret, name, true)
	}
	v = v.With("weather", "<5>", false)
	v = v.With("123456789", "<6>", true)
	v = v.With("bearer", "<7>", true)
	v = v.With("short", "<8>", true)
	text := `{"a":"unknown credential Zk93-abc/def, Zk93-abc\/def or Zk93-abc; s\"x9 y+z s%22x9+y%2Bz","b":123456789,"c":"weather sunshine bearer short zk93-abc Zk93-ab get_sunshine sunshines sunshine-2"}`
	want := `{"a":"unknown credential <1>, <1> or <2>; <3> <3>","b":123456789,"c":"weather <4> bearer short zk93-abc Zk93-ab get_sunshine sunshines sunshine-2"}`
	if got := v.Text(text); got != want {
		t.Fatalf("%s\nwant\n%s", got, want)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var got strings.Builder
		var held Held
		for rest := text; ; {
			n := min(rng.IntN(12), len(rest))
			var out []byte
			out, held = v.Stream(held, []byte(rest[:n]), n == len(rest))
			got.Write(out)
			if rest = rest[n:]; rest == "" && len(held.Data) == 0 {
				break
			}
		}
		if got.String() != want {
			t.Fatalf("%s\nwant\n%s", got.String(), want)
		}
	}
}

// The most recent values are known, up to the maximum.
func TestValuesAreBounded(t *testing.T) {
	var v *Values
	name := func(i int) string {
		return "value-" + strings.Repeat("x", i%5) + string(rune('a'+i%26)) + "-" + strings.Repeat("9", i/26+1)
	}
	for i := range maxValues + 10 {
		v = v.With(name(i), "<>", true)
	}
	if len(v.known) != maxValues || v.Text(name(0)) != name(0) || v.Text(name(maxValues+9)) != "<>" {
		t.Errorf("%d values are known, the first as %s, the last as %s", len(v.known), v.Text(name(0)), v.Text(name(maxValues+9)))
	}
}

// A secret is found whatever else is known, however long it is and wherever it is cut.
func TestValuesDoNotHideEachOther(t *testing.T) {
	jwt := "eyJhbGciOiJIUzI1NiJ9." + strings.Repeat("aB3-", 300)
	for _, c := range []struct {
		known []string
		text  string
	}{
		{[]string{"Abcdef1", "bxyz-12"}, "ab|xyz-12"},               // the other one begins the same except for the case
		{[]string{"cdefgh", "abcdefghij"}, "x|abcdefghij"},          // the byte before the longer one decides
		{[]string{"cdefgh", "abcdefghij"}, " |ab|cdefghij"},         //
		{[]string{jwt}, "bad token " + jwt[:700] + "|" + jwt[700:]}, // as long as tokens are
		{[]string{"token-1", "token-12"}, "token-1|2 and token-1"},  //
	} {
		var v *Values
		for i, k := range c.known {
			v = v.With(k, strings.Repeat("#", i+1), true)
		}
		whole := v.Text(strings.ReplaceAll(c.text, "|", ""))
		var got []byte
		var held Held
		pieces := strings.Split(c.text, "|")
		for i, piece := range pieces {
			var out []byte
			out, held = v.Stream(held, []byte(piece), i == len(pieces)-1)
			got = append(got, out...)
		}
		if string(got) != whole {
			t.Errorf("%.40q of %.40q: in pieces %.60q, whole %.60q", c.text, c.known, got, whole)
		}
	}
	var v *Values
	v = v.With("cdefgh", "#", true).With("abcdefghij", "##", true).With(jwt, "###", false)
	for text, want := range map[string]string{
		"x abcdefghij": "x ##", "abcdefghij": "##", "zabcdefghij": "zabcdefghij", "cdefgh abcdefghij": "# ##", jwt + "!": "###!",
	} {
		if got := v.Text(text); got != want {
			t.Errorf("%.40s becomes %.40s, want %s", text, got, want)
		}
	}
}

// Replacements leave JSON valid, whatever the secrets are.
func TestValuesLeaveJSONValid(t *testing.T) {
	docs := []string{
		`{"structuredContent":{"debug":true}}`, `{"a":{"theme":"dark"},"b":[true,false,null,1.5e10]}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"a":"x\nabc-12345","b":"\\nabc-12345","c":"\"dark-1\"","d":"dark\\-12"}`, `["x\\","nabc-12345\\"]`,
	}
	for _, doc := range docs {
		for from := range len(doc) {
			for to := from + leastValue; to <= len(doc); to++ {
				var v *Values
				v = v.With(doc[from:to], "masked:1", true)
				if got := v.Text(doc); !json.Valid([]byte(got)) {
					t.Errorf("with %s, %s becomes %s", doc[from:to], doc, got)
				}
				cut := (from + to) / 2
				head, held := v.Stream(Held{}, []byte(doc[:from]), false)
				middle, held := v.Stream(held, []byte(doc[from:cut]), false)
				tail, _ := v.Stream(held, []byte(doc[cut:]), true)
				if got := string(head) + string(middle) + string(tail); !json.Valid([]byte(got)) {
					t.Errorf("with %s in pieces, %s becomes %s", doc[from:to], doc, got)
				}
			}
		}
	}
}

// A secret is found in the spellings of JSON of Go, .NET and Gson.
func TestValuesInSpellingsOfJSON(t *testing.T) {
	var v *Values
	v = v.With(`kq8v+Z2m='<4>&p"L`, "#", true)
	for _, text := range []string{
		`kq8v+Z2m='<4>&p"L`, `kq8v+Z2m='<4>&p\"L`, `kq8v+Z2m='\u003c4\u003e\u0026p\"L`, `kq8v\u002BZ2m=\u0027\u003C4\u003E\u0026p\u0022L`,
		`kq8v+Z2m\u003d\u0027\u003c4\u003e\u0026p\"L`,
	} {
		if got := v.Text("x " + text + " y"); got != "x # y" {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}

// BenchmarkValuesStream searches for few values and for the maximum number: traffic waits
// for it.
func BenchmarkValuesStream(b *testing.B) {
	text := []byte(strings.Repeat(`{"text":"a value of a token in the text"},`, 64<<10/42))
	for _, values := range []int{10, maxValues} {
		b.Run(fmt.Sprint(values), func(b *testing.B) {
			var v *Values
			for i := range values {
				v = v.With(fmt.Sprintf("%08x+of/token", uint32(i+1)*0x9e3779b1), "#", true)
			}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				v.Stream(Held{}, text, false)
			}
		})
	}
}

// A new secret is added while a request waits, so this must be fast however many are known.
func BenchmarkValuesWith(b *testing.B) {
	var v *Values
	for i := range maxValues {
		v = v.With(fmt.Sprintf("8f14e45f-ceea-467f-9c3b-%012x", i), "#", false)
	}
	for i := 0; b.Loop(); i++ {
		v.With(fmt.Sprintf("9f14e45f-ceea-467f-9c3b-%012x", i), "#", false)
	}
}

// TestLooksRandom: dates, addresses and names with versions are not keys.
func TestLooksRandom(t *testing.T) {
	for _, s := range []string{"2024-11-05T10:00:00Z", "Windows-11-24H2-x64", "2001:db8::ff00:42:8329", "app-v1.2.3-beta.4-linux-x64.tar.gz", "10-Tips-for-Go1.26-and-MCP2026"} {
		if LooksRandom(s) {
			t.Errorf("%s looks random", s)
		}
	}
	for _, s := range []string{"kJ8sd7Fh2Lq9Xw3Zr5Tn6Yb2", "user-8f14e45fceea167a5a36dedd4bea2543", "v1.3Xk9Qw7Zp2Lm5Rt8"} {
		if !LooksRandom(s) {
			t.Errorf("%s does not look random", s)
		}
	}
}
