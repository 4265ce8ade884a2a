package mock

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

// session reads a recorded session of the corpus.
func recorded(t *testing.T, name string) []tap.Frame {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "sessions", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	_, frames, err := text.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return frames
}

func loaded(t *testing.T, frames []tap.Frame, opt replay.Options) *Recording {
	t.Helper()
	rec, err := Load(each(frames), opt)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func each(frames []tap.Frame) func(func(tap.Frame, error) bool) {
	return func(yield func(tap.Frame, error) bool) {
		for _, f := range frames {
			if !yield(f, nil) {
				return
			}
		}
	}
}

// lines returns lines as frames: those with > are from the client.
func lines(text string) (frames []tap.Frame) {
	for line := range strings.Lines(text) {
		f := tap.Frame{Seq: uint64(len(frames) + 1), At: time.Duration(len(frames)) * time.Millisecond, Lane: tap.ToClient, Raw: []byte(line)}
		if raw, ok := strings.CutPrefix(line, ">"); ok {
			f.Lane, f.Raw = tap.ToServer, []byte(raw)
		}
		f.Size = int64(len(f.Raw))
		frames = append(frames, f)
	}
	return frames
}

// clientHalf plays the client half of a recording to a mock: each message is sent when everything that
// preceded it has arrived. It returns all that it received.
func clientHalf(frames []tap.Frame, to io.WriteCloser, from io.Reader) (got []byte, err error) {
	r := bufio.NewReader(from)
	due := 0
	for i := range frames {
		switch f := &frames[i]; f.Lane {
		case tap.ToClient:
			due += bytes.Count(f.Raw, []byte("\n"))
		case tap.ToServer:
			for ; due > 0; due-- {
				line, err := r.ReadBytes('\n')
				if got = append(got, line...); err != nil {
					return got, err
				}
			}
			if _, err := to.Write(f.Raw); err != nil {
				return got, err
			}
		case tap.Lifecycle:
			if e, err := tap.ParseEvent(f.Raw); err == nil && e.Name == tap.EventEOF && e.Lane == "to_server" {
				to.Close()
			}
		}
	}
	rest, err := io.ReadAll(r)
	return append(got, rest...), err
}

// serverHalf returns what the client of a recording got.
func serverHalf(frames []tap.Frame) (all []byte) {
	for i := range frames {
		if frames[i].Lane == tap.ToClient {
			all = append(all, frames[i].Raw...)
		}
	}
	return all
}

// play runs a client with a separate mock.
func play(frames []tap.Frame, rec *Recording, note func(replay.Note)) ([]byte, error) {
	toServer, toClient := pipe(), pipe()
	done := make(chan error, 1)
	go func() {
		_, err := Stdio(context.Background(), rec.Script, toServer.r, toClient.w, note)
		toClient.w.Close()
		done <- err
	}()
	got, err := clientHalf(frames, toServer.w, toClient.r)
	return got, errors.Join(err, <-done)
}

type ends struct {
	r *io.PipeReader
	w *io.PipeWriter
}

func pipe() ends {
	r, w := io.Pipe()
	return ends{r, w}
}

// The server half is played byte for byte, to eight concurrent clients, a hundred times: the corpus
// has every pattern, and real recordings are longer.
func TestStdioIsDeterministic(t *testing.T) {
	runs := 100
	if longtest.Sampled(t) {
		runs = 5
	}
	for _, name := range []string{
		"2024-11-05-nested-healthy", "2025-03-26-batch-healthy", "2025-11-25-task-input-healthy", "2025-11-25-cancel-healthy",
		"2026-07-28-listen-healthy", "2026-07-28-chains-healthy", "dialect-002-progress-healthy", "real-everything-flow", "real-go-both",
	} {
		t.Run(name, func(t *testing.T) {
			frames := recorded(t, name)
			want := serverHalf(frames)
			rec := loaded(t, frames, replay.Options{Pace: replay.Instant})
			for range runs {
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						got, err := play(frames, rec, nil)
						if err != nil || !bytes.Equal(got, want) {
							t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
						}
					})
				}
				all.Wait()
				if t.Failed() {
					break
				}
			}
		})
	}
}

