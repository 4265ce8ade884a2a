package redact

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A secret is found however the stream is cut, and all else stays as it is.
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

// The last values are known, as many as there is room for.
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
