package check

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each rule has two sessions, one that violates it and one that comes close, and the expected report.
// The comment explains the sessions. The lines of a session are ten milliseconds apart:
//
//	> what the client sends     < what the server sends     . a lifecycle event
//	>1 <1 .1                    of HTTP exchange 1; ~1 is an event of a stream
//	= D                         the handshake of revision D, with all capabilities
//	=1 D                        the same in HTTP exchanges 1 and 2, with a session id; =1 E only
//	                            sets the fields of later requests
//	.1 POST /mcp | Name: value  the head of a request: see head
//	+1500ms                     time passes
//
// In a line, @E stands for the members of _meta that 2026-07-28 requires, \n for a newline, @CR for a
// carriage return, @FF for the byte FF, @4M for 4 MiB of text, and @x100 for 100 letters x. A line
// without a sign is a comment.
func TestRules(t *testing.T) {
	for _, r := range Rules() {
		if r.New == nil { // see TestLock
			continue
		}
		t.Run(r.ID, func(t *testing.T) {
			name := filepath.Join("testdata", "rules", r.ID+".txt")
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			a := txtar.Parse(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
			if len(bytes.TrimSpace(a.Comment)) == 0 || len(a.Files) < 2 || a.Files[0].Name != "violates" || a.Files[1].Name != "holds" {
				t.Fatalf("%s: want a comment and the files violates, holds and report", name)
			}
			bad, good := run(t, r, string(a.Files[0].Data)), run(t, r, string(a.Files[1].Data))
			if len(bad.Findings) == 0 {
				t.Errorf("violates: no finding; %s", text(bad))
			}
			if len(good.Findings) > 0 || good.Judged() == 0 {
				t.Errorf("holds: %d findings and %d verdicts; %s", len(good.Findings), good.Judged(), text(good))
			}
			got := "violates\n" + text(bad) + "holds\n" + text(good)
			if *update {
				a.Files = append(a.Files[:2:2], txtar.File{Name: "report", Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(a.Files) < 3 || string(a.Files[2].Data) != got {
				t.Errorf("%s: got the report\n%s", name, got)
			}
		})
	}
}

// shorthand expands the abbreviations in a session.
var shorthand = strings.NewReplacer("@E", modernMeta, `\n`, "\n", "@CR", "\r", "@FF", "\xff", "@4M", strings.Repeat("x", 4<<20))

// What a rule reports is not reported again as an error of the schema, but other errors are.
func TestSchemaErrorsAreReportedOnce(t *testing.T) {
	const implementation = `{"name":"c","websiteUrl":5}`
	for name, messages := range map[string][]string{
		"init-02": {strings.Replace(hello, `{"name":"c","version":"1"}`, implementation, 1)},
		"neg-03":  {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + strings.Replace(modernMeta, `{"name":"c","version":"1"}`, implementation, 1) + `}}}`},
	} {
		r := feed(func(yield func(tap.Lane, string) bool) {
			for _, text := range messages {
				yield(tap.ToServer, text)
			}
		})
		var got []string
		for _, f := range r.Findings {
			if f.Class > Observation || f.Rule.ID == "feat-25" {
				got = append(got, f.Rule.ID+" "+f.Text)
			}
		}
		if want := []string{name + " missing", "feat-25 got number, want string"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// This also holds for what another rule reports as an observation.
func TestObservationsAreNotRepeatedBySchema(t *testing.T) {
	r := feed(func(yield func(tap.Lane, string) bool) {
		yield(tap.ToServer, hello)
		yield(tap.ToClient, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Method not allowed."}}`)
	})
	var got []string
	for _, f := range r.Findings {
		if f.Path == "$.id" {
			got = append(got, f.Rule.ID+" "+f.Text)
		}
	}
	if want := []string{"rpc-16 null"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// There are no files of removed rules.
func TestRuleFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "rules", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if Lookup(strings.TrimSuffix(filepath.Base(name), ".txt")) == nil {
			t.Errorf("%s: no such rule", name)
		}
	}
}

// A fault is reported by one rule only, the most specific one.
func TestFaultsAreReportedOnce(t *testing.T) {
	for _, c := range []struct{ name, want, not, script string }{
		{name: "action", want: "cli-03", not: "mrtr-07", script: `
> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{@E}}}
< {"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}}
> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","inputResponses":{"k":{"action":"maybe"}},"_meta":{@E}}}`},
		{name: "params of an elicitation", want: "mrtr-03", not: "cli-11", script: `
> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{@E}}}
< {"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create"}}}}`},
		{name: "reserved code", want: "rpc-21", not: "feat-12", script: `
> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{@E}}}
< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"resources":{}}}}
> {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"file:///a","_meta":{@E}}}
< {"jsonrpc":"2.0","id":2,"error":{"code":-32050,"message":"Resource not found"}}`},
		{name: "structuredContent", want: "feat-07", not: "feat-05", script: `= D
> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
< {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}]}}
> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}
< {"jsonrpc":"2.0","id":2,"result":{"content":[],"structuredContent":[]}}`},
		{name: "status of a task", want: "task-02", not: "feat-25", script: `= D
> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","task":{}}}
< {"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"0123456789abcdef","status":"begun","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":"2025-11-25T10:00:00Z","ttl":null}}}`},
		{name: "params with progress", want: "rpc-15", not: "flow-16", script: `= D
< {"jsonrpc":"2.0","method":"notifications/progress","params":[]}`},
		{name: "params with a token", want: "rpc-15", not: "flow-01", script: `= D
< {"jsonrpc":"2.0","method":"notifications/progress","params":null}`},
		{name: "params with a level", want: "rpc-15", not: "flow-12", script: `= D
> {"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":null}`},
		{name: "params with an id", want: "rpc-15", not: "flow-07", script: `= D
> {"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := runAll(t, Rules(), c.script)
			reports := func(id string) bool {
				return slices.ContainsFunc(r.Findings, func(f *Finding) bool { return f.Rule.ID == id })
			}
			if !reports(c.want) || reports(c.not) {
				t.Errorf("want %s and not %s, got\n%s", c.want, c.not, text(r))
			}
		})
	}
}

// run checks a session with one rule.
func run(t *testing.T, r *Rule, script string) *Report { return runAll(t, []*Rule{r}, script) }

// runAll checks a session with some rules.
func runAll(t *testing.T, rules []*Rule, script string) *Report {
	t.Helper()
	all, survey := frames(t, script), session.NewSurvey(true)
	for _, f := range all {
		survey.Add(&f)
	}
	survey.End(0)
	tracker := session.Tracker{Survey: survey}
	c := New(rules)
	for _, f := range all {
		c.Add(tracker.Add(&f))
	}
	return c.Report(tracker.Open())
}

// text prints a report.
func text(r *Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "  %s %s %d× %v subject %q path %q: %s\n", f.Class, f.Revision, f.Count, f.Frames, f.Subject, f.Path, f.Text)
	}
	for _, j := range r.Judgements {
		fmt.Fprintf(&b, "  held %d, violated %d, not judged %d", j.Held, j.Violated, j.NotJudged)
		for _, why := range j.Reasons {
			fmt.Fprintf(&b, "; %d× %s", why.Count, why.Text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

const (
	clientCapabilities = `{"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}}`
	serverCapabilities = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}`
	modernMeta         = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}`
)

// head reads the short form of an event of an exchange:
//
//	POST /mcp 2 | Name: value   a request, of connection 2; fields are its fields unless one of the
//	                            same name is given, which "-" removes
//	200 sse | Name: value       a response with an event stream, or json
//	end client Error            the end, by the server if none is named
//	hang_up
func head(raw string, fields [][2]string) string {
	parts := strings.Split(raw, " | ")
	words := strings.Fields(parts[0])
	status, err := strconv.Atoi(words[0])
	e := tap.Event{Name: words[0]}
	switch {
	case err == nil:
		e = tap.Event{Name: tap.EventResponse, Status: status}
		if fields = nil; len(words) > 1 {
			fields = [][2]string{{"Content-Type", map[string]string{"json": "application/json", "sse": "text/event-stream"}[words[1]]}}
		}
	case words[0] == tap.EventEnd:
		if e.By = "server"; len(words) > 1 {
			e.By, e.Error = words[1], strings.Join(words[2:], " ")
		}
	case words[0] != tap.EventHangUp:
		e = tap.Event{Name: tap.EventRequest, Conn: 1, Method: words[0], Target: words[1]}
		if len(words) > 2 {
			e.Conn, _ = strconv.ParseUint(words[2], 10, 64)
		}
		accept := [2]string{"Accept", "text/event-stream"}
		if e.Method == "POST" {
			accept[1] = "application/json, text/event-stream"
			fields = append([][2]string{{"Content-Type", "application/json"}}, fields...)
		}
		fields = append([][2]string{accept}, fields...)
	}
	if e.Name == tap.EventRequest || e.Name == tap.EventResponse {
		e.Header = fields
	}
	for _, part := range parts[1:] {
		name, _, _ := strings.Cut(part, ": ")
		e.Header = slices.DeleteFunc(slices.Clone(e.Header), func(f [2]string) bool { return f[0] == name })
	}
	for _, part := range parts[1:] {
		if name, value, _ := strings.Cut(part, ": "); value != "-" {
			e.Header = append(e.Header, [2]string{name, value})
		}
	}
	return string(e.Encode())
}

// letterX stands for many letters: see TestRules.
var letterX = regexp.MustCompile(`@x\d+`)

// frames reads a session: see TestRules.
func frames(t *testing.T, script string) (all []tap.Frame) {
	t.Helper()
	var at time.Duration
	add := func(lane tap.Lane, exchange uint64, form tap.Form, raw string) {
		at += 10 * time.Millisecond
		raw = shorthand.Replace(raw)
		raw = letterX.ReplaceAllStringFunc(raw, func(s string) string {
			n, _ := strconv.Atoi(s[2:])
			return strings.Repeat("x", n)
		})
		switch {
		case exchange == 0 && lane != tap.Lifecycle:
			raw += "\n"
		case form == tap.FormEvent:
			raw += "\n\n"
		}
		all = append(all, tap.Frame{
			Seq: uint64(len(all) + 1), At: at, Lane: lane, Exchange: exchange, Form: form, Raw: []byte(raw), Size: int64(len(raw)),
		})
	}
	var fields [][2]string
	handshake := func(exchange uint64, rev jsonrpc.Revision) {
		request := fmt.Sprintf(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"c","version":"1"}}}`, rev, clientCapabilities)
		result := fmt.Sprintf(`{"jsonrpc":"2.0","id":"init","result":{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"s","version":"1"}}}`, rev, serverCapabilities)
		const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		if exchange == 0 {
			add(tap.ToServer, 0, tap.FormLine, request)
			add(tap.ToClient, 0, tap.FormLine, result)
			add(tap.ToServer, 0, tap.FormLine, initialized)
			return
		}
		event := func(n uint64, text string) { add(tap.Lifecycle, n, tap.FormLine, head(text, fields)) }
		if rev >= jsonrpc.Rev20250618 {
			fields = append(fields, [2]string{"MCP-Protocol-Version", string(rev)})
		}
		if rev == jsonrpc.Rev20260728 {
			return
		}
		event(exchange, "POST /mcp | MCP-Protocol-Version: -")
		add(tap.ToServer, exchange, tap.FormBody, request)
		event(exchange, "200 json | Mcp-Session-Id: S")
		add(tap.ToClient, exchange, tap.FormBody, result)
		event(exchange, "end")
		fields = append(fields, [2]string{"Mcp-Session-Id", "S"})
		event(exchange+1, "POST /mcp")
		add(tap.ToServer, exchange+1, tap.FormBody, initialized)
		event(exchange+1, "202")
		event(exchange+1, "end")
	}
	lanes := map[byte]tap.Lane{'>': tap.ToServer, '<': tap.ToClient, '~': tap.ToClient, '.': tap.Lifecycle, '!': tap.Stderr}
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "":
		case line[0] == '=':
			number, rev, _ := strings.Cut(line[1:], " ")
			exchange, _ := strconv.ParseUint(number, 10, 64) // none on stdio
			handshake(exchange, revisions[rev[0]-'A'])
		case line[0] == '+':
			d, err := time.ParseDuration(line[1:])
			if err != nil {
				t.Fatal(err)
			}
			at += d
		default:
			lane, ok := lanes[line[0]]
			if !ok {
				continue // a comment
			}
			sign, raw, _ := strings.Cut(line, " ")
			exchange, form := uint64(0), tap.FormLine
			if len(sign) > 1 {
				n, err := strconv.ParseUint(sign[1:], 10, 64)
				if err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				if exchange = n; lane != tap.Lifecycle {
					form = tap.FormBody
				}
			}
			if line[0] == '~' {
				form = tap.FormEvent
			}
			if lane == tap.Lifecycle && raw != "" && raw[0] != '{' {
				raw = head(raw, fields)
			}
			add(lane, exchange, form, raw)
		}
	}
	return all
}

// golden compares text with a file, which -update writes.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("%s differs (go test ./check -update rewrites it); got\n%s", name, got)
	}
}
