package peertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// An httpRecording is a recording of HTTP traffic, as exported by `mcptap export`.
type httpRecording struct {
	file      string
	text      []byte // the whole export
	exchanges map[uint64]*recordedExchange
	counts    map[string]int // of forms
	progress  int            // notifications of progress
}

type recordedExchange struct {
	spoken
	number, conn uint64
	over         bool
}

// An httpFrame is a line of the export.
type httpFrame struct {
	frame
	Exchange uint64 `json:"exchange"`
	Form     string `json:"form"`
}

// An httpEvent is the part of a lifecycle frame that the tests look at.
type httpEvent struct {
	Event  string `json:"event"`
	Conn   uint64 `json:"conn"`
	Method string `json:"method"`
	Target string `json:"target"`
	Status int    `json:"status"`
	By     string `json:"by"`
	Error  string `json:"error"`
}

// readHTTP exports a recording and checks its invariants: the numbers have no gaps, time does not go
// backwards, an exchange begins with a request and nothing follows its end, and the export can be
// imported without changes.
func readHTTP(t *testing.T, file string) *httpRecording {
	t.Helper()
	checkFindings(t, file)
	r := &httpRecording{file: file, text: output(t, "export", file), exchanges: map[uint64]*recordedExchange{}, counts: map[string]int{}}
	d := json.NewDecoder(bytes.NewReader(r.text))
	var seq uint64
	var at int64
	for {
		var f httpFrame
		if err := d.Decode(&f); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("export of %s: %v", file, err)
		}
		if f.Type != "frame" {
			continue
		}
		if seq++; f.Seq != seq || f.At < at {
			t.Fatalf("frame %d at %d follows %d at %d", f.Seq, f.At, seq-1, at)
		}
		at = f.At
		r.frame(t, &f)
	}
	for _, x := range r.exchanges {
		if !x.over {
			t.Errorf("exchange %d has no end: %v", x.number, &x.spoken)
		}
		r.progress += checkProgress(t, fmt.Sprintf("%s, exchange %d", file, x.number), []byte(x.down))
	}
	r.roundTrip(t)
	return r
}

func (r *httpRecording) frame(t *testing.T, f *httpFrame) {
	t.Helper()
	if f.Exchange == 0 {
		if f.Lane != "lifecycle" {
			t.Errorf("frame %d on %s belongs to no exchange", f.Seq, f.Lane)
		}
		return
	}
	x := r.exchanges[f.Exchange]
	if f.Lane == "lifecycle" {
		var e httpEvent
		if err := json.Unmarshal(f.bytes(), &e); err != nil {
			t.Fatalf("frame %d: %v", f.Seq, err)
		}
		if x == nil {
			if x = (&recordedExchange{number: f.Exchange, conn: e.Conn}); e.Event != "request" {
				t.Errorf("exchange %d begins with %s", f.Exchange, e.Event)
			}
			x.method, x.target = e.Method, e.Target
			r.exchanges[f.Exchange] = x
		}
		x.event(&e)
		return
	}
	if x == nil || x.over {
		t.Errorf("frame %d is of exchange %d, which is not open", f.Seq, f.Exchange)
		return
	}
	r.counts[f.Form]++
	if f.Lane == "to_server" {
		x.up += string(f.bytes())
	} else {
		x.down += string(f.bytes())
	}
}

func (x *recordedExchange) event(e *httpEvent) {
	switch e.Event {
	case "response":
		if e.By != "tap" && e.Status >= 200 {
			x.status = e.Status
		}
	case "end":
		x.over, x.whole = true, e.Error == ""
	}
}

// conns returns the exchanges of each connection, in order.
func (r *httpRecording) conns() (all [][]spoken) {
	by := map[uint64][]*recordedExchange{}
	for _, x := range r.exchanges {
		by[x.conn] = append(by[x.conn], x)
	}
	for _, list := range by {
		slices.SortFunc(list, func(a, b *recordedExchange) int { return int(a.number) - int(b.number) })
		var one []spoken
		for _, x := range list {
			one = append(one, x.spoken)
		}
		all = append(all, one)
	}
	return all
}

// roundTrip exports, imports and exports again, in both formats.
func (r *httpRecording) roundTrip(t *testing.T) {
	t.Helper()
	for _, format := range []string{"ndjson", "txtar"} {
		text := output(t, "export", r.file, "--format", format)
		dir := t.TempDir()
		name := filepath.Join(dir, "exported")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		output(t, "import", "--dir", dir, name)
		second := output(t, "export", "--dir", dir, "@last", "--format", format)
		if n := commonPrefix(text, second); n < max(len(text), len(second)) {
			t.Errorf("%s: exported, imported and exported again it differs at byte %d:\n%s\n%s", format, n, around(text, n), around(second, n))
		}
	}
}

// output runs the program under test, which must succeed with an empty stderr, and returns its stdout.
func output(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(tapBinary(t), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("mcptap %v: %v, stderr: %s", args, err, &stderr)
	}
	return out
}
