package jsontree

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func root(t testing.TB, s string) Value {
	t.Helper()
	v, err := Parse([]byte(s))
	if err != nil {
		t.Fatalf("Parse(%.60q): %v", s, err)
	}
	return v
}

func TestEqualByValue(t *testing.T) {
	same := [][2]string{
		{`{"a":1,"b":2}`, "{\n \"b\" : 2,\t\"a\":1}\r\n"},
		{`"a/é😀"`, `"\u0061\/\u00e9\ud83d\ude00"`},
		{`"\n\t\b\f\r\"\\"`, `"\u000a\u0009\u0008\u000c\u000d\u0022\u005c"`},
		{`{"\u0061":1}`, `{"a":1}`},
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`[{"x":{"a":0,"b":1,"a":{}}}]`, `[{"x":{"b":1,"a":{}}}]`},
	}
	for _, n := range []string{
		"1 1.0 1e0 10e-1 0.1e1 1E+0 0.01e2", "0 -0 0.0 -0e7 0e-9", "100 1e2 1.00e+2 0.1e3", "-5e-1 -0.5 -0.50",
		"9007199254740993 9007199254740993.0 9007199254740.993e3", "123456789012345678901234567890123456789 123456789012345678901234567890123456.789e3",
		"1e999999999999999999999 1e999999999999999999999", "0.000001 1e-6 1E-06",
	} {
		all := strings.Fields(n)
		for _, other := range all[1:] {
			same = append(same, [2]string{all[0], other})
		}
	}
	for _, pair := range same {
		if a, b := root(t, pair[0]), root(t, pair[1]); !a.Equal(b) {
			t.Errorf("%s and %s differ", pair[0], pair[1])
		}
	}
}

func TestDifferentByValue(t *testing.T) {
	// All of these differ from one another.
	all := strings.Split(`null|false|true|0|""|[]|{}|"0"|"null"|[null]|{"a":null}|{"a":[]}|{"a":{}}|{"a":""}|{"a":0}|`+
		`9007199254740992|9007199254740993|1e400|1e401|-1|1|0.1|0.10000000000000001|[1,2]|[2,1]|[[1],2]|[1,[2]]|[1,2,null]|`+
		`{"a":1,"b":2}|{"a":2,"b":1}|{"a":{"b":1}}|{"b":{"a":1}}|"a"|"A"|"é"|"e\u0301"|"\ud800"|"\udc00"|"�"|"\u0000"|[""]|`+
		`["a","b"]|["ab"]|["a,b"]|{"ab":1}|[{}]|[[]]|[[],[]]|[{},{}]`, "|")
	seen := map[uint64]string{}
	for _, s := range all {
		h := root(t, s).Hash()
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s are the same", s, other)
		}
		seen[h] = s
	}
}

func TestOrderOfMembersAtAnySize(t *testing.T) {
	for _, n := range []int{1, 2, 16, 500} {
		var up, down, twice strings.Builder
		for i := range n {
			fmt.Fprintf(&up, `,"k%d":%d`, i, i)
			fmt.Fprintf(&down, `,"k%d":%d`, n-1-i, n-1-i)
			fmt.Fprintf(&twice, `,"k%d":[%d]`, i, i)
		}
		a := root(t, "{"+up.String()[1:]+"}")
		if b := root(t, "{"+down.String()[1:]+"}"); !a.Equal(b) {
			t.Errorf("%d members in reverse differ", n)
		}
		// Each name twice: the last counts.
		b := root(t, "{"+twice.String()[1:]+up.String()+"}")
		if !a.Equal(b) || b.Len() != n {
			t.Errorf("%d members, each twice: equal %v, %d members", n, a.Equal(b), b.Len())
		}
		count := 0
		for name, m := range b.All() {
			if m.Kind() != Number {
				t.Errorf("member %s is %s", name, m.Raw())
			}
			count++
		}
		if count != n {
			t.Errorf("%d of %d members are listed", count, n)
		}
	}
}