// writes keeps each write separately, with its time.
type writes struct {
	mu  sync.Mutex
	all []string
	at  []time.Time
	err error
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	w.all, w.at = append(w.all, string(p)), append(w.at, time.Now())
	return len(p), nil
}

// Each message is a separate write, and there is a pause after a notification: a client that reads
// both together loses the notification.
func TestStdioWritesSeparately(t *testing.T) {
	frames := lines(`>{"id":1,"method":"a","params":{"_meta":{"progressToken":1}}}
{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
{"method":"notifications/progress","params":{"progressToken":1,"progress":2}}
{"id":1,"result":{}}
`)
	for i := range frames {
		frames[i].At = 0 // all at the same time
	}
	rec := loaded(t, frames, replay.Options{})
	synctest.Test(t, func(t *testing.T) {
		var out writes
		if _, err := Stdio(t.Context(), rec.Script, bytes.NewReader(frames[0].Raw), &out, nil); err != nil {
			t.Fatal(err)
		}
		if len(out.all) != 3 || strings.Join(out.all, "") != string(serverHalf(frames)) {
			t.Fatalf("%q", out.all)
		}
		for i := 1; i < len(out.at); i++ {
			if d := out.at[i].Sub(out.at[i-1]); d < time.Millisecond || d > 5*time.Millisecond {
				t.Errorf("message %d came %v after the previous one", i, d)
			}
		}
	})
}

// If a client never answers, the mock waits, finally notes it, and continues with other requests.
func TestStdioGate(t *testing.T) {
	frames := recorded(t, "2025-11-25-nested-healthy")
	rec := loaded(t, frames, replay.Options{GateTimeout: time.Minute})
	synctest.Test(t, func(t *testing.T) {
		in := pipe()
		var out writes
		var mu sync.Mutex
		var notes []replay.Note
		over := make(chan error)
		go func() {
			_, err := Stdio(t.Context(), rec.Script, in.r, &out, func(n replay.Note) {
				mu.Lock()
				defer mu.Unlock()
				notes = append(notes, n)
			})
			over <- err
		}()
		for i := range frames[:8] {
			if frames[i].Lane == tap.ToServer {
				in.w.Write(frames[i].Raw)
			}
		}
		time.Sleep(2 * time.Minute) // of the synctest bubble: no real time passes
		synctest.Wait()
		mu.Lock()
		if len(out.all) != 3 || !strings.Contains(out.all[2], "sampling/createMessage") {
			t.Errorf("%q", out.all)
		}
		if len(notes) != 1 || notes[0].Kind != replay.NoteTimeout || !strings.Contains(notes[0].Text, "1m0s") {
			t.Errorf("%v", notes)
		}
		mu.Unlock()
		in.w.Write([]byte(`{"jsonrpc":"2.0","id":9,"method":"ping"}` + "\n"))
		in.w.Close()
		if err := <-over; err != nil || len(out.all) != 4 || !strings.Contains(out.all[3], `"id":9`) {
			t.Errorf("%v, %q", err, out.all)
		}
	})
}

// The ways in which a session ends.
func TestStdioEnds(t *testing.T) {
	rec := loaded(t, lines(">{\"id\":1,\"method\":\"a\"}\n{\"id\":1,\"result\":{}}\n"), replay.Options{})
	request := `{"id":1,"method":"a"}`
	t.Run("a last line without an end", func(t *testing.T) {
		var out writes
		s, err := Stdio(t.Context(), rec.Script, strings.NewReader(request), &out, nil)
		if err != nil || len(out.all) != 1 || s.Requests() != 1 || s.Recorded() != 1 {
			t.Errorf("%v, %q", err, out.all)
		}
	})
	t.Run("a line longer than the buffer", func(t *testing.T) {
		var out writes
		long := `{"id":1,"pad":"` + strings.Repeat("x", 200<<10) + `","method":"a"}` + "\n\n \n" + request + "\n"
		if _, err := Stdio(t.Context(), rec.Script, strings.NewReader(long), &out, nil); err != nil || len(out.all) != 2 {
			t.Errorf("%v, %q", err, out.all)
		}
	})
	t.Run("the context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in := pipe()
		over := make(chan error)
		go func() {
			_, err := Stdio(ctx, rec.Script, in.r, io.Discard, nil)
			over <- err
		}()
		in.w.Write([]byte(request + "\n"))
		cancel()
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		in.w.Close()
	})
	t.Run("a client that stops reading", func(t *testing.T) {
		in := pipe()
		over := make(chan error)
		go func() {
			_, err := Stdio(t.Context(), rec.Script, in.r, &writes{err: fmt.Errorf("write: %w", syscall.EPIPE)}, nil)
			over <- err
		}()
		in.w.Write([]byte(request + "\n"))
		if err := <-over; err != nil {
			t.Error(err)
		}
		in.w.Close()
	})
	for name, c := range map[string]struct {
		in   io.Reader
		out  io.Writer
		want string
	}{
		"a broken output": {strings.NewReader(request), &writes{err: errors.New("no space")}, "write to the client: no space"},
		"a broken input":  {io.MultiReader(strings.NewReader(request+"\n"), failing{}), &writes{}, "read from the client: broken"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Stdio(t.Context(), rec.Script, c.in, c.out, nil); err == nil || err.Error() != c.want {
				t.Error(err)
			}
		})
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken") }

