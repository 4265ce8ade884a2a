package redact

import (
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

const printedJSON = `config: {
  "env": [
    {
      "name": "API_KEY",
      "value": "planted-1"
    }, {
      "name": "MODE",
      "value": "fast"
    }
  ],
  "apiKeys": [
    "planted-2",
    "planted-3"
  ],
  "credentials": {
    "main": "planted-4"
  },
  "rawHeaders": [
    "Accept",
    "*/*",
    "X-Api-Key",
    "planted-5"
  ],
  "password":
    "planted-6",
  "mode": "fast"
}
"fast"
`

// The lines of JSON on stderr are frames, so a name and its value may be in two of them.
func TestPrettyPrintedOnStderr(t *testing.T) {
	var list []tap.Frame
	for line := range strings.Lines(printedJSON) {
		list = append(list, tap.Frame{Seq: uint64(len(list) + 1), Lane: tap.Stderr, Raw: []byte(line)})
	}
	check := testOptions()
	check.Check = true
	checker := New(check)
	live := New(testOptions())
	all := ""
	for i := range list {
		out := live.Frame(&list[i])
		all += string(out)
		checker.Frame(&list[i])
	}
	if strings.Contains(all, "planted") || strings.Count(all, prefix) != 6 || strings.Count(all, "fast") != 3 {
		t.Errorf("recorded %s", all)
	}
	for _, r := range []*Redactor{live, checker} {
		times := uint64(0)
		for _, f := range r.Findings() {
			times += f.Times
		}
		if times != 6 {
			t.Errorf("found %+v", r.Findings())
		}
	}
}

// A line that was written in several pieces is read as a whole.
func TestPrettyPrintedInPieces(t *testing.T) {
	r := New(testOptions())
	c := NewCopier(r)
	out := ""
	for pass := range 2 {
		out = ""
		for i, raw := range []string{"{\n", `  "apiKeys": `, "[\n", `    "plan`, "ted-1\",\n", "    \"planted-2\"\n", "  ]\n", "}\n"} {
			f := tap.Frame{Seq: uint64(i + 1), Lane: tap.Stderr, Raw: []byte(raw), Size: int64(len(raw))}
			c.Frame(&f)
			out += string(f.Raw)
		}
		if c.End(); pass == 0 {
			r.Again()
		}
	}
	if strings.Contains(out, "planted") || strings.Contains(out, `ted-1`) || strings.Count(out, prefix) != 2 {
		t.Errorf("copied %s", out)
	}
}
