package jsontree

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{`1`, `1`, ``},
		{`1`, `2`, `changed $`},
		{`{"a":1}`, `{}`, `removed $.a`},
		{`{}`, `{"a":null}`, `added $.a`},
		{`{"a":null}`, `{"a":""}`, `changed $.a`},
		{`{"a":[]}`, `{"a":{}}`, `changed $.a`},
		{`{"a":{"b":{"c":1,"d":2}}}`, `{"a":{"b":{"d":3,"c":1}}}`, `changed $.a.b.d`},
		{`{"a":1,"b":2,"c":3}`, `{"c":4,"x":0,"a":1}`, `removed $.b; changed $.c; added $.x`},
		{`{"a":1}`, `{"a":1.0}`, `respelled $.a`},
		{`[1,[2.0,3]]`, `[1,[2,3e0]]`, `respelled $[1][0]; respelled $[1][1]`},
		{`{"odd name":1,"":2,"0":3}`, `{"odd name":2,"":3,"0":4}`, `changed $["odd name"]; changed $[""]; changed $["0"]`},
		// arrays
		{`[1,2,3]`, `[1,3]`, `removed $[1]`},
		{`[1,3]`, `[1,2,3]`, `added $[1]`},
		{`[1,2,3]`, `[1,9,3]`, `changed $[1]`},
		{`[1,2,3]`, `[3,1,2]`, `moved $[2] to 0`},
		{`[{"a":1,"b":1},{"a":2,"b":2}]`, `[{"a":1,"b":1},{"a":2,"b":3}]`, `changed $[1].b`},
		{`[{"name":"x","v":1},{"name":"y","v":2}]`, `[{"name":"y","v":3}]`, `removed $[0]; changed $[1].v`},
		{`[{"name":"x","v":1}]`, `[{"name":"y","v":1}]`, `removed $[0]; added $[0]`},
		{`[{"type":"text","text":"a"}]`, `[{"type":"text","text":"b"}]`, `changed $[0].text`},
		{`[1,"a"]`, `["b",2]`, `removed $[0]; removed $[1]; added $[0]; added $[1]`},
		{`[1,"a"]`, `[2,"b"]`, `changed $[0]; changed $[1]`},
		{`[1,1,2]`, `[1,2,1]`, `moved $[1] to 2`},
		{`[[1,2],[3,4]]`, `[[1,2],[3,5]]`, `changed $[1][1]`},
		{`[0,1,2,3,4,5,6,7,8,9]`, `[1,2,3,4,5,6,7,8,9,10]`, `removed $[0]; added $[9]`},
		// elements with keys
		{`[{"id":1,"v":1},{"id":2,"v":2}]`, `[{"id":2,"v":2},{"id":1,"v":9}]`, `moved $[0] to 1; changed $[0].v`},
		{`[{"id":1,"v":1},{"id":2,"v":2}]`, `[{"id":2,"v":3},{"id":1,"v":9}]`, `moved $[0] to 1; changed $[0].v; changed $[1].v`},
		{`[{"uri":"a","v":1}]`, `[{"uri":"b","v":3},{"uri":"a","v":9}]`, `changed $[0].v; added $[0]`},
		{`[{"id":1,"name":"a"}]`, `[{"id":2,"name":"x"},{"id":1,"name":"b"}]`, `changed $[0].name; added $[0]`},
		{`[{"id":1,"v":1},{"id":1,"v":2}]`, `[{"id":1,"v":3},{"id":1,"v":4}]`, `changed $[0].v; changed $[1].v`},
		{`[{"id":1,"v":1},{"id":1,"v":2}]`, `[{"id":1,"v":2},{"id":1,"v":9}]`, `moved $[0] to 1; changed $[0].v`},
		{`[{"id":1,"in":[{"id":"x","v":1},{"id":"y"}]},{"id":2}]`, `[{"id":2},{"id":1,"in":[{"id":"y"},{"id":"x","v":2}]}]`,
			`moved $[0] to 1; moved $[0].in[0] to 1; changed $[0].in[0].v`},
		{`[{"name":"x","v":1},{"name":"y","v":1},{"name":"z","v":1}]`, `[{"name":"z","v":2},{"name":"y","v":2},{"name":"x","v":2}]`,
			`moved $[0] to 2; changed $[0].v; changed $[1].v; changed $[2].v`},
		{`[{"id":"0f8fad5b-d9cb-469f-a165-70867728950e","v":1},{"id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","v":2}]`,
			`[{"id":"3b241101-e2bb-4255-8caf-4136c566a962","v":1},{"id":"c56a41800d534f2bb3c58f04d2f1a6c1","v":3}]`,
			`changed $[0].id; changed $[1].id; changed $[1].v`},
		{`[{"id":"0f8fad5b-d9cb-469f-a165-70867728950e","v":1},{"id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","v":2}]`,
			`[{"id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","v":2},{"id":"0f8fad5b-d9cb-469f-a165-70867728950e","v":3}]`,
			`moved $[0] to 1; changed $[0].v`},
		// and with keys inside
		{`[[{"id":1,"v":1}],[{"id":2,"v":2}]]`, `[[{"id":9}],[{"id":1,"v":3}],[{"id":2,"v":2}]]`, `changed $[0][0].v; added $[0]`},
		{`[{"r":[{"id":1,"v":1}]},{"r":[{"id":2,"v":2}]}]`, `[{"r":[{"id":2,"v":3}]},{"r":[{"id":1,"v":1}]}]`, `moved $[1] to 0; changed $[1].r[0].v`},
		{`[{"in":{"uri":"a"},"t":"x"},{"in":{"uri":"b"},"t":"y"}]`, `[{"in":{"uri":"b"},"t":"yy"}]`, `removed $[0]; changed $[1].t`},
		{`[{"in":{"uri":"a"}}]`, `[{"in":{"uri":"b"}}]`, `changed $[0].in.uri`},
		// JSON inside text
		{`{"t":"{\"a\":1,\"b\":[1,2]}"}`, `{"t":"{\"a\":1,\"b\":[1,3]}"}`, `changed $.t.(json).b[1]`},
		{`{"t":"{\"a\":1,\"b\":2}"}`, `{"t":"{ \"b\": 2,\n \"a\": 1 }"}`, `respelled $.t`},
		{`{"t":"\n [1] \t"}`, `{"t":"[2]\n"}`, `changed $.t.(json)[0]`},
		{`{"t":"{\"a\":\"[1,2]\"}"}`, `{"t":"{\"a\":\"[1,3]\"}"}`, `changed $.t.(json).a.(json)[1]`},
		{`{"t":"{broken}"}`, `{"t":"{broken!}"}`, `changed $.t`},
		{`{"t":"[1]"}`, `{"t":"{}"}`, `changed $.t.(json)`},
		{`{"t":"[1]"}`, `{"t":"x"}`, `changed $.t`},
		{`"{\"a\":1}"`, `"{\"a\":1.0}"`, `respelled $.(json).a`},
	} {
		if got := changes(root(t, c.a), root(t, c.b)); got != c.want {
			t.Errorf("%s and %s:\n got %s\nwant %s", c.a, c.b, got, c.want)
		}
	}
}

