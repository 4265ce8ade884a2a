package tap

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// checkQuick holds that what the quick reading takes a scan takes for the same,
// as a line and as a body. It reports whether it was taken.
func checkQuick(t testing.TB, raw []byte) bool {
	t.Helper()
	var q quick
	if !mayQuick(raw) || !q.read(raw) {
		return false
	}
	before := string(raw)
	for _, c := range []struct {
		what      string
		got, want Message
	}{{"line", Peek(raw), peekOdd(raw)}, {"body", peekBody(raw), peekOddBody(raw)}} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Fatalf("%.2000q as a %s:\n got %+v\nwant %+v", raw, c.what, c.got, c.want)
		}
		for i, part := range [][2][]byte{{c.got.ID, c.want.ID}, {c.got.Params, c.want.Params}, {c.got.Result, c.want.Result}, {c.got.Error, c.want.Error}} {
			if len(part[0]) > 0 && (&part[0][0] != &part[1][0] || i > 0 && cap(part[0]) != cap(part[1])) {
				t.Fatalf("%.2000q as a %s: part %d is another memory", raw, c.what, i)
			}
		}
	}
	if string(raw) != before {
		t.Fatalf("%.2000q was changed", before)
	}
	return true
}

// quickSeeds are the messages of all fixtures of the package.
func quickSeeds(t testing.TB) (all [][]byte) {
	for _, c := range peekCases {
		all = append(all, []byte(c.raw))
	}
	for _, c := range peekFrameCases {
		if len(c.raw) < 1000 {
			all = append(all, []byte(c.raw))
		}
	}
	for _, r := range referenceFrames(t) {
		all = append(all, r.raw)
	}
	names, err := filepath.Glob(filepath.Join("testdata", "calls", "*.txt"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if i := strings.IndexAny(line, "{["); i >= 0 {
				all = append(all, []byte(line[i:]))
			}
		}
	}
	return all
}

// What the specifications' messages and the calls' look like is what is quick.
func TestQuickTakesMessages(t *testing.T) {
	frames := referenceFrames(t)
	taken := 0
	for _, r := range frames {
		if checkQuick(t, r.raw) {
			taken++
		} else if m := Peek(r.raw); m.Kind != Invalid && m.Kind != Batch && !m.Duplicates {
			t.Errorf("%s is not quick", r.raw)
		}
	}
	if taken < len(frames)*3/4 {
		t.Errorf("only %d of %d are quick", taken, len(frames))
	}
}

// TestQuickSame breaks each fixture in many places: a byte left out, doubled,
// another one, the rest missing.
func TestQuickSame(t *testing.T) {
	others := []byte("\"\\{}[],: \t\x00\x1f\x7f\x80\xff0123456789.eE+-tfnu\n")
	for _, raw := range quickSeeds(t) {
		checkQuick(t, raw)
		if len(raw) > 300 {
			continue
		}
		for i := 0; i < len(raw); i += 1 + len(raw)/80 {
			checkQuick(t, raw[:i])
			changed := append(append(append([]byte(nil), raw[:i]...), raw[i]), raw[i:]...)
			checkQuick(t, changed)
			checkQuick(t, append(changed[:i], changed[i+2:]...))
			changed = append([]byte(nil), raw...)
			changed[i] = others[i%len(others)]
			checkQuick(t, changed)
		}
	}
}

