package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with testdata/name, or writes that file with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs (rewrite it with -update)\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

func read(t *testing.T, name string, frames []tap.Frame) *diff.Session {
	t.Helper()
	at := map[uint64]int{}
	s := diff.NewSession(name, func(seq uint64) (tap.Frame, error) { return frames[at[seq]], nil })
	var tracker session.Tracker
	for i := range frames {
		at[frames[i].Seq] = i
		e := tracker.Add(&frames[i])
		s.Add(e, false)
		for _, c := range e.Ended {
			s.Over(c)
		}
	}
	for _, c := range tracker.Open() {
		s.Over(c)
	}
	s.End()
	return s
}

// weatherSessions returns the two transcripts in testdata.
func weatherSessions(t *testing.T) (sides []*diff.Session) {
	t.Helper()
	for _, name := range []string{"before", "after"} {
		data, err := os.ReadFile("testdata/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		_, frames, err := text.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		sides = append(sides, read(t, name, frames))
	}
	return sides
}

// weather compares the two transcripts in testdata.
func weather(t *testing.T, fails bool) *Set {
	t.Helper()
	sides := weatherSessions(t)
	sides[1].Lacks("frames 40 to 42 are missing")
	r, err := diff.Compare(sides[0], sides[1], diff.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &Set{Reports: []*diff.Report{r}, FailOn: diff.Behaviour, Fails: fails, Unpaired: []Unpaired{{Name: "probe"}, {Second: true, Name: "new one"}}}
}

var formats = []struct {
	name  string
	write func(io.Writer, *Set) error
}{{"report.ndjson", JSON}, {"report.md", Markdown}, {"report.html", HTML}, {"report.xml", JUnit}}

func TestFormats(t *testing.T) {
	for _, f := range formats {
		var b bytes.Buffer
		if err := f.write(&b, weather(t, true)); err != nil {
			t.Fatal(err)
		}
		golden(t, f.name, b.Bytes())
	}
}

// hostile returns a pair of sessions in which every text from the wire is an attack on one of the
// formats.
func hostile(t *testing.T) *Set {
	attacks := []string{
		"<img src=x onerror=alert(1)>", "</table></article><script>alert(1)</script>", "`` ` ``` code", "| cell |\n| --- |", "**bold** [x](javascript:alert(1)) @all",
		"\x1b[31mred\x1b]0;title\x07", "\u202eevil\u202c\u200b", "]]> <!-- --> &amp; &#60;", "\x00\x07\x7f\u009b", "{{.}} {{end}}", "~~~\n```\n# head\n", "\\u001b[2J",
	}
	var a, b []tap.Frame
	add := func(to *[]tap.Frame, lane tap.Lane, v any) {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		*to = append(*to, tap.Frame{Seq: uint64(len(*to) + 1), Lane: lane, Raw: append(raw, '\n'), Size: int64(len(raw) + 1)})
	}
	type m = map[string]any
	for i, x := range attacks {
		for k, to := range []*[]tap.Frame{&a, &b} {
			name := x
			if k == 1 && i%3 == 0 {
				name += "2"
			}
			tools := []any{m{"name": name, "description": fmt.Sprint(x, k), "inputSchema": m{"properties": m{x: m{"type": "string"}}, "required": []string{x}[:k]}}}
			add(to, tap.ToServer, m{"jsonrpc": "2.0", "id": i, "method": "tools/list"})
			add(to, tap.ToClient, m{"jsonrpc": "2.0", "id": i, "result": m{"tools": tools, x: k}})
			add(to, tap.ToServer, m{"jsonrpc": "2.0", "id": x, "method": "tools/call", "params": m{"name": name}})
			add(to, tap.ToClient, m{"jsonrpc": "2.0", "method": "notifications/" + x, "params": m{x: k}})
			add(to, tap.ToClient, m{"jsonrpc": "2.0", "id": x, "result": m{"content": []any{m{"type": "text", "text": strings.Repeat(x+"\n", 3) + fmt.Sprint(k)}}, "structuredContent": m{x: fmt.Sprint(x, k)}}})
			add(to, tap.ToServer, m{"jsonrpc": "2.0", "id": i + 100, "method": x, "params": m{x: k}})
			add(to, tap.ToClient, m{"jsonrpc": "2.0", "id": i + 100, "error": m{"code": k, "message": x, "data": fmt.Sprint(x, k)}})
		}
	}
	sa, sb := read(t, attacks[0], a), read(t, attacks[2], b)
	sa.Lacks(attacks[4])
	r, err := diff.Compare(sa, sb, diff.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Differences) < 50 {
		t.Fatalf("%d differences", len(r.Differences))
	}
	set := &Set{Reports: []*diff.Report{r}, Fails: true, FailOn: diff.Behaviour}
	for _, x := range attacks {
		set.Unpaired = append(set.Unpaired, Unpaired{Name: x})
	}
	return set
}

func TestFormatsEscape(t *testing.T) {
	set := hostile(t)
	for _, f := range formats {
		var b bytes.Buffer
		if err := f.write(&b, set); err != nil {
			t.Fatal(err)
		}
		out := b.String()
		for i, line := range strings.Split(out, "\n") {
			if !escape.Clean(line) {
				t.Errorf("%s: line %d has a character that must not reach a terminal: %q", f.name, i+1, line)
				break
			}
		}
		if second := new(bytes.Buffer); f.write(second, set) != nil || second.String() != out {
			t.Errorf("%s: two runs differ", f.name)
		}
	}
}

func TestHTMLEscapesRecordedText(t *testing.T) {
	var b bytes.Buffer
	if err := HTML(&b, hostile(t)); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	tags := regexp.MustCompile(`</?[a-zA-Z][^>]*>?`).FindAllString(out, -1)
	allowed := regexp.MustCompile(`^</?(html|head|meta|title|style|body|h1|h3|p|strong|span|table|tr|th|td|details|summary|article|div|code|a|del|ins)\b`)
	for _, tag := range tags {
		if !allowed.MatchString(tag) || strings.Contains(tag, "onerror") || strings.Contains(tag, "javascript:") {
			t.Errorf("an unexpected element: %s", tag)
		}
	}
	if strings.Contains(out, "ZgotmplZ") || strings.Count(out, "<script") > 0 || strings.Count(out, "</body>") != 1 {
		t.Error("the page does not have the expected form")
	}
	style := out[strings.Index(out, "<style>"):strings.Index(out, "</style>")]
	for _, needs := range []string{"src=", "@import", "url(", "<link"} {
		if strings.Contains(strings.Join(tags, ""), needs) || strings.Contains(style, needs) {
			t.Errorf("the page loads another resource: %s", needs)
		}
	}
}

func TestMarkdownKeepsRecordedTextInCode(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, hostile(t)); err != nil {
		t.Fatal(err)
	}
	outside := withoutCode(t, b.String())
	for _, word := range []string{"alert", "img", "bold", "@all", "evil", "red", "head", "javascript", "cell", "{{"} {
		if strings.Contains(outside, word) {
			i := strings.Index(outside, word)
			t.Errorf("%q is outside code: …%s…", word, outside[max(0, i-60):min(len(outside), i+60)])
		}
	}
}

// withoutCode removes code from Markdown as CommonMark defines it: fenced blocks, then spans between
// runs of backticks of equal length.
func withoutCode(t *testing.T, text string) string {
	var kept []string
	fence := ""
	for _, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimLeft(line, " ")
		ticks := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3 && !strings.Contains(trimmed[len(ticks):], "`"):
			fence = ticks
		case fence != "":
			if len(ticks) >= len(fence) && strings.TrimSpace(trimmed[len(ticks):]) == "" && len(line)-len(trimmed) < 6 {
				fence = ""
			}
		default:
			kept = append(kept, line)
		}
	}
	if fence != "" {
		t.Error("unterminated code block")
	}
	var out strings.Builder
	rest := strings.Join(kept, "\n")
	for {
		i := strings.IndexByte(rest, '`')
		if i < 0 {
			return out.String() + rest
		}
		out.WriteString(rest[:i])
		ticks := rest[i : i+len(rest[i:])-len(strings.TrimLeft(rest[i:], "`"))]
		rest = rest[i+len(ticks):]
		end := -1
		for from := 0; ; {
			j := strings.IndexByte(rest[from:], '`')
			if j < 0 {
				break
			}
			j += from
			run := len(rest[j:]) - len(strings.TrimLeft(rest[j:], "`"))
			if run == len(ticks) {
				end = j
				break
			}
			from = j + run
		}
		if end < 0 {
			t.Error("unterminated code span")
			return out.String() + rest
		}
		rest = rest[end+len(ticks):]
	}
}

