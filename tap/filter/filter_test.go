package filter

import (
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

func TestNeeds(t *testing.T) {
	for q, want := range map[string]Needs{
		"":                             0,
		"seq:1 at:>1s size:>1 dir:c2s": 0,
		"exchange:1 is:torn kind:life": 0,
		"foo":                          NeedPayload,
		"-/foo/":                       NeedPayload,
		"method:ping tool:x id:1":      0,
		"latency:>1s is:slow":          NeedWait,
		"is:error,invalid,late,orphan": 0,
		"is:pending":                   NeedFuture,
		"is:cancelled":                 NeedFuture,
		"session:1":                    NeedSession,
		"rev:x OR status:404":          NeedSession,
		"foo (id:1 OR -is:pending)":    NeedPayload | NeedFuture,
	} {
		if got := mustParse(t, q).Needs(); got != want {
			t.Errorf("%s needs %b, want %b", q, got, want)
		}
	}
	if n := NeedPayload | NeedFuture; !n.Has(NeedFuture) || n.Has(NeedFuture|NeedSession) {
		t.Error("Has is wrong")
	}
}

// TestNeedsPayload checks that a payload is searched only if the fields do not decide.
func TestNeedsPayload(t *testing.T) {
	it := &Item{Frame: &tap.Frame{Seq: 1}}
	for q, want := range map[string]answer{
		"": yes, "seq:1": yes, "-method:*": yes, "seq:2 text": no, "-(seq:1 OR text)": no, "text seq:2": no, "seq:1 OR text": yes, "*": yes,
		"text": unknown, "-text": unknown, "/text/ seq:1": unknown, "seq:2 OR text": unknown, "(text OR seq:1) -other": unknown,
		"seq:2 (text OR -other)": no, "text,*": yes,
	} {
		f := mustParse(t, q)
		if got := f.NeedsPayload(it); got != (want == unknown) {
			t.Errorf("%s: NeedsPayload is %v", q, got)
		}
		if got := f.Match(it, nil); want != unknown && got != (want == yes) {
			t.Errorf("%s: %v", q, got)
		}
	}
}

// TestFound checks that results of several payloads add up, however many terms there are.
func TestFound(t *testing.T) {
	var words []string
	for i := range 200 {
		words = append(words, fmt.Sprintf("w%d.", i))
	}
	f := mustParse(t, strings.Join(words, " "))
	it := &Item{Frame: &tap.Frame{}}
	var found Found
	for i, w := range words {
		if f.Match(it, found) {
			t.Fatalf("matches after %d of %d words", i, len(words))
		}
		one := f.Search([]byte(strings.ToUpper(w)))
		found.Add(one)
		if !one.has(i) || found.has(i+1) {
			t.Errorf("%s: %b", w, one)
		}
	}
	if !f.Match(it, found) {
		t.Error("does not match with all words")
	}
	if mustParse(t, "-a").Match(it, Found{1}) || !mustParse(t, "-a").Match(it, nil) {
		t.Error("the negation is wrong")
	}
}

// TestMatchAny checks that the items of a frame share its payload.
func TestMatchAny(t *testing.T) {
	frame := &tap.Frame{Raw: []byte(`[{"a":"needle"},{"b":1}]`)}
	all := []Item{{Frame: frame, Method: "ping"}, {Frame: frame, Method: "tools/call", Is: IsError}}
	for q, want := range map[string]bool{
		"": true, "needle": true, "-needle": false, "needle is:error": true, "nail is:error": false, "nail OR method:ping": true,
		"method:ping is:error": false, "-needle -is:error": false, "method:ping needle": true,
	} {
		if got := mustParse(t, q).MatchAny(all); got != want {
			t.Errorf("%s: %v", q, got)
		}
	}
	if mustParse(t, "").MatchAny(nil) {
		t.Error("no items match")
	}
}

func TestSlow(t *testing.T) {
	for took, want := range map[time.Duration]bool{time.Second: true, time.Second - 1: false} {
		f := mustParse(t, "is:slow")
		it := &Item{Frame: &tap.Frame{}, Answered: true, Latency: took}
		if got := matches(t, f, it); got != want {
			t.Errorf("%v: %v", took, got)
		}
		if it.Answered = false; matches(t, f, it) {
			t.Errorf("%v: slow without an answer", took)
		}
	}
}

// TestString checks the canonical form of queries.
func TestString(t *testing.T) {
	for q, want := range map[string]string{
		"":                              "",
		"  a   b\t\n c ":                "a b c",
		"METHOD:Tools/Call,\"x y\",/r/": "method:Tools/Call,\"x y\",/r/",
		"a AND b":                       "a b",
		"NOT a":                         "-a",
		"NOT NOT a":                     "a",
		"NOT -a":                        "a",
		"-(a)":                          "-a",
		"-((-a))":                       "a",
		"((a) (b))":                     "a b",
		"(a OR b) c":                    "(a OR b) c",
		"a OR (b c)":                    "a OR b c",
		"a OR (b OR c)":                 "a OR b OR c",
		"-(a b)":                        "-(a b)",
		"-(a OR b)OR(c)":                "-(a OR b) OR c",
		"latency:>500ms,1s..":           "latency:>500ms,1s..",
	} {
		if got := mustParse(t, q).String(); got != want {
			t.Errorf("%q became %q, want %q", q, got, want)
		}
	}
}

// TestLongFields checks that hostile fields are read once.
func TestLongFields(t *testing.T) {
	long := strings.Repeat("a", 1<<18)
	for q, want := range map[string]bool{
		"uri:*" + strings.Repeat("a", 500) + "b*":          false,
		"uri:" + strings.Repeat("*a", 500) + "*":           true,
		"uri:" + strings.Repeat("a*", 500) + "b":           false,
		"uri:" + strings.Repeat("*"+"aaaaaaab", 400) + "*": false,
		"uri:/(a|aa)+$/":     true,
		"id:" + "*aaab*":     false,
		"uri:/^(a?){50}b/":   false,
		"uri:A*a":            true,
		"method:*,tool:*":    false,
		"-(uri:* id:*)":      false,
		"uri:*\u212a*,*A*A*": true,
	} {
		it := &Item{Frame: &tap.Frame{}, URI: long, ID: []byte(`"` + long)}
		if got := matches(t, mustParse(t, q), it); got != want {
			t.Errorf("%.40s: %v", q, got)
		}
	}
}

// TestEveryEventIsAKind reads the events of package tap from its source: a new event
// must be added to the words of kind:.
func TestEveryEventIsAKind(t *testing.T) {
	f, err := goparser.ParseFile(token.NewFileSet(), "../event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, w := range kindWords {
		known = append(known, w.name)
	}
	events := 0
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Event") {
			return true
		}
		events++
		name, _ := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if !slices.Contains(known, name) || (name == "request" || name == "response") && !slices.Contains(known, "http_"+name) {
			t.Errorf("kind: lacks the event %s: add it to kindWords", name)
		}
		return true
	})
	if events < 13 {
		t.Errorf("only %d events found", events)
	}
	for k := jsonrpc.Kind(0); k < jsonrpc.Kinds; k++ {
		if !slices.Contains(known, k.String()) {
			t.Errorf("kind: lacks %s", k)
		}
	}
	for l := tap.Lane(0); l < tap.Lanes; l++ {
		if !slices.ContainsFunc(dirWords, func(w word) bool { return w.name == l.String() }) {
			t.Errorf("dir: lacks %s", l)
		}
	}
}