// The bounds of the reading: what is deep, and what has many names.
func TestQuickBounds(t *testing.T) {
	members := func(n int, more string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":%d,`, i, i)
		}
		return b.String() + more
	}
	arrays := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	objects := func(n int, inside string) string {
		return strings.Repeat(`{"a":1,"b":`, n) + inside + strings.Repeat("}", n)
	}
	for _, c := range []struct {
		raw   string
		quick bool
	}{
		{`{"id":1,"result":` + arrays(maxNesting-1) + `}`, true},
		{`{"id":1,"result":` + arrays(maxNesting+1) + `}`, false},
		{`{"id":1,"result":` + objects(maxNesting-1, "{}") + `}`, true},
		{`{"id":1,"result":` + objects(maxNesting, "{}") + `}`, false},
		{`{"id":1,"result":` + objects(dupeLevels-2, `{"x":1,"x":1}`) + `}`, false},
		{`{"id":1,"result":` + objects(dupeLevels-1, `{"x":1,"x":1}`) + `}`, true},
		{`{"id":1,"result":` + arrays(maxNesting - 1)[:maxNesting-1] + `{"x":1,"x":1}` + strings.Repeat("]", maxNesting-1) + `}`, false},
		{`{` + members(dupeNames-2, `"method":"m"`) + `}`, true},
		{`{` + members(dupeNames, `"method":"m"`) + `}`, false},
		{`{` + members(dupeNames, `"id":1,"id":2,"method":"m"`) + `}`, false},
		{`{"id":1,"result":{` + members(dupeNames-1, `"isError":true,"isError":true`) + `}}`, false},
		{`{"id":1,"result":{` + members(dupeNames, `"isError":true,"isError":false`) + `}}`, true},
		{`{"id":1,"error":{` + members(dupeNames, `"code":1,"code":{},"message":{},"message":"x"`) + `}}`, true},
		{`{"id":1,"result":{` + members(dupeNames, `"k127":true`) + `}}`, false},
		{`{"id":1,"result":{` + members(1000, `"a":[{`+members(200, `"z":1`)+`},{`+members(200, `"z":1`)+`}]`) + `}}`, true},
		{`{"id":1,"result":{` + members(1000, `"a":[{`+members(200, `"z":1`)+`},{`+members(200, `"k3":1`)+`}]`) + `}}`, false},
	} {
		if got := checkQuick(t, []byte(c.raw)); got != c.quick {
			t.Errorf("%.100s…: quick is %v", c.raw, got)
		}
	}
}

// randomJSON appends a value, most often of the words that count.
func randomJSON(rng *rand.Rand, b []byte, depth int) []byte {
	scalars := []string{
		`1`, `-0`, `1.5e+3`, `01`, `-`, `1.`, `2E`, `true`, `false`, `null`, `nul`, `"2.0"`, `"ping"`, `"tools/call"`, `"complete"`, `""`,
		`"a\nb"`, `"\u00e9"`, `"\ud800"`, `"é"`, "\"\xff\"", `"\x"`, `"eight by"`, `"eight byt\\"`, "\"con\x01trol\"", `9007199254740993`,
	}
	names := []string{
		`jsonrpc`, `id`, `method`, `params`, `result`, `error`, `code`, `message`, `isError`, `resultType`, `name`, `x`, ``, `i\u0064`,
		`é`, "\xff", `eightbyt`, `eightbytes`, `sixteen bytes na`, `sixteen bytes nam`, `a name of more than sixteen bytes`,
	}
	space := func() {
		if rng.IntN(12) == 0 {
			b = append(b, " \t\r\n\v"[rng.IntN(5)])
		}
	}
	open, end := byte('{'), byte('}')
	switch kind := rng.IntN(8); {
	case kind < 4 && depth > 0 || depth > 6:
		return append(b, scalars[rng.IntN(len(scalars))]...)
	case kind == 4:
		open, end = '[', ']'
	}
	b = append(b, open)
	for i := range rng.IntN(6) {
		if space(); i > 0 {
			b = append(b, ',')
			space()
		}
		if open == '{' {
			b = append(append(append(b, '"'), names[rng.IntN(len(names))]...), '"')
			space()
			b = append(b, ':')
			space()
		}
		b = randomJSON(rng, b, depth+1)
		space()
	}
	return append(b, end)
}

func TestQuickRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	taken := 0
	for range 20000 {
		if checkQuick(t, randomJSON(rng, nil, 0)) {
			taken++
		}
	}
	if taken < 1000 {
		t.Errorf("only %d were quick", taken)
	}
}

// FuzzPeekSame holds the quick reading against the one of the pieces.
func FuzzPeekSame(f *testing.F) {
	for _, raw := range quickSeeds(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkQuick(t, raw) })
}
