package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// Numbers are equal by their exact value, ids and words by type too.
func TestWords(t *testing.T) {
	long := strings.Repeat("7", 100)
	same := [][]string{
		{`1`, `1.0`, `1e0`, `10e-1`, `0.1E+1`, `100000000000000000000000000000000e-32`},
		{`100`, `1e2`, `1.00e2`},
		{`0`, `-0`, `0.0`, `0e9`, `-0.0e-3`},
		{`-3`, `-3.0`, `-30e-1`},
		{`9007199254740993`},
		{`9007199254740992`, `9007199254740992.0`},
		{`"1"`, `"\u0031"`},
		{`"e"`, `"\u0065"`},
		{`"é"`, `"\u00e9"`, `"\u00E9"`},
		{`"😀"`, `"\ud83d\ude00"`},
		{`"\ud83d"`}, {`"\ude00"`}, {`"\ufffd"`, "\"\ufffd\""},
		{`"\n\t\r\b\f\/\\\""`, `"\u000a\u0009\u000d\u0008\u000c\u002f\u005c\u0022"`},
		{long, long + ".0", long + "e0"},
		{long + "0", long + "e1"},
		{`1e400`, `10e399`}, {`1e99999999999`}, {`1e99999999998`},
		{`12345678901234567890123456789012`, `1234567890123456789012345678901.2e1`},
		{`10000000000000000000000000000000`, `1e31`}, {`-1000000000000000000000000000000`, `-1e30`},
		{`1000000000000000000000000000000000`, `1e33`},
		{`true`}, {`false`}, {`""`},
	}
	seen := map[string]int{}
	for i, spellings := range same {
		for _, s := range spellings {
			if !json.Valid([]byte(s)) {
				t.Fatalf("%s is no JSON", s)
			}
			key := word([]byte(s))
			if j, ok := seen[key]; ok && j != i {
				t.Errorf("%.40s is taken for %.40s", s, same[j][0])
			} else if !ok && s != spellings[0] {
				t.Errorf("%.40s is not taken for %.40s", s, spellings[0])
			}
			seen[key] = i
		}
	}
	for _, nothing := range []string{"", "null", "{}", "[1]"} {
		if w := word([]byte(nothing)); w != "" {
			t.Errorf("%q is the word %q", nothing, w)
		}
	}
}

