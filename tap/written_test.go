package tap

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkWritten holds what is read of checked JSON against encoding/json.
func checkWritten(t *testing.T, raw []byte) {
	t.Helper()
	raw = bytes.TrimSpace(raw)
	var want any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if !json.Valid(raw) || d.Decode(&want) != nil {
		written(raw).each(func(_ []byte, _ written) bool { return true }) // it comes to an end
		return
	}
	if got := rebuilt(t, raw); utf8.Valid(raw) && !reflect.DeepEqual(got, want) {
		t.Fatalf("%.1000q:\n got %#v\nwant %#v", raw, got, want)
	}
	if s, ok := want.(string); ok && utf8.Valid(raw) {
		if got := written(raw).text(); got != clipped(s) {
			t.Fatalf("%.1000q as text: %q", raw, got)
		}
	}
}

// rebuilt is a value made by reading it member by member.
func rebuilt(t *testing.T, v written) any {
	switch v[0] {
	case '{':
		m := map[string]any{}
		v.each(func(name []byte, value written) bool {
			m[string(name)] = rebuilt(t, value)
			return true
		})
		for name := range m { // the last of two counts
			if got := v.get(name); !reflect.DeepEqual(rebuilt(t, got), m[name]) {
				t.Fatalf("%.1000q: %q is %.100q", v, name, got)
			}
		}
		return m
	case '[':
		list := []any{}
		v.each(func(_ []byte, value written) bool {
			list = append(list, rebuilt(t, value))
			return true
		})
		return list
	}
	var x any
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	if err := d.Decode(&x); err != nil {
		t.Fatalf("%.1000q: %v", v, err)
	}
	return x
}

func TestWritten(t *testing.T) {
	for _, raw := range quickSeeds(t) {
		checkWritten(t, raw)
		for i := 0; i < len(raw); i += 7 {
			checkWritten(t, raw[:i])
		}
	}
	rng := rand.New(rand.NewPCG(11, 11))
	for range 5000 {
		if raw := randomJSON(rng, nil, 0); utf8.Valid(raw) {
			checkWritten(t, raw)
		}
	}
	if got := written(`{"a":{"b":1,"b":{"c":2}}}`).get("a", "b", "c"); string(got) != "2" {
		t.Errorf("%s", got)
	}
	for _, none := range []string{``, `1`, `[]`, `{}`, `{"b":1}`, `[{"a":1}]`} {
		if got := written(none).get("a"); got != nil {
			t.Errorf("%q has %s", none, got)
		}
	}
}

// Texts are cut where bound has enough of them, in whatever way they are written.
func TestWrittenTexts(t *testing.T) {
	for _, letter := range []string{"x", "é", "€", "😀", `\n`, `\u00e9`, `\u20ac`, `\ud83d\ude00`, `\u0041`, `\ud800`} {
		for n := 0; n < 1100; n += 1 + n/50 {
			for _, before := range []string{"", "a", "ab", "abc"} {
				raw := `"` + before + strings.Repeat(letter, n) + `"`
				var s string
				if err := json.Unmarshal([]byte(raw), &s); err != nil {
					t.Fatal(err)
				}
				if got := bound(written(raw).text()); got != bound(s) {
					t.Fatalf("%d times %s after %q: %q, want %q", n, letter, before, got, bound(s))
				}
			}
		}
	}
	for raw, want := range map[string]string{`null`: "", ``: "", `true`: "true", `-1.50`: "-1.50", `{"a":1}`: `{"a":1}`, `""`: ""} {
		if got := written(raw).text(); got != want {
			t.Errorf("%s is %q", raw, got)
		}
	}
}

// FuzzWritten reads any bytes as a value.
func FuzzWritten(f *testing.F) {
	for _, raw := range quickSeeds(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkWritten(t, raw) })
}