func TestJUnitIsXML(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, hostile(t)); err != nil {
		t.Fatal(err)
	}
	type counts struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
	}
	var back struct {
		counts
		Suites []counts `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.Failures == 0 || len(back.Suites) != 2 || back.Tests != back.Suites[0].Tests+back.Suites[1].Tests {
		t.Errorf("%d tests, %d failures in %d suites", back.Tests, back.Failures, len(back.Suites))
	}
}

func TestJSONIsOneObjectPerLine(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, hostile(t)); err != nil {
		t.Fatal(err)
	}
	types := map[string]int{}
	for _, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		var head struct {
			V    int
			Type string
		}
		if err := json.Unmarshal([]byte(line), &head); err != nil || head.V != 1 {
			t.Fatalf("%s: %v", line, err)
		}
		types[head.Type]++
	}
	if types["diff"] != 1 || types["summary"] != 1 || types["difference"] < 50 || types["group"] == 0 || types["unpaired"] == 0 {
		t.Errorf("%v", types)
	}
}

func TestFailures(t *testing.T) {
	set := weather(t, true)
	for c := range diff.Classes {
		set.FailOn = c
		if want := set.Reports[0].AtLeast(c) > 0; set.Failed() != want && c > diff.Behaviour {
			t.Errorf("fails on %s: %v", c, set.Failed())
		}
	}
	set.FailOn = diff.Behaviour
	if set.Reports = nil; !set.Failed() {
		t.Error("a recording without a counterpart is not a failure")
	}
	if set.FailOn = diff.Breaking; set.Failed() {
		t.Error("a recording without a counterpart is breaking")
	}
	if set.FailOn, set.Fails = diff.Cosmetic, false; set.Failed() {
		t.Error("failed unexpectedly")
	}
}

type fullDisk struct{ left int }

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestFullDisk(t *testing.T) {
	set := weather(t, true)
	for _, f := range formats {
		if f.write(&fullDisk{100}, set) == nil {
			t.Errorf("%s: a full disk is not an error", f.name)
		}
	}
}