func TestInvalidJSON(t *testing.T) {
	for _, s := range []string{
		``, ` `, `nul`, `truee`, `[`, `]`, `[1,]`, `[1 2]`, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{"a" 1}`, `01`, `-`, `+1`, `1.`, `.5`, `1e`,
		`1e+`, `"`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"a\nb\"", "\"\x00\"", `[]]`, `{}{}`, `1 2`, `'a'`, `"a\`, `NaN`, "\x00",
	} {
		if _, err := Parse([]byte(s)); !errors.Is(err, errSyntax) {
			t.Errorf("Parse(%q): %v, want %v", s, err, errSyntax)
		}
	}
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	if _, err := Parse([]byte(deep)); !errors.Is(err, errDeep) {
		t.Errorf("%d levels: %v", MaxDepth+1, err)
	}
	if _, err := Parse([]byte(deep[1 : len(deep)-1])); err != nil {
		t.Errorf("%d levels: %v", MaxDepth, err)
	}
}

func TestValues(t *testing.T) {
	v := root(t, ` {"a":{"b":[1,"x\ny",true,null]},"\u0063":false,"d":"\ud800"} `)
	list := v.Get("a", "b")
	var raw []string
	for _, c := range list.All() {
		raw = append(raw, string(c.Raw()))
	}
	if got := strings.Join(raw, " "); got != `1 "x\ny" true null` || list.Len() != 4 {
		t.Errorf("elements %s, %d", got, list.Len())
	}
	if c := v.Get("c"); c.Kind() != Bool || c.True() || string(c.RawName()) != `"\u0063"` {
		t.Errorf("c: %v %v %q", c.Kind(), c.True(), c.RawName())
	}
	if got := v.Get("d").Text(); got != "\xed\xa0\x80" {
		t.Errorf("a lone surrogate is %q", got)
	}
	for _, none := range []Value{v.Get("x"), v.Get("a", "x", "y"), v.Get("a", "b", "c"), {}} {
		if none.Exists() || none.Kind() != Absent || none.Raw() != nil || none.Len() != 0 || none.Text() != "" || none.RawName() != nil {
			t.Errorf("absent is %v", none.Kind())
		}
		for range none.All() {
			t.Error("absent has children")
		}
	}
}

func TestParseTopKeepsTheHashes(t *testing.T) {
	text := `{"a":{"b":[1,{"c":2,"c":3}]},"d":[1.0,[],{}],"e":"x"}`
	whole := root(t, text)
	var r Reader
	for depth := range 5 {
		v, err := r.ParseTop([]byte(text), depth)
		if err != nil {
			t.Fatal(err)
		}
		if !v.Equal(whole) || v.Spelled() != whole.Spelled() {
			t.Errorf("depth %d: another hash", depth)
		}
		if depth > 0 && (!v.Get("a").Equal(whole.Get("a")) || v.Get("a").Opaque() != (depth == 1)) {
			t.Errorf("depth %d: a is wrong", depth)
		}
		if depth == 0 && (len(v.doc.nodes) != 1 || v.Len() != 3) {
			t.Errorf("depth 0 keeps %d nodes of %d", len(v.doc.nodes), v.Len())
		}
	}
}

func TestTooManyValuesAreOpaque(t *testing.T) {
	text := `{"few":[1,2],"many":[` + strings.Repeat(`[1,2],`, 100) + `0],"more":{"x":1}}`
	v, err := parse([]byte(text), false, MaxDepth, 50)
	if err != nil {
		t.Fatal(err)
	}
	if !v.Equal(root(t, text)) {
		t.Error("another hash")
	}
	if n := len(v.doc.nodes); n > 50 || !v.Get("many").Opaque() || v.Get("many").Len() != 101 || v.Get("few").Opaque() {
		t.Errorf("%d nodes, many is opaque: %v (%d), few: %v", n, v.Get("many").Opaque(), v.Get("many").Len(), v.Get("few").Opaque())
	}
	other, _ := parse([]byte(strings.Replace(text, ",0]", ",1]", 1)), false, MaxDepth, 50)
	if got := changes(v, other); got != "changed $.many" {
		t.Errorf("changes: %s", got)
	}
}

func TestHashWithout(t *testing.T) {
	const text = `{"id":7,"a":{"id":1.0},"id":8,"d":{}}`
	for _, c := range []struct{ omit, same string }{
		{"", text}, {"id", `{"d":{},"a":{"id":1.0}}`}, {"a d", `{"id":7,"id":8}`},
	} {
		value, spelled := root(t, text).HashWithout(func(name string) bool { return slices.Contains(strings.Fields(c.omit), name) })
		if same := root(t, c.same); value != same.Hash() || spelled != same.Spelled() {
			t.Errorf("without %q it is not %s", c.omit, c.same)
		}
	}
	for text, want := range map[string]uint64{"[1]": root(t, "[1]").Hash(), "{}": 0, `{"a":1}`: 0} {
		if value, _ := root(t, text).HashWithout(func(string) bool { return true }); value != want {
			t.Errorf("%s without its members: %d, want %d", text, value, want)
		}
	}
}

// changes lists the changes between two values, a word and a path each.
func changes(a, b Value) string {
	var all []string
	Compare(a, b, nil, func(c *Change) bool {
		s := c.Kind.String() + " " + c.Path.String()
		if c.Kind == Moved {
			s += fmt.Sprintf(" to %d", c.To)
		}
		all = append(all, s)
		return true
	})
	return strings.Join(all, "; ")
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50,{"b":null}],"a":true}`, `"\ud800\u0041"`, `[[[]]]`, `-0.0e-10`, ` {} `} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := Parse([]byte(s))
		if valid := json.Valid([]byte(s)); (err == nil) != valid && !errors.Is(err, errDeep) {
			t.Fatalf("Parse: %v, json.Valid: %v", err, valid)
		}
		if err != nil {
			return
		}
		if got := changes(d, d); got != "" {
			t.Errorf("differs from itself: %s", got)
		}
		// Encoded by another package, it is equal.
		dec := json.NewDecoder(strings.NewReader(s))
		dec.UseNumber()
		var v any
		if dec.Decode(&v) != nil || strings.Contains(s, `\u`) || strings.ContainsRune(s, '�') {
			return // a lone surrogate, or invalid UTF-8: encoding/json replaces them
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), `\ufffd`) {
			return
		}
		again, err := Parse(b)
		if err != nil || !again.Equal(d) {
			t.Errorf("%q and %q differ (%v)", s, b, err)
		}
	})
}

