package client

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
)

// patient returns options that wait as long as a busy machine may need.
func patient() Options {
	return Options{Pace: replay.Instant, Timeout: 60 * time.Second, Patience: 60 * time.Second}
}

// recorded reads a session of the corpus.
func recorded(t *testing.T, name string) []tap.Frame {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "sessions", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	_, frames, err := text.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return frames
}

// lines returns lines as frames: those with > are from the client, those with ! are events, others
// are from the server.
func lines(text string) (frames []tap.Frame) {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		f := tap.Frame{Seq: uint64(len(frames) + 1), At: time.Duration(len(frames)) * time.Millisecond, Lane: tap.ToClient, Raw: []byte(line)}
		switch {
		case line[0] == '>':
			f.Lane, f.Raw = tap.ToServer, f.Raw[1:]
		case line[0] == '!':
			f.Lane, f.Raw = tap.Lifecycle, bytes.TrimSpace(f.Raw[1:])
		}
		f.Size = int64(len(f.Raw))
		frames = append(frames, f)
	}
	return frames
}

// planned returns the plan for frames.
func planned(frames []tap.Frame, only func(*tap.Frame) bool) *Plan {
	p := NewPlanner(loader(frames))
	var tracker session.Tracker
	for i := range frames {
		p.Add(tracker.Add(&frames[i]), only != nil && only(&frames[i]))
	}
	return p.Plan(only != nil)
}

// A posted is a message in the queue of a wire.
type posted struct {
	line []byte
	sent chan error
}

func loader(frames []tap.Frame) func(seq uint64) (tap.Frame, error) {
	at := map[uint64]int{}
	for i := range frames {
		at[frames[i].Seq] = i
	}
	return func(seq uint64) (tap.Frame, error) { return frames[at[seq]], nil }
}

// A wire is a recording connection to a server in this process.
type wire struct {
	serve func(in io.Reader, out io.Writer)

	to     chan<- Event
	in     io.WriteCloser
	ended  chan struct{}
	queue  chan posted
	closed sync.Once

	mu     sync.Mutex
	frames []tap.Frame
}

func (w *wire) record(lane tap.Lane, raw []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.frames)
	w.frames = append(w.frames, tap.Frame{
		Seq: uint64(n + 1), At: time.Duration(n) * time.Millisecond, Lane: lane, Raw: bytes.Clone(raw), Size: int64(len(raw)),
	})
}

func (w *wire) Open(_ context.Context, to chan<- Event) error {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	w.to, w.in, w.ended, w.queue = to, toServer, make(chan struct{}), make(chan posted, 100000)
	go func() {
		w.serve(in, out)
		in.Close()
		out.Close()
	}()
	go func() {
		for p := range w.queue {
			w.record(tap.ToServer, p.line)
			_, err := w.in.Write(p.line)
			p.sent <- err
		}
		w.in.Close()
	}()
	go func() {
		defer close(w.ended)
		r := bufio.NewReader(fromServer)
		for {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 {
				w.record(tap.ToClient, line)
				to <- Event{Raw: line}
			}
			if err != nil {
				to <- Event{Gone: true, Err: io.ErrUnexpectedEOF}
				return
			}
		}
	}()
	return nil
}

func (w *wire) Send(m *Outgoing) <-chan error {
	sent := make(chan error, 1)
	line := m.line
	if line == nil {
		line = asLine(m.raw)
	}
	w.queue <- posted{line, sent}
	return sent
}

func (w *wire) HangUp(*Outgoing) bool { return false }
func (w *wire) CloseSend()            { w.closed.Do(func() { close(w.queue) }) }
func (w *wire) Close() string {
	w.CloseSend()
	<-w.ended
	return ""
}

// compared compares two sessions.
func compared(t *testing.T, a, b []tap.Frame) *diff.Report {
	t.Helper()
	load := func(frames []tap.Frame) *diff.Session {
		s := diff.NewSession("", diff.Loader(loader(frames)))
		var tracker session.Tracker
		for i := range frames {
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
	r, err := diff.Compare(load(a), load(b), diff.Options{Slower: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// differences returns the differences of a class and above, one per line.
func differences(r *diff.Report, from diff.Class) string {
	var b strings.Builder
	for i := range r.Differences {
		if d := &r.Differences[i]; d.Class >= from {
			b.WriteString(d.Class.String() + " " + d.Kind.String() + " " + d.Method + " " + d.Name + " " + d.Message + " " + d.Path + " " + d.What + " " + d.Old + " | " + d.New + "\n")
		}
	}
	return b.String()
}

// notes collects the notes, one per line.
func notes(opt *Options) *[]string {
	all := &[]string{}
	opt.Note = func(n Note) { *all = append(*all, n.Kind.String()+": "+n.Text) }
	return all
}

// play plays frames to a server in this process and returns the recorded frames.
func play(t *testing.T, plan *Plan, opt Options, serve func(io.Reader, io.Writer)) []tap.Frame {
	t.Helper()
	w := &wire{serve: serve}
	if err := Play(t.Context(), plan, w, opt); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.frames
}

// Mocked serves a recorded session. An external test sets it, since package mock
// imports this one.
var Mocked func(t *testing.T, frames []tap.Frame) func(io.Reader, io.Writer)

func mocked(t *testing.T, frames []tap.Frame) func(io.Reader, io.Writer) {
	t.Helper()
	return Mocked(t, frames)
}

// TestCorpus plays each healthy session against a mock of the same recording.
func TestCorpus(t *testing.T) {
	names, err := filepath.Glob("../../testdata/sessions/*-healthy.txtar")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d sessions, %v", len(names), err)
	}
	for _, name := range names {
		name = strings.TrimSuffix(filepath.Base(name), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			frames := recorded(t, name)
			opt := patient()
			noted := notes(&opt)
			got := play(t, planned(frames, nil), opt, mocked(t, frames))
			r := compared(t, frames, got)
			if text := differences(r, diff.Timing); text != "" || len(*noted) > 0 {
				t.Errorf("%s\nnotes %q", text, *noted)
			}
		})
	}
}