// reference is a slow canonical form of a JSON value, made with another parser.
func reference(v any) string {
	switch v := v.(type) {
	case json.Number:
		return string(jsonrpc.AppendNumber(nil, []byte(v)))
	case map[string]any:
		var parts []string
		for name := range v {
			parts = append(parts, fmt.Sprintf("%q:%s", name, reference(v[name])))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, reference(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprint(v)
}

// Two values have the same sum exactly if they are equal, and spellings make no
// difference.
func TestSums(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	h := hasher{seeds: newSeeds()}
	byForm, bySum := map[string]sum{}, map[sum]string{}
	for range 20_000 {
		v := randomValue(r, 3)
		for range 2 {
			raw := spell(r, v)
			got, end := h.value(raw, 0, nil)
			if end != len(raw) || len(h.buf) != 0 || len(h.members) != 0 {
				t.Fatalf("%s: ends at %d, %d bytes and %d members are left", raw, end, len(h.buf), len(h.members))
			}
			var parsed any
			if err := decodeJSON(raw, &parsed); err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			form := reference(parsed)
			if before, ok := byForm[form]; ok && before != got {
				t.Fatalf("%s has two sums", form)
			}
			if before, ok := bySum[got]; ok && before != form {
				t.Fatalf("%s and %s have one sum", before, form)
			}
			byForm[form], bySum[got] = got, form
			if n := skip(raw, 0); n != len(raw) {
				t.Fatalf("skip(%s) = %d", raw, n)
			}
		}
	}
	if len(byForm) < 1000 {
		t.Fatalf("only %d values", len(byForm))
	}
}

func randomValue(r *rand.Rand, depth int) any {
	names := []string{"a", "b", "é", "\n", "_meta", ""}
	switch n := r.IntN(8); {
	case n < 2 && depth > 0:
		m := map[string]any{}
		for range r.IntN(4) {
			m[names[r.IntN(len(names))]] = randomValue(r, depth-1)
		}
		return m
	case n < 4 && depth > 0:
		s := []any{}
		for range r.IntN(4) {
			s = append(s, randomValue(r, depth-1))
		}
		return s
	case n == 4:
		return names[r.IntN(len(names))]
	case n == 5:
		return []any{nil, true, false}[r.IntN(3)]
	}
	return json.Number([]string{"0", "1", "-1", "100", "0.5", "12345678901234567890"}[r.IntN(6)])
}

// spell writes a value in one of its spellings.
func spell(r *rand.Rand, v any) []byte {
	var b bytes.Buffer
	gap := func() {
		for r.IntN(3) == 0 {
			b.WriteByte(" \t\r\n"[r.IntN(4)])
		}
	}
	var write func(v any)
	write = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			b.WriteByte('{')
			first := true
			for name, value := range v { // in any order
				if !first {
					b.WriteByte(',')
				}
				gap()
				if first = false; r.IntN(4) == 0 { // the last of two counts
					fmt.Fprintf(&b, "%s:%s,", spellString(r, name), `{"x":[1,2]}`)
				}
				b.WriteString(spellString(r, name))
				gap()
				b.WriteByte(':')
				gap()
				write(value)
				gap()
			}
			b.WriteByte('}')
		case []any:
			b.WriteByte('[')
			for i, value := range v {
				if i > 0 {
					b.WriteByte(',')
				}
				gap()
				write(value)
				gap()
			}
			b.WriteByte(']')
		case string:
			b.WriteString(spellString(r, v))
		case json.Number:
			spellings := map[json.Number][]string{"1": {"1", "1.0", "10e-1"}, "100": {"100", "1e2"}, "0": {"0", "-0", "0.0"}}[v]
			spellings = append(spellings, v.String())
			b.WriteString(spellings[r.IntN(len(spellings))])
		case nil:
			b.WriteString("null")
		default:
			fmt.Fprint(&b, v)
		}
	}
	write(v)
	return b.Bytes()
}

// spellString writes a string, some characters as escapes.
func spellString(r *rand.Rand, s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		if c < ' ' || r.IntN(2) == 0 {
			fmt.Fprintf(&b, `\u%04x`, c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String() + `"`
}

// What is ignored makes no difference to a sum.
func TestIgnored(t *testing.T) {
	for _, c := range []struct {
		p    Path
		a, b string
		same bool
	}{
		{[]string{"x"}, `{"x":1,"y":1}`, `{"x":2,"y":1}`, true},
		{[]string{"x"}, `{"x":1,"y":1}`, `{"y":1}`, true},
		{[]string{"x"}, `{"x":1,"y":1}`, `{"x":1,"y":2}`, false},
		{[]string{"x"}, `{"z":{"x":1}}`, `{"z":{"x":2}}`, false},
		{[]string{"*", "x"}, `{"z":{"x":1}}`, `{"z":{"x":2}}`, true},
		{[]string{"z", "x"}, `{"z":{"x":1},"q":{"x":1}}`, `{"z":{"x":2},"q":{"x":1}}`, true},
		{[]string{"z", "x"}, `{"q":{"x":1}}`, `{"q":{"x":2}}`, false},
		{[]string{"l", "*", "id"}, `{"l":[{"id":1},{"id":2}]}`, `{"l":[{"id":3},{}]}`, true},
		{[]string{"l", "0"}, `{"l":[1,2]}`, `{"l":[9,2]}`, true},
		{[]string{"l", "0"}, `{"l":[1,2]}`, `{"l":[1,9]}`, false},
		{[]string{"l", "0"}, `{"l":[1,2]}`, `{"l":[2]}`, false},
		{[]string{"l", "*"}, `{"l":[1,2]}`, `{"l":[3,4]}`, true},
		{[]string{"l", "*"}, `{"l":[1,2]}`, `{"l":[3]}`, false},
		{[]string{"a.b", "c/d"}, `{"a.b":{"c/d":1}}`, `{"a.b":{"c/d":2}}`, true},
		{[]string{""}, `{"":1}`, `{"":2}`, true},
	} {
		h := hasher{seeds: newSeeds()}
		a, _ := h.value([]byte(c.a), 0, []Path{c.p})
		b, _ := h.value([]byte(c.b), 0, []Path{c.p})
		if (a == b) != c.same {
			t.Errorf("%v: %s and %s: same is %v", c.p, c.a, c.b, a == b)
		}
		d := differ{hasher: h, ignore: []Path{c.p}, most: 10}
		if d.diff([]byte(c.a), []byte(c.b), nil); (d.count == 0) != c.same {
			t.Errorf("%v: %s and %s: %d differences", c.p, c.a, c.b, d.count)
		}
	}
}

func TestPaths(t *testing.T) {
	for text, want := range map[string]string{
		"$.params.arguments.now": "", `$.params.arguments["a.b"]`: "", "$.params[*].id": "", `$["params"].x`: "$.params.x", "$.params.*.id": "$.params[*].id",
		"$.params.messages[0]": "",
	} {
		if want == "" {
			want = text
		}
		p, err := ParsePath(text)
		if err != nil || p.String() != want {
			t.Errorf("%s: %v, %v, want %s", text, p, err, want)
		}
		if again, err := ParsePath(p.String()); err != nil || again.String() != want {
			t.Errorf("%s: read back as %v, %v", want, again, err)
		}
	}
	for wrong, why := range map[string]string{
		"": "begins with $", "a..b": "begins with $", "arguments.now": "write $.params.arguments.now", "params.x": "write $.params.x",
		"/arguments/a.b": `write $.params.arguments["a.b"]`, "/a~1b/0": `write $.params["a/b"][0]`, "messages.*.id": "write $.params.messages[*].id",
		"$": "no step", "$.params": "below $.params", "$.result.x": "below $.params", "$.params..x": "not supported",
	} {
		if p, err := ParsePath(wrong); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, %v, want %q", wrong, p, err, why)
		}
	}
}

// Finding members agrees with another parser, the last of two counting.
func TestFind(t *testing.T) {
	raw := []byte(` {"a" : 1, "\u0062" :{"c":[1,{"d":"}"}],"c": "é" } ,"e":{}, "a":-2.5e3 }`)
	for _, c := range []struct{ names, want string }{
		{"a", "-2.5e3"}, {"b c", `"é"`}, {"e", "{}"}, {"b", `{"c":[1,{"d":"}"}],"c": "é" }`}, {"x", ""}, {"a b", ""}, {"e x", ""},
	} {
		at, ok := find(raw, begin(raw), strings.Fields(c.names)...)
		if got := string(at.of(raw)); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v", c.names, got, ok)
		}
	}
}

// Whatever the bytes, walking them ends, and inside of them.
func FuzzWalk(f *testing.F) {
	for _, s := range []string{`{"a":[1,"x\\",{}],"b":null}`, `{`, `{"a"`, `{"a":`, `[1,`, `"\`, `{"a" 1}`, "\xef\xbb\xbf{}", `}`, `{,}`, `{:}`, `"\u12`, `[[[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if n := skip(raw, 0); n > len(raw) {
			t.Fatalf("skip goes to %d of %d", n, len(raw))
		}
		find(raw, begin(raw), "a", "b")
		h := hasher{seeds: newSeeds()}
		if _, end := h.value(raw, 0, nil); end > len(raw) {
			t.Fatalf("a sum goes to %d of %d", end, len(raw))
		}
		if json.Valid(raw) {
			raw = bytes.TrimSpace(raw)
			if n := skip(raw, 0); n != len(raw) {
				t.Fatalf("skip goes to %d of %d", n, len(raw))
			}
		}
		for i := range raw {
			decode(raw[i:])
		}
	})
}