// TestRaw checks the text and the offset of values.
func TestRaw(t *testing.T) {
	const text = ` [ {"a" : [ 1 ] } , [ ] , "b" , 2.0 ] `
	var all []string
	for _, e := range root(t, text).All() {
		if raw := string(e.Raw()); !strings.HasPrefix(text[e.Offset():], raw) {
			t.Errorf("%s is not at %d", raw, e.Offset())
		}
		all = append(all, string(e.Raw()))
	}
	if got := strings.Join(all, "|"); got != `{"a" : [ 1 ] }|[ ]|"b"|2.0` {
		t.Error(got)
	}
}

// TestRemove removes members and elements by their paths.
func TestRemove(t *testing.T) {
	const text = `{"a":{"id":7,"b":[1,{"id":2,"c":3},[]]},"id":"x","d":{}}`
	for _, c := range []struct{ gone, left string }{
		{"", text},
		{"id a.id a.b[1].id", `{"a":{"b":[1,{"c":3},[]]},"d":{}}`},
		{"a.b", `{"a":{"id":7},"id":"x","d":{}}`},
		{"a.b[0] d", `{"a":{"id":7,"b":[null,{"id":2,"c":3},[]]},"id":"x"}`},
		{"a.b[1]", `{"a":{"id":7,"b":[1,null,[]]},"id":"x","d":{}}`},
	} {
		v := root(t, text)
		v.Remove(func(p Path, _ Value) bool {
			return slices.Contains(strings.Fields(c.gone), strings.TrimPrefix(p.String(), "$."))
		})
		left := root(t, c.left)
		if !v.Same(left) || v.Len() != left.Len() {
			t.Errorf("without %q it is not %s", c.gone, c.left)
		}
		if got := changes(v, left); got != "" {
			t.Errorf("without %q: %s", c.gone, got)
		}
		for _, other := range []string{`{}`, strings.Replace(c.left, `"a"`, `"e"`, 1), strings.Replace(c.left, "[]", "[1]", 1)} {
			if other != c.left && v.Equal(root(t, other)) {
				t.Errorf("without %q it is %s", c.gone, other)
			}
		}
	}
}
