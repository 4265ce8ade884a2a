package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcptap/mcptap/check"
)

const hostile = "\x1b[2J\u009b2J<script>|`](javascript:x)\n::error::x%"

// sample returns a report with n findings, whose texts are hostile.
func sample(n int) []Recording {
	rule := check.Lookup("rpc-07")
	r := Recording{Name: "a " + hostile, File: "dir/a b.txtar", Lines: map[uint64]int{5: 42}, Report: &check.Report{}}
	for range n {
		r.Findings = append(r.Findings, &check.Finding{
			Rule: rule, Class: check.ClientBreaking, Subject: hostile, Path: "$.id", Text: hostile, Count: 9, Frames: []uint64{5, 6},
		})
	}
	r.Judgements = []*check.Judgement{
		{Rule: rule, Held: 1, Violated: uint64(n)},
		{Rule: check.Lookup("rpc-10"), NotJudged: 1, Reasons: []check.Reason{{Text: "the recording began later", Count: 1}}},
	}
	r.Gates = []Gate{{Query: "tool:x"}}
	return []Recording{r}
}

func write(t *testing.T, f Format, all []Recording) string {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b, all, check.Must); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\u009b") {
		t.Errorf("a control character is left in\n%s", b.String())
	}
	return b.String()
}

// In each format a finding begins with the fault, followed by the requirement.
func TestFaultFirst(t *testing.T) {
	all := sample(1)
	f := all[0].Findings[0]
	f.Subject, f.Text = "ping", "no such id"
	for name, format := range Formats {
		want := "ping $.id: no such id. " + f.Rule.Text
		if text := write(t, format, all); !strings.Contains(text, want) {
			t.Errorf("%s: %q is missing:\n%s", name, want, text)
		}
	}
}

// The summary gives the reasons if one or two rules could not be judged.
func TestSummaryReasons(t *testing.T) {
	r := sample(0)[0].Report
	for _, test := range []struct{ add, want string }{
		{"", "1 could not be judged (rpc-10: the recording began later)"},
		{"feat-08", "2 could not be judged (rpc-10: the recording began later; feat-08: a reason)"},
		{"feat-09", "3 could not be judged (rpc-10 feat-08 feat-09; --json has the reasons)"},
	} {
		if test.add != "" {
			r.Judgements = append(r.Judgements, &check.Judgement{Rule: check.Lookup(test.add), NotJudged: 1, Reasons: []check.Reason{{Text: "a reason", Count: 1}}})
		}
		if got, want := summary(r), "0 findings; 1 rule holds, "+test.want; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSARIF(t *testing.T) {
	data, err := os.ReadFile("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:sarif", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("urn:sarif")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, maxSARIF + 7} {
		text := write(t, SARIF, sample(n))
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			t.Errorf("%d findings: %v", n, err)
		}
		if left := strings.Contains(text, `"7 more findings are left out"`); left != (n > maxSARIF) {
			t.Errorf("%d findings: left out: %v", n, left)
		}
		if n == 1 && (!strings.Contains(text, `"startLine": 42`) || !strings.Contains(text, `"uri": "dir/a%20b.txtar"`)) {
			t.Errorf("the place is missing:\n%s", text)
		}
	}
	if text := write(t, SARIF, unread); !strings.Contains(text, `"executionSuccessful": false`) || !strings.Contains(text, "open x: not a recording") {
		t.Errorf("the error is missing:\n%s", text)
	}
	for file, want := range map[string]string{
		"/a b/x.mcptap": `"uri": "file:///a%20b/x.mcptap"`,
		"C:/x.mcptap":   `"uri": "file:///C:/x.mcptap"`,
		"x.mcptap":      `"uri": "x.mcptap"`,
	} {
		r := sample(1)
		r[0].File, r[0].Lines = file, nil
		if text := write(t, SARIF, r); !strings.Contains(text, want) || strings.Contains(text, "startLine") {
			t.Errorf("%s: the place is wrong:\n%s", file, text)
		}
	}
	if json.Valid([]byte(`{"version":"2.1.0"}`)) {
		v, _ := jsonschema.UnmarshalJSON(strings.NewReader(`{"version":"2.1.0"}`))
		if schema.Validate(v) == nil {
			t.Error("the schema accepts everything")
		}
	}
}

func TestJUnit(t *testing.T) {
	text := write(t, JUnit, sample(1))
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{`tests="3"`, `failures="2"`, `skipped="1"`, "the recording began later"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
}

// unread is a recording that could not be read.
var unread = []Recording{{Name: "x", Report: &check.Report{}, Error: "open x: not a recording\x1b"}}

func TestUnreadRecording(t *testing.T) {
	for want, f := range map[string]Format{
		`<error message="open x: not a recording`: JUnit, "Error: open x": Markdown, "::error title=mcptap check::open x": GitHub,
	} {
		if text := write(t, f, unread); !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	if text := write(t, JUnit, unread); !strings.Contains(text, `errors="1"`) {
		t.Errorf("no error is counted:\n%s", text)
	}
}

func TestMarkdown(t *testing.T) {
	text := write(t, Markdown, sample(1))
	for _, bad := range []string{"<script", "](java", "\n::"} {
		if strings.Contains(strings.ReplaceAll(text, `\]`, ""), bad) {
			t.Errorf("%q is left in\n%s", bad, text)
		}
	}
	if many := write(t, Markdown, sample(maxRows+3)); !strings.Contains(many, "\n3 more findings are left out.\n") || strings.Count(many, "\n") > maxRows+20 {
		t.Error("the table is not bounded")
	}
	if !strings.Contains(text, "| ✗ | client-breaking | rpc-07 |") {
		t.Errorf("no finding:\n%s", text)
	}
}

func TestGitHub(t *testing.T) {
	text := write(t, GitHub, sample(1))
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "::error file=dir/a b.txtar,line=42,title=rpc-07 client-breaking::#5 #6 … (9 times) ") {
		t.Errorf("got\n%s", text)
	}
	r := sample(1)
	r[0].File = hostile
	if text := write(t, GitHub, r); !strings.HasPrefix(text, `::error file=\x1b[2J`) {
		t.Errorf("got\n%s", text)
	}
}
