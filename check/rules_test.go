package check

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each rule has two sessions, one that violates it and one that comes close, with what the
// rule reports. The comment says what they show. The lines of a session are ten milliseconds
// apart:
//
//	> what the client sends     < what the server sends     . an event of the run
//	>1 <1 .1                    of HTTP exchange 1; ~1 is an event of a stream
//	= D                         the handshake of revision D, with all capabilities
//	+1500ms                     time that passes
//
// In a line, @E stands for the members of _meta that 2026-07-28 requires, \n for a line end,
// @CR for a carriage return, @FF for the byte FF, and @4M for 4 MiB of text. A line without a
// sign is for the reader.
func TestRules(t *testing.T) {
	for _, r := range Rules() {
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

// shorthand replaces what stands for other text in a session.
var shorthand = strings.NewReplacer("@E", modernMeta, `\n`, "\n", "@CR", "\r", "@FF", "\xff", "@4M", strings.Repeat("x", 4<<20))

// No file is left of a rule that was removed.
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

// run checks a session with one rule.
func run(t *testing.T, r *Rule, script string) *Report {
	t.Helper()
	var tracker session.Tracker
	c := New([]*Rule{r})
	for _, f := range frames(t, script) {
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

// frames reads a session: see TestRules.
func frames(t *testing.T, script string) (all []tap.Frame) {
	t.Helper()
	var at time.Duration
	add := func(lane tap.Lane, exchange uint64, form tap.Form, raw string) {
		at += 10 * time.Millisecond
		raw = shorthand.Replace(raw)
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
	lanes := map[byte]tap.Lane{'>': tap.ToServer, '<': tap.ToClient, '~': tap.ToClient, '.': tap.Lifecycle, '!': tap.Stderr}
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "":
		case line[0] == '=':
			rev := letters[strings.TrimSpace(line[1:])[0]]
			add(tap.ToServer, 0, tap.FormLine, fmt.Sprintf(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"c","version":"1"}}}`, rev, clientCapabilities))
			add(tap.ToClient, 0, tap.FormLine, fmt.Sprintf(`{"jsonrpc":"2.0","id":"init","result":{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"s","version":"1"}}}`, rev, serverCapabilities))
			add(tap.ToServer, 0, tap.FormLine, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		case line[0] == '+':
			d, err := time.ParseDuration(line[1:])
			if err != nil {
				t.Fatal(err)
			}
			at += d
		default:
			lane, ok := lanes[line[0]]
			if !ok {
				continue // for the reader
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
			add(lane, exchange, form, raw)
		}
	}
	return all
}