func TestHelp(t *testing.T) {
	explained := map[string]bool{}
	for _, s := range Help() {
		if s.Title == "" || len(s.Lines) == 0 {
			t.Errorf("section %q is empty", s.Title)
		}
		for _, l := range s.Lines {
			explained[l.Form] = true
			if l.Means == "" || strings.Contains(l.Means, "\n") || len(l.Means) > 90 {
				t.Errorf("%s: %q is not one line", l.Form, l.Means)
			}
			if len(l.Examples) == 0 {
				t.Errorf("%s has no example", l.Form)
			}
			for _, e := range l.Examples {
				if _, err := Parse(e); err != nil {
					t.Errorf("%s: %v", e, err)
				}
				if k := strings.TrimSuffix(l.Form, ":"); k != l.Form && k != "key" && !strings.Contains(e, l.Form) {
					t.Errorf("%s: the example %s does not use it", l.Form, e)
				}
			}
		}
	}
	for _, name := range keyNames() {
		if !explained[name] {
			t.Errorf("%s is not explained", name)
		}
	}
	for other, k := range otherKeys {
		if lookupKey(k) == nil || lookupKey(other) != nil {
			t.Errorf("otherKeys has %s for %s", other, k)
		}
	}
}

// FuzzParse tries any query: nothing panics, errors can be shown, and the canonical
// form of a filter means the same.
func FuzzParse(f *testing.F) {
	qs, _ := queries(f)
	for _, q := range qs {
		f.Add(q)
	}
	for _, line := range strings.Split(readFile(f, "testdata/errors.txt"), "\n") {
		if q, ok := strings.CutPrefix(line, "> "); ok {
			f.Add(q)
		}
	}
	all := items(f)
	f.Fuzz(func(t *testing.T, q string) {
		for _, cursor := range []int{0, len(q) / 2, len(q)} {
			for _, c := range Complete(q, cursor, seen) {
				if c.From < 0 || c.From > cursor || c.To < cursor || c.To > len(q) {
					t.Errorf("%q at %d: %+v", q, cursor, c)
				}
			}
		}
		one, err := Parse(q)
		if err != nil {
			checkError(t, err.(*Error))
			return
		}
		other, err := Parse(one.String())
		if err != nil {
			t.Fatalf("%q became %q: %v", q, one, err)
		}
		if other.String() != one.String() || other.Needs() != one.Needs() {
			t.Errorf("%q became %q, then %q", q, one, other)
		}
		for _, it := range all {
			if matches(t, one, it) != matches(t, other, it) {
				t.Errorf("%q became %q, which is another query to frame %d", q, one, it.Frame.Seq)
			}
		}
	})
}

// FuzzMatch tries a query on any payload.
func FuzzMatch(f *testing.F) {
	qs, _ := queries(f)
	for i, q := range qs {
		f.Add(q, payloads[i%len(payloads)], payloads[i/2%len(payloads)])
	}
	f.Fuzz(func(t *testing.T, q, payload, field string) {
		filter, err := Parse(q)
		if err != nil {
			return
		}
		raw := []byte(payload)
		it := &Item{Frame: &tap.Frame{Raw: raw, Size: int64(len(raw))}, Method: field, URI: field, ID: []byte(field)}
		matches(t, filter, it)
		if string(raw) != payload {
			t.Error("the payload was changed")
		}
	})
}
