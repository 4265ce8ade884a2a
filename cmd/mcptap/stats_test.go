package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

// sessions writes recordings of the sessions of the corpus to a directory, and returns its name and the
// files by session name.
func sessions(t *testing.T) (dir string, paths map[string]string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "..", "testdata", "sessions", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	dir, paths = t.TempDir(), map[string]string{}
	for i, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		head, frames, err := text.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		h := head.Header
		if h.ID == "" {
			h.ID = fmt.Sprintf("%08x", i)
		}
		session := strings.TrimSuffix(filepath.Base(name), ".txtar")
		path := filepath.Join(dir, store.FileName(h))
		writeFrames(t, path, h, frames, max(head.End, frames[len(frames)-1].At))
		paths[session] = path
	}
	return dir, paths
}

func writeFrames(t *testing.T, path string, h tap.Header, frames []tap.Frame, end time.Duration) {
	t.Helper()
	w, err := store.NewWriter(path, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		if err := w.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(store.End{At: end}); err != nil {
		t.Fatal(err)
	}
}

// runStats runs the command and returns what it prints.
func runStats(t *testing.T, width int, args ...string) string {
	t.Helper()
	a, out := testApp(map[string]string{"COLUMNS": fmt.Sprint(width)})
	if code := a.run(append([]string{"stats"}, args...)); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	return out.String()
}

func TestStatsWidths(t *testing.T) {
	dir, paths := sessions(t)
	few := []string{
		"2024-11-05-nested-healthy", "2025-03-26-batch-broken", "2025-06-18-cancel-broken", "2025-11-25-tasks-healthy",
		"2025-11-25-unanswered-broken", "2026-07-28-chain-healthy", "2026-07-28-listen-healthy", "dialect-002-tools-broken",
	}
	for _, width := range []int{80, 140} {
		golden(t, fmt.Sprintf("stats-corpus-%d.txt", width), []byte(runStats(t, width, dir)))
		var b strings.Builder
		for _, name := range few {
			fmt.Fprintf(&b, "# %s\n\n%s\n", name, runStats(t, width, paths[name]))
		}
		golden(t, fmt.Sprintf("stats-sessions-%d.txt", width), []byte(b.String()))
	}
	for _, width := range []int{80, 100, 140, 200} {
		for name, path := range paths {
			for line := range strings.Lines(runStats(t, width, path)) {
				if w := term.Width(strings.TrimSuffix(line, "\n")); w > width {
					t.Errorf("%s: at %d columns a line has %d: %s", name, width, w, line)
				}
			}
		}
	}
}

// A statsLine is the part of a line of `stats --json` that tests check.
type statsLine struct {
	V                                          int
	Type, Method, Name, About, Recording, Lane string
	Nested, Others                             bool
	Seq, Calls, Done, Errors, Cancelled        uint64
	Unanswered, Responses                      uint64
	ToolErrors                                 uint64 `json:"tool_errors"`
	NestedCalls                                uint64 `json:"nested_calls"`
	Listening                                  uint64
	P99                                        int64 `json:"p99_ns"`
	Max                                        int64 `json:"max_ns"`
	Total                                      int64 `json:"total_ns"`
	Latency                                    int64 `json:"latency_ns"`
	Waited                                     int64 `json:"waited_ns"`
	ToServer                                   int64 `json:"bytes_to_server"`
	ToClient                                   int64 `json:"bytes_to_client"`
	Share                                      float64
	Histogram                                  []struct {
		From  int64 `json:"from_ns"`
		To    int64 `json:"to_ns"`
		Calls uint64
	}
}

func statsLines(t *testing.T, args ...string) (lines []statsLine) {
	t.Helper()
	for line := range strings.Lines(runStats(t, 0, append(args, "--json")...)) {
		var l statsLine
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.V != 1 {
			t.Fatalf("%v: %s", err, line)
		}
		lines = append(lines, l)
	}
	return lines
}

// The numbers in the lines of a recording add up.
func TestStatsAddUp(t *testing.T) {
	dir, paths := sessions(t)
	paths["all"] = dir
	for name, path := range paths {
		lines := statsLines(t, path)
		last := len(lines) - 1
		var top, nested statsLine
		for i, l := range lines {
			if (l.Type == "summary") != (i == last) {
				t.Fatalf("%s: line %d is a %s", name, i, l.Type)
			}
			if l.Type != "group" {
				continue
			}
			if l.Calls != l.Done+l.Errors+l.ToolErrors+l.Cancelled+l.Unanswered+l.Listening || l.Calls == 0 {
				t.Errorf("%s: %s %s: %d calls do not add up", name, l.Method, l.Name, l.Calls)
			}
			sum := &top
			if l.Nested {
				sum = &nested
			}
			sum.Calls += l.Calls
			sum.Responses += l.Responses
			sum.Total += l.Total
			sum.Share += l.Share
		}
		sum := lines[last]
		if sum.Calls != top.Calls+nested.Calls || sum.NestedCalls != nested.Calls || sum.Responses != top.Responses || sum.Total != top.Total {
			t.Errorf("%s: %+v, but the groups have %+v", name, sum, top)
		}
		if top.Total > 0 && (top.Share < 0.999 || top.Share > 1.001) {
			t.Errorf("%s: the shares are %f together", name, top.Share)
		}
		drawn := uint64(0)
		for i, bin := range sum.Histogram {
			drawn += bin.Calls
			if bin.From >= bin.To || i > 0 && bin.From != sum.Histogram[i-1].To {
				t.Errorf("%s: bin %d is %+v", name, i, bin)
			}
		}
		if drawn != top.Responses+nested.Responses {
			t.Errorf("%s: %d calls are in the histogram, %d have responses", name, drawn, top.Responses+nested.Responses)
		}
	}
}

func TestStatsOrders(t *testing.T) {
	_, paths := sessions(t)
	args := []string{paths["2024-11-05-nested-healthy"], paths["2025-06-18-cancel-broken"], paths["2025-06-18-tools-broken"], paths["real-everything-flow"]}
	for order, by := range map[string]func(l *statsLine) int64{
		"time":   func(l *statsLine) int64 { return l.Total + l.Waited },
		"calls":  func(l *statsLine) int64 { return int64(l.Calls) },
		"errors": func(l *statsLine) int64 { return int64(l.Errors + l.ToolErrors + l.Cancelled + l.Unanswered) },
		"p99":    func(l *statsLine) int64 { return l.P99 },
		"max":    func(l *statsLine) int64 { return l.Max },
		"bytes":  func(l *statsLine) int64 { return l.ToServer + l.ToClient },
	} {
		var before *statsLine
		for _, l := range statsLines(t, append(args, "--sort", order)...) {
			if l.Type != "group" {
				continue
			}
			if before != nil && (before.Nested && !l.Nested || before.Nested == l.Nested && by(before) < by(&l)) {
				t.Errorf("by %s: %s %s comes before %s %s", order, before.Method, before.Name, l.Method, l.Name)
			}
			before = &l
		}
	}
	slow := 0
	for _, l := range statsLines(t, args...) {
		if l.Type == "slow_call" {
			slow++
		}
	}
	if slow != 20 {
		t.Errorf("%d slow calls", slow)
	}
}

// Names from the wire are escaped before they reach the terminal.
func TestStatsHostileNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x"+store.Ext)
	var frames []tap.Frame
	for i, name := range []string{`a\u001b[2J`, "b\u202ec", `\u0007`, "天気天気天気天気天気天気天気天気", strings.Repeat("long ", 2000), ""} {
		at := time.Duration(i) * time.Millisecond
		frames = append(frames,
			tap.Frame{Seq: uint64(2*i + 1), At: at, Lane: tap.ToServer, Raw: fmt.Appendf(nil, `{"id":%d,"method":"tools/call","params":{"name":"%s"}}`, i, name)},
			tap.Frame{Seq: uint64(2*i + 2), At: at, Lane: tap.ToServer, Raw: fmt.Appendf(nil, `{"id":"%d","method":"%s"}`, i, name)})
	}
	writeFrames(t, path, tap.Header{ID: "0123abcd", Label: "x", Start: testNow}, frames, time.Second)
	for _, out := range []string{runStats(t, 80, path), runStats(t, 0, path), runStats(t, 0, path, "--json")} {
		if !safe.Clean(strings.ReplaceAll(out, "\n", "")) {
			t.Errorf("hazards in\n%s", out)
		}
	}
}

