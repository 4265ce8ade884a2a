package diff

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// TestSchemas runs a table of pairs of schemas. A title is followed by the two schemas and by the
// differences that are reported if they describe the arguments of a tool, and after a | if they
// describe its results, if that is different.
func TestSchemas(t *testing.T) {
	data, err := os.ReadFile("testdata/schemas.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range strings.Split(string(data), "\n\n") {
		lines := strings.Split(strings.TrimSpace(c), "\n")
		if strings.HasPrefix(lines[0], "#") {
			lines = lines[1:]
		}
		if len(lines) < 3 {
			continue
		}
		n++
		in, out, both := strings.Cut(strings.Join(lines[3:], "\n"), "|")
		if !both {
			out = in
		}
		for dir, want := range map[direction]string{intoServer: in, outOfServer: out} {
			want = strings.Join(strings.Fields(want), " ")
			if got := schemaVerdict(t, lines[1], lines[2], dir); got != want {
				t.Errorf("%s\n%s\n%s\nout of the server %v:\n  got %s\n want %s", lines[0], lines[1], lines[2], dir, got, want)
			}
		}
	}
	if n < 80 {
		t.Errorf("only %d pairs", n)
	}
}

func schemaVerdict(t *testing.T, a, b string, dir direction) string {
	x, errA := jsontree.Parse([]byte(a))
	y, errB := jsontree.Parse([]byte(b))
	if errA != nil || errB != nil {
		t.Fatalf("%s, %s: %v, %v", a, b, errA, errB)
	}
	e := &engine{}
	var all []string
	e.found = func(f *finding) {
		all = append(all, fmt.Sprintf("%s %s %s", f.class, f.kind, f.path))
	}
	e.schemas(&where{method: "tools/list"}, nil, x, y, dir)
	return strings.Join(strings.Fields(strings.Join(all, "; ")), " ")
}

func TestSchemaThatRefersToItself(t *testing.T) {
	a := `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"},"v":{"type":"string"}}}}}`
	b := strings.Replace(a, `"string"`, `"number"`, 1)
	if got := schemaVerdict(t, a, b, intoServer); got != "breaking changed $.properties.v.type" {
		t.Error(got)
	}
	for _, round := range []string{`{"$ref":"#"}`, `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`} {
		if got := schemaVerdict(t, round, round, intoServer); got != "" {
			t.Error(got)
		}
	}
}

// TestHostileMergedSchemas has schemas that would have to be merged endlessly, and nested choices.
// Schemas that cannot be compared in full are reported.
func TestHostileMergedSchemas(t *testing.T) {
	var defs strings.Builder
	for i := range 40 {
		fmt.Fprintf(&defs, `"d%d":{"description":"%d","properties":{"l":{"$ref":"#/$defs/d%d","title":"l"},"r":{"$ref":"#/$defs/d%d","title":"r"}}},`, i, i, i+1, i+1)
	}
	nested := func(leaf string, levels int) string {
		s := `{"type":"` + leaf + `"}`
		for i := range levels {
			s = fmt.Sprintf(`{"anyOf":[%s,{"required":["a%d"]},{"required":["b%d"]}]}`, s, i, i)
		}
		return s
	}
	wide := func(first string) string {
		return `{"anyOf":[` + first + strings.Repeat(`,{"properties":{"p":{"anyOf":[{"minLength":1},{"$ref":"#"}]}}}`, 15) + `]}`
	}
	for name, c := range map[string]struct{ a, b string }{
		"next to references": {`{"$ref":"#/$defs/d0","$defs":{` + defs.String() + `"d40":{"type":"string"}}}`, `{"$ref":"#/$defs/d0","$defs":{` + defs.String() + `"d40":{"type":"number"}}}`},
		"nested choices":     {nested("string", 1500), nested("number", 1500)},
		"choice or none":     {nested("string", 1500), `{"type":"string","minLength":1}`},
		"round and round":    {wide(`{"minLength":1}`), `{"properties":{"p":{"minLength":2},"q":{"$ref":"#"}}}`},
	} {
		for _, dir := range []direction{intoServer, outOfServer} {
			if got := schemaVerdict(t, c.a, c.b, dir); !strings.Contains(got, "breaking") && !strings.Contains(got, "behaviour") {
				t.Errorf("%s: %.200s", name, got)
			}
			if got := schemaVerdict(t, c.a, c.a, dir); got != "" {
				t.Errorf("%s, with itself: %.200s", name, got)
			}
		}
	}
}

// TestHostileSchema compares, in little time, a schema that would be endless if it were expanded.
func TestHostileSchema(t *testing.T) {
	var defs strings.Builder
	for i := range 40 {
		fmt.Fprintf(&defs, `"d%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d"},"r":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	bomb := `{"$ref":"#/$defs/d0","$defs":{` + defs.String() + `"d40":{"type":"TYPE"}}}`
	got := schemaVerdict(t, strings.Replace(bomb, "TYPE", "string", 1), strings.Replace(bomb, "TYPE", "number", 1), intoServer)
	if !strings.Contains(got, "breaking changed $.properties") {
		t.Errorf("%.200s", got)
	}
	many := func(n int, what string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%s%d":{"type":"string"}`, what, i)
		}
		return b.String()[1:]
	}
	names := func(n int, what string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%s%d"`, what, i)
		}
		return b.String()[1:]
	}
	const n = 5000
	schema := func(what string) string {
		return `{"properties":{` + many(n, what) + `},"required":[` + names(n, what) + `]}`
	}
	if got := strings.Count(schemaVerdict(t, schema("a"), schema("b"), intoServer), "breaking"); got != 2*n {
		t.Errorf("reported %d of %d removed or required properties", got, 2*n)
	}
}
