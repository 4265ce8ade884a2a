package session

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// TestDialectSession plays document 002 as one session: its results are arrays
// and null, its ids come last, and one id gets two responses.
func TestDialectSession(t *testing.T) {
	text, err := os.ReadFile("../jsonrpc/testdata/reference/002.txt")
	if err != nil {
		t.Fatal(err)
	}
	var p Pairing
	var tally Tally
	var got []string
	n := 0
	for line := range strings.Lines(string(text)) {
		lane, raw := tap.ToServer, []byte(strings.TrimSuffix(line, "\n"))
		switch {
		case len(raw) < 2 || raw[1] != ' ':
			continue
		case raw[0] == '<':
			lane = tap.ToClient
		case raw[0] != '>' && raw[0] != '.':
			continue
		}
		n++
		raw = raw[2:]
		f := tap.Frame{Seq: uint64(n), At: time.Duration(n) * time.Millisecond, Lane: lane, Raw: raw, Size: int64(len(raw))}
		m := jsonrpc.Peek(f.Raw)
		for _, l := range p.Add(&f, &m) {
			if s := link(&l); s != "" {
				got = append(got, s)
			}
		}
		tally.Add(&f)
	}
	want := []string{
		"1.0 opens", "2.0 answers 1.0 1ms", // initialize
		"4.0 opens", "5.0 answers 4.0 1ms", // tools/list, an array
		"6.0 opens",                        // resources/list: never answered there
		"7.0 opens", "8.0 answers 7.0 1ms", // tools/invoke
		"9.0 repeats 7.0 2ms",                 // the error example
		"14.0 opens", "15.0 answers 14.0 1ms", // shutdown, null
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if open := p.Open(); len(open) != 1 || open[0].Method != "resources/list" || string(open[0].ID) != "3" {
		t.Errorf("open: %+v", open)
	}
	x := tally.Facts
	if x.Era != jsonrpc.Legacy || x.Dialect != jsonrpc.Dialect002 || x.Requested != "2025-06-18" || x.Revision != "" || x.Probe ||
		x.Server != (Party{Name: "example-server", Version: "1.0.0"}) || x.Client != (Party{}) ||
		string(x.ClientCapabilities) != `{"supportsProgress":true,"supportsCancellation":true}` {
		t.Errorf("facts: %+v", x)
	}
	if tally.Errors != 1 || tally.Invalid != 0 {
		t.Errorf("errors %d, invalid %d", tally.Errors, tally.Invalid)
	}
}
