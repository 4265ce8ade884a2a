package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// taps is the number of taps that record at the same time.
const taps = 5

// A writer is a tap that records calls and their responses into a directory.
type writer struct {
	rec   *store.Recorder
	calls int
}

func newWriter(dir string, i int) *writer {
	h := tap.Header{Label: fmt.Sprintf("tap%d", i), Transport: "stdio", Command: []string{"x"}}
	return &writer{rec: store.Create(dir, h, store.Options{})}
}

// call records a request and its response.
func (w *writer) call() {
	w.calls++
	w.put(tap.ToServer, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a message of a usual length, more or less"}}}`+"\n")
	w.put(tap.ToClient, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"a message of a usual length, more or less"}]}}`+"\n")
}

func (w *writer) put(lane tap.Lane, text string) {
	w.rec.Chunk(lane, fmt.Appendf(nil, text, w.calls))
}

// seen counts the rows, or the calls, of each recording. They must be in order and without gaps.
type seen map[string]uint64

func (s seen) line(t *testing.T, line string) (summary bool) {
	t.Helper()
	var j struct {
		Type, Recording string
		Seq             uint64
	}
	if err := json.Unmarshal([]byte(line), &j); err != nil {
		t.Errorf("%s: %v", line, err)
		return false
	}
	switch j.Type {
	case "call": // in the order of their requests, two frames each
		if s[j.Recording]++; 2*s[j.Recording]-1 != j.Seq {
			t.Errorf("recording %s: a call of frame %d want %d", j.Recording, j.Seq, 2*s[j.Recording]-1)
		}
	case "row":
		if s[j.Recording]++; s[j.Recording] != j.Seq {
			t.Errorf("recording %s: row %d, want %d", j.Recording, j.Seq, s[j.Recording])
			s[j.Recording] = j.Seq
		}
	}
	return j.Type == "summary"
}

// runUntil runs a command repeatedly until done is closed.
func runUntil(t *testing.T, done chan struct{}, dir string, args []string) {
	for {
		a, out := testApp(map[string]string{"MCPTAP_DIR": dir})
		if code := a.run(args); code != 0 && !(code == exitNegative && args[0] == "show") {
			t.Errorf("%v: exit %d: %s", args, code, out)
			return
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// Readers miss no frame and no call of five taps that record at full speed.
func TestReadersMissNothing(t *testing.T) {
	t.Parallel()
	const calls = 500
	dir := t.TempDir()
	var writers []*writer
	var paths []string
	for i := range taps {
		w := newWriter(dir, i)
		w.call()
		writers = append(writers, w)
		paths = append(paths, w.rec.Path())
	}
	done := make(chan struct{})
	var others sync.WaitGroup
	for _, args := range [][]string{{"ls"}, {"stats", dir}, {"show", paths[0], "--calls"}, {"show", paths[1], "is:error,pending"}} {
		others.Go(func() { runUntil(t, done, dir, args) })
	}
	var reading, writing sync.WaitGroup
	rows, called := seen{}, seen{}
	reading.Go(func() { rows.follow(t, append([]string{"show", "--follow", "--json"}, paths...)) })
	reading.Go(func() { called.follow(t, append([]string{"show", "--follow", "--calls", "--json"}, paths...)) })
	for _, w := range writers {
		writing.Go(func() {
			for range calls - 1 {
				w.call()
			}
			w.rec.Close()
		})
	}
	reading.Wait()
	writing.Wait()
	close(done)
	others.Wait()
	for _, w := range writers {
		if n := rows[w.rec.Header().ID]; n != 2*calls {
			t.Errorf("recording %s: %d of %d frames were seen", w.rec.Header().Label, n, 2*calls)
		}
		if n := called[w.rec.Header().ID]; n != calls {
			t.Errorf("recording %s: %d of %d calls were seen", w.rec.Header().Label, n, calls)
		}
	}
	a, out := testApp(map[string]string{"MCPTAP_DIR": dir})
	if code := a.run([]string{"stats", dir}); code != 0 || !strings.Contains(out.String(), fmt.Sprintf("\n%d calls\n", taps*calls)) {
		t.Errorf("exit %d, want %d calls:\n%s", code, taps*calls, out)
	}
	a, out = testApp(map[string]string{"MCPTAP_DIR": dir})
	if code := a.run([]string{"ls", "--json"}); code != 0 || strings.Count(out.String(), fmt.Sprintf(`"frames":%d,`, 2*calls)) != taps {
		t.Errorf("exit %d, want %d frames in each of %d:\n%s", code, 2*calls, taps, out)
	}
}

// follow runs a command that follows recordings to their ends, and counts their rows or calls.
func (s seen) follow(t *testing.T, args []string) {
	pr, pw := io.Pipe()
	code := make(chan int, 1)
	go func() {
		a, _ := testApp(nil)
		a.stdout = pw
		code <- a.run(args)
		pw.Close()
	}()
	ended := 0
	for lines := bufio.NewScanner(pr); lines.Scan(); {
		if s.line(t, lines.Text()) {
			ended++
		}
	}
	if c := <-code; c != 0 || ended != taps {
		t.Errorf("%v: exit %d, %d recordings ended", args[:3], c, ended)
	}
}

// @live includes recordings that begin later. Ctrl-C ends the command.
func TestFollowAllLive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	pr, pw := io.Pipe()
	words, toWords := io.Pipe()
	code := make(chan int, 1)
	go func() {
		a, _ := testApp(map[string]string{"MCPTAP_DIR": dir})
		a.stdout, a.stderr = pw, toWords
		code <- a.finish(a.execute(ctx, newRoot(a), []string{"show", "-f", "@live", "--json"}), exitFailure)
		pw.Close()
	}()
	if line, err := bufio.NewReader(words).ReadString('\n'); err != nil || !strings.Contains(line, "waiting for one to start") {
		t.Fatalf("stderr: %q, %v", line, err)
	}
	lines := bufio.NewScanner(pr)
	rows := seen{}
	var writers []*writer
	for i := range taps { // each starts once the previous one was seen
		w := newWriter(dir, i)
		writers = append(writers, w)
		for _, w := range writers {
			w.call()
		}
		for slices.ContainsFunc(writers, func(w *writer) bool { return rows[w.rec.Header().ID] == 0 }) {
			if !lines.Scan() {
				t.Fatal("the output ended")
			}
			rows.line(t, lines.Text())
		}
	}
	for _, w := range writers {
		w.rec.Close()
	}
	for ended := 0; ended < taps && lines.Scan(); {
		if rows.line(t, lines.Text()) {
			ended++
		}
	}
	interrupt()
	for lines.Scan() {
		t.Errorf("after the end: %s", lines.Text())
	}
	if c := <-code; c != exitInterrupted {
		t.Errorf("exit %d", c)
	}
	for i, w := range writers {
		if n := rows[w.rec.Header().ID]; n != uint64(2*(taps-i)) {
			t.Errorf("recording %d: %d frames", i, n)
		}
	}
}

// The backlog of several recordings is merged by wall-clock time, with labels.
func TestFollowSeveralMerges(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i, label := range []string{"first", "天気\x1b[2J"} {
		path := filepath.Join(dir, fmt.Sprintf("%d%s", i, store.Ext))
		start := time.Date(2026, 11, 20, 9, 30, i, 0, time.UTC)
		w, err := store.NewWriter(path, tap.Header{ID: fmt.Sprintf("0000000%d", i), Label: label, Start: start, Transport: "stdio"})
		if err != nil {
			t.Fatal(err)
		}
		for k := range 3 {
			raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, k)
			f := tap.Frame{Seq: uint64(k + 1), At: time.Duration(k) * 1500 * time.Millisecond, Lane: tap.ToServer, Raw: []byte(raw)}
			if err := w.Add(f); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(store.End{At: time.Minute}); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	for name, args := range map[string][]string{"follow-frames": nil, "follow-calls": {"--calls"}, "follow-filter": {"seq:2"}} {
		for _, width := range []int{40, 100} {
			a, out := testApp(map[string]string{"COLUMNS": fmt.Sprint(width)})
			if code := a.run(append(append([]string{"show", "-f"}, paths...), args...)); code != 0 {
				t.Fatalf("exit %d: %s", code, out)
			}
			golden(t, fmt.Sprintf("%s-%d.txt", name, width), out.Bytes())
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSuffix(line, "\n")
				if w := term.Width(line); w > width || !safe.Clean(line) {
					t.Errorf("at %d columns a line has %d: %q", width, w, line)
				}
			}
		}
	}
	a, out := testApp(nil)
	if code := a.run(append([]string{"show", "-f", "nosuchtext"}, paths...)); code != exitFailure {
		t.Errorf("a filter for a recording: exit %d: %s", code, out)
	}
	a, out = testApp(nil)
	if code := a.run(append(append([]string{"show", "-f"}, paths...), "nosuchtext")); code != exitNegative {
		t.Errorf("no match: exit %d: %s", code, out)
	}
}

// A missing file among several ends the command with an error.
func TestFollowSeveralFails(t *testing.T) {
	w := newWriter(t.TempDir(), 0)
	w.call()
	w.rec.Close()
	a, out := testApp(nil)
	missing := filepath.Join(t.TempDir(), "no"+store.Ext)
	if code := a.run([]string{"show", "-f", missing, w.rec.Path()}); code != exitFailure {
		t.Errorf("exit %d: %s", code, out)
	}
}

// With --follow a call is printed when it starts, with its arguments, and again when it has ended.
// Messages before its end name its frame.
func TestFollowCallsBegin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWriter(dir, 0)
	w.put(tap.ToServer, `{"jsonrpc":"2.0","id":"before%d","method":"tools/call","params":{"name":"before"}}`+"\n")
	pr, pw := io.Pipe()
	code := make(chan int, 1)
	go func() {
		a, _ := testApp(map[string]string{"MCPTAP_DIR": dir})
		a.stdout = pw
		code <- a.run([]string{"show", "-f", "@last", "--calls"})
		pw.Close()
	}()
	next := bufio.NewScanner(pr)
	want := func(words ...string) {
		t.Helper()
		if !next.Scan() {
			t.Fatal("no more lines")
		}
		for _, word := range words {
			if !strings.Contains(next.Text(), word) {
				t.Errorf("%q, want %q", next.Text(), word)
			}
		}
	}
	want("CALL")
	want("… pending", "before")
	w.put(tap.ToServer, `{"jsonrpc":"2.0","id":"slow%d","method":"tools/call","params":{"name":"slow","arguments":{"ms":5},"_meta":{"progressToken":"p"}}}`+"\n")
	want("… pending", `slow {"ms":5}`)
	w.put(tap.ToClient, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":%d,"total":9}}`+"\n")
	want("progress of #2 0/9")
	w.put(tap.ToClient, `{"jsonrpc":"2.0","id":"slow%d","result":{"content":[{"type":"text","text":"4"}]}}`+"\n")
	want("✓ done", `slow {"ms":5} → "4"`)
	w.rec.Close()
	want("before", ">")
	for next.Scan() {
		if strings.Contains(next.Text(), "progress") {
			t.Errorf("twice: %s", next.Text())
		}
	}
	<-code
}

