package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
)

func TestBatchesAreUnrolled(t *testing.T) {
	frames := corpus(t, "2025-03-26-batch-healthy")["2025-03-26-batch-healthy"]
	var single []tap.Frame
	batches := 0
	for _, f := range frames {
		var all []json.RawMessage
		if json.Unmarshal(f.Raw, &all) != nil || f.Lane == tap.Lifecycle {
			single = append(single, f)
			continue
		}
		batches++
		for _, one := range all {
			g := f
			g.Raw = append(slices.Clone(one), '\n')
			g.Size = int64(len(g.Raw))
			single = append(single, g)
		}
	}
	for i := range single {
		single[i].Seq = uint64(i + 1)
	}
	if r := compare(t, frames, single, Options{}); batches == 0 || len(r.Differences) > 0 {
		t.Errorf("%d batches:\n%s", batches, reportLines(r))
	}
}

// TestFormsOfTransport compares a session on stdio with the same session over HTTP, with responses
// as bodies and as events.
func TestFormsOfTransport(t *testing.T) {
	for name, frames := range corpus(t, "-healthy") {
		http := slices.Clone(frames)
		for i := range http {
			f := &http[i]
			switch f.Lane {
			case tap.ToServer:
				f.Form = tap.FormBody
			case tap.ToClient:
				f.Form = tap.FormEvent
				f.Raw = []byte(fmt.Sprintf("id: %d\nevent: message\ndata: %s\n\n", i, bytes.TrimSpace(f.Raw)))
				f.Size = int64(len(f.Raw))
			}
		}
		if r := compare(t, frames, http, Options{}); len(r.Differences) > 0 {
			t.Errorf("%s:\n%s", name, reportLines(r))
		}
	}
}

// answeredWith returns a session with one call that has the given result.
func answeredWith(result string) []tap.Frame {
	lines := fmt.Sprintf("%s\n%s\n",
		`>{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f"}}`, `<{"jsonrpc":"2.0","id":1,"result":`+result+`}`)
	return conversed(lines)
}

// TestOpaqueResults compares results with values that were read as opaque (see jsontree.MaxNodes):
// differences in them must still be reported.
func TestOpaqueResults(t *testing.T) {
	const text = `{"_meta":{"m":{"x":1}},"content":[{"text":"c"}],"tools":[{"name":"a","inputSchema":{"properties":{"p":{"type":"string"}}},"annotations":{"z":{"k":2}}}]}`
	for _, c := range [][2]string{
		{text, strings.Replace(text, `"x":1`, `"x":2`, 1)}, {text, strings.Replace(text, `"string"`, `"number"`, 1)},
		{text, strings.Replace(text, `"k":2`, `"k":3`, 1)}, {text, strings.Replace(text, `"c"`, `"d"`, 1)}, {`[1]`, `[2]`}, {`{"tools":[1]}`, `[1]`},
	} {
		for depth := range 9 {
			var sides [2]jsontree.Value
			for i := range sides {
				v, err := new(jsontree.Reader).ParseTop([]byte(c[i]), depth)
				if err != nil {
					t.Fatal(err)
				}
				sides[i] = v
			}
			for _, method := range []string{"tools/call", "tools/list", "odd"} {
				found := 0
				e := &engine{a: NewSession("a", nil), b: NewSession("b", nil), found: func(f *finding) { found++ }}
				e.compareValues(&where{part: result, method: method}, sides[0], sides[1])
				if e.compareValues(&where{part: result, method: method}, sides[0], sides[0]); found != 1 {
					t.Errorf("%s, %s and %s, down to %d: %d differences", method, c[0], c[1], depth, found)
				}
			}
		}
	}
}

// TestDeepResults has a change at each of many levels. The time must not be quadratic in their
// number.
func TestDeepResults(t *testing.T) {
	const levels = 4000
	deep := func(leaf string) string {
		return strings.Repeat(`[0,`, levels) + leaf + strings.Repeat(","+leaf+"]", levels)
	}
	r := compare(t, answeredWith(deep("1")), answeredWith(deep("2")), Options{})
	if r.Counts[Behaviour] < levels {
		t.Errorf("%d differences", r.Counts[Behaviour])
	}
	rule, err := ParseRule("$..nothing")
	if err != nil {
		t.Fatal(err)
	}
	if r := compare(t, answeredWith(deep("1")), answeredWith(deep("2")), Options{Ignore: []Rule{rule}}); r.Ignored != 0 {
		t.Errorf("%d ignored", r.Ignored)
	}
}

// TestManyQuestionsAtOnce answers more requests than are kept.
func TestManyQuestionsAtOnce(t *testing.T) {
	var ask, reply strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&ask, `,"k%d":{"method":"roots/list"}`, i)
		fmt.Fprintf(&reply, `,"k%d":{"roots":[]}`, i)
	}
	text := fmt.Sprintf("rev 2026-07-28\n> tools/call {\"name\":\"f\"}\n< {\"resultType\":\"input_required\",\"inputRequests\":{%s},\"requestState\":\"s\"}\n"+
		"> tools/call {\"name\":\"f\",\"requestState\":\"s\",\"inputResponses\":{%s}}\n< {\"content\":[]}", ask.String()[1:], reply.String()[1:])
	lines, _ := parseTruth(text)
	a := play(t, 'a', lines)
	if r := compare(t, a, a, Options{}); len(r.Differences) > 0 {
		t.Error(reportLines(r))
	}
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"tools/call now: $.result.content[*].text", `$.a["b\"c"].d`, "$..*", "@uuids", "tools/call: @uuids", "$[0][*]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := ParseRule(s); err == nil && (r.path == nil) == (r.preset == nil) {
			t.Errorf("%q is a path and a preset, or neither", s)
		}
	})
}