func TestStatsArguments(t *testing.T) {
	dir, paths := sessions(t)
	one := paths["2025-06-18-tools-healthy"]
	if twice := runStats(t, 80, one, one, filepath.Dir(one)+"/./"+filepath.Base(one)); twice != runStats(t, 80, one) {
		t.Errorf("a recording counts more than once:\n%s", twice)
	}
	if both := runStats(t, 80, dir, one); both != runStats(t, 80, dir) {
		t.Errorf("a recording in a directory counts twice:\n%s", both)
	}
	broken := filepath.Join(dir, "20200101T000000.000Z-broken-00000bad.mcptap")
	data, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	for name, bytes := range map[string][]byte{broken: append(make([]byte, 8192), data[8192:]...), filepath.Join(dir, "odd.mcptap"): []byte("odd")} {
		if err := os.WriteFile(name, bytes, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, out := testApp(nil)
	var output bytes.Buffer
	a.stderr = &output
	if code := a.run([]string{"stats", dir, "--json"}); code != 0 || strings.Count(output.String(), "skipped: ") != 1 || !strings.Contains(out.String(), `"left_out":1,`) {
		t.Errorf("exit %d: %s", code, &output)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "mcptap stats needs a recording"},
		{[]string{broken}, "damaged"},
		{[]string{t.TempDir()}, "no recordings in "},
		{[]string{one, "no-such-thing"}, "no-such-thing"},
		{[]string{one, "--sort", "size"}, `--sort: unknown order "size" (want time, calls, errors, p99, max, bytes)`},
		{[]string{one, "--slowest", "3"}, "--slowest no longer exists"},
	} {
		a, out := testApp(nil)
		if code := a.run(append([]string{"stats"}, c.args...)); code != 2 || !strings.Contains(out.String(), c.want) {
			t.Errorf("%v: exit %d, %s, want %s", c.args, code, out, c.want)
		}
	}
}

// A large frame is counted like others.
func TestStatsLargeFrame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x"+store.Ext)
	frames := []tap.Frame{
		{Seq: 1, Lane: tap.ToServer, Raw: []byte(`{"id":1,"method":"tools/call","params":{"name":"big"}}`)},
		{Seq: 2, At: 5, Lane: tap.ToClient, Raw: []byte(`{"id":1,"result":{"x":"` + strings.Repeat("x", 2*(1<<20)) + `"}}`)},
	}
	writeFrames(t, path, tap.Header{ID: "0123abcd", Label: "x", Start: testNow}, frames, time.Second)
	l := statsLines(t, path)[0]
	if l.Name != "big" || l.Done != 1 || l.ToClient != int64(len(frames[1].Raw)) || l.Total != 5 {
		t.Errorf("%+v", l)
	}
}

// Ctrl-C ends the reading.
func TestStatsInterrupted(t *testing.T) {
	path := writeTraffic(t, traffics[0], 5000)
	a, _ := testApp(nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o := statsOptions{sort: "time"}
	if m, err := o.measure(ctx, a, []string{path}); err == nil {
		t.Errorf("%d calls", m.Top.Statuses.Calls())
	}
}

// The statistics of a recording without requests are short.
func TestStatsWithoutCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x"+store.Ext)
	writeFrames(t, path, tap.Header{ID: "0123abcd", Label: "x", Start: testNow}, []tap.Frame{{Seq: 1, Lane: tap.Stderr, Raw: []byte("hm\n")}}, time.Second)
	if out := runStats(t, 80, path); out != "0 calls\n0µs in calls, 1.00s recorded\n" {
		t.Error(out)
	}
	if lines := statsLines(t, path); len(lines) != 1 {
		t.Errorf("%+v", lines)
	}
}