// An open call shows how long it has waited so far. If a filter selects it for its waiting time, it is
// printed while it waits, and is unanswered in the end.
func TestFollowCallsWait(t *testing.T) {
	t.Parallel()
	for _, recordings := range [][]string{{"@last"}, {"@last", "@last"}} {
		for _, query := range []string{"is:pending", "is:slow", "latency:>1h"} {
			dir := t.TempDir()
			w := newWriter(dir, 0)
			w.put(tap.ToServer, `{"jsonrpc":"2.0","id":"hung%d","method":"tools/call","params":{"name":"hang"}}`+"\n")
			pr, pw := io.Pipe()
			code := make(chan int, 1)
			began := time.Now()
			var ahead atomic.Int64 // the offset of the clock
			ahead.Store(int64(5 * time.Second))
			if query == "latency:>1h" {
				time.AfterFunc(300*time.Millisecond, func() { ahead.Store(int64(time.Hour + 5*time.Second)) })
			}
			go func() {
				a, _ := testApp(map[string]string{"MCPTAP_DIR": dir})
				a.stdout = pw
				a.now = func() time.Time { return began.Add(time.Duration(ahead.Load())) }
				code <- a.run(append(append([]string{"show", "-f"}, recordings...), "--calls", query))
				pw.Close()
			}()
			next := bufio.NewScanner(pr)
			waited := ">5."
			if query == "latency:>1h" {
				waited = ">1h00m"
			}
			want := func(words ...string) {
				if !next.Scan() {
					t.Fatalf("%s: no more lines, want %q", query, words)
				}
				for _, word := range words {
					if !strings.Contains(next.Text(), word) {
						t.Errorf("%s: %q, want %q", query, next.Text(), word)
					}
				}
			}
			want("CALL")
			want("… pending", "hang", waited)
			w.rec.Close()
			if query == "is:pending" {
				want("… unanswered", "hang")
			}
			for next.Scan() {
				if strings.Contains(next.Text(), "… pending") {
					t.Errorf("%s, after the end: %s", query, next.Text())
				}
			}
			<-code
		}
	}
}