// TestCompareBack checks on random values that both directions have the same number of
// changes, and that there are none if nothing differs.
func TestCompareBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		a := randomJSON(rng, 4)
		b := a
		if rng.IntN(4) > 0 {
			b = mutate(rng, a)
		}
		x, y := root(t, a), root(t, b)
		forth, back := changes(x, y), changes(y, x)
		if (forth == "") != (x.Equal(y) && x.Spelled() == y.Spelled()) {
			t.Fatalf("%s and %s: equal %v, changes %q", a, b, x.Equal(y), forth)
		}
		if (forth == "") != (back == "") {
			t.Fatalf("%s and %s: %q forth, %q back", a, b, forth, back)
		}
	}
}

func randomJSON(rng *rand.Rand, depth int) string {
	switch k := rng.IntN(7); {
	case depth == 0 || k < 3:
		return []string{"1", "1.0", "2", `"a"`, `"b c"`, "null", "true", `"[1]"`, `"[2]"`}[rng.IntN(9)]
	case k < 5:
		var all []string
		for range rng.IntN(5) {
			all = append(all, randomJSON(rng, depth-1))
		}
		return "[" + strings.Join(all, ",") + "]"
	default:
		var all []string
		for i := range rng.IntN(4) {
			all = append(all, strconv.Quote(string("abcd"[i]))+":"+randomJSON(rng, depth-1))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
}

func mutate(rng *rand.Rand, s string) string {
	for _, old := range []string{"null", "true", "\"[1]\"", "\"b c\""} {
		if i := strings.Index(s, old); i >= 0 && rng.IntN(2) == 0 {
			return s[:i] + randomJSON(rng, 1) + s[i+len(old):]
		}
	}
	return s
}

func TestAlignIsACommonSubsequence(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		a, b := make([]uint64, rng.IntN(200)), make([]uint64, rng.IntN(200))
		letters := 1 + rng.IntN(300)
		for _, s := range [][]uint64{a, b} {
			for i := range s {
				s[i] = uint64(rng.IntN(letters))
			}
		}
		if rng.IntN(2) == 0 {
			b = append(append([]uint64{}, a[:len(a)/3]...), a[len(a)/2:]...)
		}
		last := Pair{-1, -1}
		for _, p := range Align(a, b) {
			if p.A <= last.A || p.B <= last.B || a[p.A] != b[p.B] {
				t.Fatalf("%v after %v of %v and %v", p, last, a, b)
			}
			last = p
		}
	}
}

func TestAlignFindsCommonElements(t *testing.T) {
	n := 10000
	whole := make([]uint64, n)
	for i := range whole {
		whole[i] = uint64(i) % 7000
	}
	if got := len(Align(whole, whole[1:])); got != n-1 {
		t.Errorf("shifted by one: %d of %d", got, n-1)
	}
	without := append(append(append([]uint64{}, whole[:100]...), whole[200:5000]...), whole[5001:]...)
	if got := len(Align(whole, without)); got != len(without) {
		t.Errorf("two stretches left out: %d of %d", got, len(without))
	}
}

func TestCompareStops(t *testing.T) {
	a, b := root(t, "["+strings.Repeat("1,", 1000)+"1]"), root(t, "["+strings.Repeat("2,", 1000)+"2]")
	n := 0
	if Compare(a, b, Path{To("x")}, func(*Change) bool { n++; return n < 10 }) || n != 10 {
		t.Errorf("%d changes were reported", n)
	}
}

func TestPathOfAnyLength(t *testing.T) {
	deep := strings.Repeat(`{"member":`, 5000)
	end := strings.Repeat("}", 5000)
	Compare(root(t, deep+"1"+end), root(t, deep+"2"+end), nil, func(c *Change) bool {
		if s := c.Path.String(); len(s) > 1000 || !strings.Contains(s, "member..member") {
			t.Errorf("path of %d bytes: %s", len(s), s)
		}
		return true
	})
	long := Path{To(strings.Repeat("x", 1e6)), To("\x1b[31m\u202e"), {Kind: Keyed, Name: "a\"b"}}
	if s := long.String(); len(s) > 300 || strings.ContainsAny(s, "\x1b\u202e") || !strings.HasSuffix(s, `["\u001b[31m\u202e"]["a\"b"]`) {
		t.Errorf("path %s", s)
	}
}

func TestCompareNumbers(t *testing.T) {
	order := strings.Fields("-1e30 -10 -9.5 -1 -1e-5 0 1e-300 0.1 0.11 0.2 1 1.5 9007199254740992 9007199254740993 1e17 1e300")
	for i, a := range order {
		for j, b := range order {
			got, ok := CompareNumbers([]byte(a), []byte(b))
			if !ok || (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s and %s: %d, %v", a, b, got, ok)
			}
		}
	}
	if got, ok := CompareNumbers([]byte("-0"), []byte("0.00")); got != 0 || !ok {
		t.Errorf("-0 and 0: %d", got)
	}
	if _, ok := CompareNumbers([]byte("1e99999999999999999999"), []byte("1")); ok {
		t.Error("an exponent that is out of range can be compared")
	}
}

func ExampleCompare() {
	a, _ := Parse([]byte(`{"content":[{"type":"text","text":"{\"temp\":21}"}],"big":9007199254740992}`))
	b, _ := Parse([]byte(`{"content":[{"type":"text","text":"{\"temp\":22}"}],"big":9007199254740993}`))
	Compare(a, b, Path{To("result")}, func(c *Change) bool {
		fmt.Printf("%s %s: %s, %s\n", c.Path, c.Kind, c.A.Raw(), c.B.Raw())
		return true
	})
	// Output:
	// $.result.content[0].text.(json).temp changed: 21, 22
	// $.result.big changed: 9007199254740992, 9007199254740993
}

// TestSingleChildren compares thousands of levels with a single child, which differ in
// name, in kind, or in the members that they hide.
func TestSingleChildren(t *testing.T) {
	deep := func(open, inner, end string) string {
		return strings.Repeat(open, 3000) + inner + strings.Repeat(end, 3000)
	}
	for _, c := range []struct{ a, b, want string }{
		{deep("[", "1", "]"), deep("[", "2", "]"), "changed 1 2 at depth 3000"},
		{deep(`{"a":`, "1", "}"), deep(`{"a":`, "2", "}"), "changed 1 2 at depth 3000"},
		{deep(`{"a":[`, "1", "]}"), deep(`{"a":[`, "[]", "]}"), "removed 1  at depth 6000; added  [] at depth 6000"},
		{deep(`{"a":0,"a":`, "1", "}"), deep(`{"a":`, "2", "}"), "changed 1 2 at depth 3000"},
		{deep("[", `{"b":1}`, "]"), deep("[", `{"c":1}`, "]"), "removed 1  at depth 3001; added  1 at depth 3001"},
		{deep("[", `{"name":"x","v":1}`, "]"), deep("[", `{"name":"y","v":1}`, "]"), `removed {"name":"x","v":1}  at depth 3000; added  {"name":"y","v":1} at depth 3000`},
		{deep("[", "1.0", "]"), deep("[", "1", "]"), "respelled 1.0 1 at depth 3000"},
	} {
		var got []string
		repeated := 0
		path := Path{To("result")}
		Compare(root(t, c.a), root(t, c.b), path, func(x *Change) bool {
			if x.Kind == Repeated {
				repeated++
				return true
			}
			got = append(got, fmt.Sprintf("%s %s %s at depth %d", x.Kind, x.A.Raw(), x.B.Raw(), len(x.Path)-1))
			return true
		})
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%.30s: %.300q, want %q", c.a, got, c.want)
		}
		if want := strings.Count(c.a, `"a":0`); repeated != want {
			t.Errorf("%.30s: %d names are repeated on one side, want %d", c.a, repeated, want)
		}
	}
}

// FuzzCompare checks that two values have changes if and only if they differ.
func FuzzCompare(f *testing.F) {
	for _, s := range [][2]string{
		{`[{"id":1,"v":[1,2]},{"id":2}]`, `[{"id":2},{"id":1,"v":[2,1]}]`}, {`{"a":1,"a":2.0}`, `{"a":2}`},
		{`["{\"a\":1}"]`, `["{\"a\": 1.0}"]`}, {`[[1,[2]],[3]]`, `[[3],[1,[2.0]]]`}, {`[1,1,2,1]`, `[2,1,1,1]`},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, errX := Parse([]byte(a))
		y, errY := Parse([]byte(b))
		if errX != nil || errY != nil {
			return
		}
		if got := changes(x, y); (got == "") != x.Same(y) {
			t.Errorf("%s and %s are the same: %v, changes %q", a, b, x.Same(y), got)
		}
	})
}