// A server that ended on its own ends, even though the client is still connected.
func TestStdioLeaves(t *testing.T) {
	frames := recorded(t, "dialect-002-progress-healthy")
	got, err := play(frames, loaded(t, frames, replay.Options{Pace: replay.Instant}), nil)
	if err != nil || !bytes.Equal(got, serverHalf(frames)) {
		t.Errorf("%v\n%s", err, got)
	}
}

// A message from another transport is one line, whatever its format there, and a last line without a
// terminator is not joined with the next one.
func TestStdioMakesLines(t *testing.T) {
	event := func(data string) []byte {
		return []byte("event: message\nid: 1\ndata: " + strings.ReplaceAll(data, "\n", "\ndata: ") + "\n\n")
	}
	frames := []tap.Frame{
		{Seq: 1, Lane: tap.ToServer, Form: tap.FormBody, Exchange: 1, Raw: []byte("{\"id\":1,\r\n \"method\":\"a\"}")},
		{Seq: 2, Lane: tap.ToClient, Form: tap.FormEvent, Exchange: 1, Raw: event("{\"id\":1,\n\"result\":{}}")},
		{Seq: 3, Lane: tap.ToServer, Form: tap.FormBody, Exchange: 2, Raw: []byte(`{"id":2,"method":"b"}`)},
		{Seq: 4, Lane: tap.ToClient, Form: tap.FormBody, Exchange: 2, Raw: []byte("\r\n {\"result\":\r\n[],\"id\":2}\n")},
		{Seq: 5, Lane: tap.ToServer, Form: tap.FormLine, Raw: []byte(`{"id":3,"method":"c"}`)},
		{Seq: 6, Lane: tap.ToClient, Form: tap.FormLine, Raw: []byte(`{"id":3,"resu`)},
		{Seq: 7, Lane: tap.ToServer, Form: tap.FormLine, Raw: []byte(`{"id":4,"method":"d"}`)},
		{Seq: 8, Lane: tap.ToClient, Form: tap.FormLine, Raw: []byte("{\"id\":4,\"result\":{}}\r\n")},
		{Seq: 9, Lane: tap.ToClient, Form: tap.FormBody, Exchange: 3, Raw: []byte("<html>")},
		{Seq: 10, Lane: tap.ToClient, Form: tap.FormEvent, Exchange: 3, Raw: []byte("id: 7\ndata:\n\n")},
	}
	for i := range frames {
		frames[i].Size = int64(len(frames[i].Raw))
	}
	var in bytes.Buffer
	for _, i := range []int{0, 2, 4, 6} {
		in.Write(bytes.ReplaceAll(frames[i].Raw, []byte("\r\n"), nil))
		in.WriteByte('\n')
	}
	var out writes
	if _, err := Stdio(t.Context(), loaded(t, frames, replay.Options{Pace: replay.Instant}).Script, &in, &out, nil); err != nil {
		t.Fatal(err)
	}
	want := []string{"{\"id\":1, \"result\":{}}\n", "{\"result\":  [],\"id\":2}\n", `{"id":3,"resu`, "\n{\"id\":4,\"result\":{}}\r\n"}
	if strings.Join(out.all, "|") != strings.Join(want, "|") {
		t.Errorf("got  %q\nwant %q", out.all, want)
	}
}