// Without --follow, @live is the newest of several live recordings; a hint names it, also in other
// commands.
func TestShowLiveHint(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		w := newWriter(dir, i)
		defer w.rec.Close()
		w.call()
		for _, args := range [][]string{{"show", "@live"}, {"bundle", "@live", "-o", filepath.Join(t.TempDir(), "b.md")}} {
			a, out := testApp(map[string]string{"MCPTAP_DIR": dir})
			if code := a.run(args); code != 0 || strings.Contains(out.String(), "hint") != (i > 0) ||
				i > 0 && strings.Count(out.String(), fmt.Sprintf("hint: %d recordings are live; @live is the newest, ", i+1)) != 1 {
				t.Errorf("%v: exit %d: %s", args, code, out)
			}
		}
	}
}

func TestShowDirectory(t *testing.T) {
	dir := t.TempDir()
	a, out := testApp(nil)
	if code := a.run([]string{"show", dir}); code != exitFailure || !strings.Contains(out.String(), dir+" is a directory, not a recording (to read the recordings in it, use --dir)") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// Ctrl-C prints the open calls.
func TestFollowCallsInterrupted(t *testing.T) {
	t.Parallel()
	for _, several := range []bool{false, true} {
		dir := t.TempDir()
		w := newWriter(dir, 0)
		w.call()
		w.put(tap.ToServer, `{"jsonrpc":"2.0","id":"hung%d","method":"tools/call","params":{"name":"hang"}}`+"\n")
		w.put(tap.ToClient, `{"jsonrpc":"2.0","id":%d00,"result":{}}`+"\n") // its line shows that the request was read
		arg := "@last"
		if several {
			arg = "@live"
		}
		ctx, interrupt := context.WithCancel(context.Background())
		pr, pw := io.Pipe()
		code := make(chan int, 1)
		go func() {
			a, _ := testApp(map[string]string{"MCPTAP_DIR": dir})
			a.stdout = pw
			code <- a.finish(a.execute(ctx, newRoot(a), []string{"show", "-f", arg, "--calls"}), exitFailure)
			pw.Close()
		}()
		var all []string
		for lines := bufio.NewScanner(pr); lines.Scan(); {
			all = append(all, lines.Text())
			if strings.Contains(lines.Text(), "no such request") {
				interrupt()
			}
		}
		interrupt()
		w.rec.Close()
		if c := <-code; c != exitInterrupted || !strings.Contains(all[len(all)-1], "… pending") || !strings.Contains(all[len(all)-1], "hang  tools/call") {
			t.Errorf("exit %d\n%s", c, strings.Join(all, "\n"))
		}
	}
}
