package mocktest

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

const session = "testdata/session.txtar"

const (
	initialize = `{"jsonrpc":"2.0","id":"h","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"2"}}}`
	ready      = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	ask        = `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"forecast","arguments":{"city":"Oslo"},"_meta":{"progressToken":"p"}}}`
	answer     = `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"day":"Sunday"}}}`
)

// say sends lines, and reads the given number of lines.
func say(t testing.TB, w io.Writer, r *bufio.Reader, want int, lines ...string) (got []string) {
	t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			t.Errorf("write: %v", err)
		}
	}
	for range want {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Errorf("read: %v", err)
			break
		}
		got = append(got, line)
	}
	return got
}

// whole plays the whole session.
func whole(t testing.TB, w io.Writer, r *bufio.Reader) {
	t.Helper()
	say(t, w, r, 1, initialize)
	if got := say(t, w, r, 2, ready, ask); len(got) != 2 || !strings.Contains(got[0], `"progressToken":"p"`) || !strings.Contains(got[1], "Which day?") {
		t.Errorf("%q", got)
	}
	if got := say(t, w, r, 1, answer); len(got) != 1 || !strings.Contains(got[0], `"id":"a"`) || !strings.Contains(got[0], "15.5 degrees") {
		t.Errorf("%q", got)
	}
}

// A recording and both text formats are played in the same way, on a pipe and as a command, to
// several clients at the same time.
func TestStart(t *testing.T) {
	for _, file := range []string{session, stored(t), lines(t)} {
		t.Run(filepath.Ext(file), func(t *testing.T) {
			m := Start(t, file, Strict(), Verify())
			for range 2 {
				r, w := m.Pipe()
				defer r.Close()
				defer w.Close()
				whole(t, w, bufio.NewReader(r))
			}
			command := m.Command()
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					cmd := exec.Command(command[0], command[1:]...)
					w, _ := cmd.StdinPipe()
					r, _ := cmd.StdoutPipe()
					if err := cmd.Start(); err != nil {
						t.Error(err)
						return
					}
					out := bufio.NewReader(r)
					whole(t, w, out)
					w.Close()
					if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
						t.Errorf("%q, %v", rest, err)
					}
					if err := cmd.Wait(); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		})
	}
}

// stored returns the session as a recording.
func stored(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(session)
	if err != nil {
		t.Fatal(err)
	}
	head, frames, err := text.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	h := head.Header
	h.ID, h.Start = "0123abcd", time.Now()
	path := filepath.Join(t.TempDir(), "session"+store.Ext)
	w, err := store.NewWriter(path, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		if err := w.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(store.End{At: frames[len(frames)-1].At}); err != nil {
		t.Fatal(err)
	}
	return path
}

// lines returns the session as NDJSON.
func lines(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(session)
	if err != nil {
		t.Fatal(err)
	}
	_, frames, err := text.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(`{"v":1,"type":"recording"}` + "\n")
	for _, f := range frames {
		fmt.Fprintf(&b, `{"v":1,"type":"frame","seq":%d,"at_ns":%d,"lane":%q,"raw":%q}`+"\n", f.Seq, f.At.Nanoseconds(), f.Lane, f.Raw)
	}
	fmt.Fprintf(&b, `{"v":1,"type":"end","status":"ended","frames":%d}`+"\n", len(frames))
	path := filepath.Join(t.TempDir(), "session.ndjson")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What makes a test fail, and with which message.
func TestFailures(t *testing.T) {
	miss := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"forecast","arguments":{"city":"\u001b[31mRome"}}}`
	more := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Oslo","units":"metric"}}}`
	for _, c := range []struct {
		name   string
		opts   []Option
		client func(t testing.TB, w io.Writer, r *bufio.Reader)
		want   string // "" for a test that passes
		log    string
	}{
		{name: "all of it", opts: []Option{Strict(), Verify()}, client: whole},
		{name: "nothing", client: func(testing.TB, io.Writer, *bufio.Reader) {}},
		{
			name: "a miss", client: func(t testing.TB, w io.Writer, r *bufio.Reader) { say(t, w, r, 1, miss) },
			want: `mock of testdata/session.txtar: no recorded response for tools/call forecast: the nearest is frame 4, which differs at $.params.arguments.city (recorded "Oslo", live "\u001b[31mRome")`,
		},
		{
			name: "not all of it", opts: []Option{Verify()}, client: func(t testing.TB, w io.Writer, r *bufio.Reader) { say(t, w, r, 1, initialize) },
			want: "frame 4, tools/call forecast, was not requested", log: "1 of the 2 recorded requests were sent",
		},
		{
			name: "more than recorded", opts: []Option{Match("subset")}, log: "matches only at the level subset",
			client: func(t testing.TB, w io.Writer, r *bufio.Reader) { say(t, w, r, 1, more) },
		},
		{
			name: "more than recorded is let be", opts: []Option{Ignore("$.params.arguments.units"), Pace("instant"), GateTimeout(time.Hour), Repeat("loop")},
			client: func(t testing.TB, w io.Writer, r *bufio.Reader) { say(t, w, r, 1, more) },
		},
		{
			name: "strictly, more than recorded", opts: []Option{Strict(), Match("subset")},
			client: func(t testing.TB, w io.Writer, r *bufio.Reader) { say(t, w, r, 1, more) }, want: "matches only at the level subset",
		},
		{
			name: "strictly, again", opts: []Option{Strict()},
			client: func(t testing.TB, w io.Writer, r *bufio.Reader) { say(t, w, r, 2, initialize, initialize) }, want: "no recorded response for initialize",
		},
		{
			name: "on purpose", opts: []Option{Fault(1, "error=-32000 initialize")},
			client: func(t testing.TB, w io.Writer, r *bufio.Reader) {
				if got := say(t, w, r, 1, initialize); !strings.Contains(got[0], "-32000") {
					t.Errorf("%q", got)
				}
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var fake fakeT
			got := fake.run(func(ft testing.TB) {
				r, w := Start(ft, session, c.opts...).Pipe()
				c.client(t, w, bufio.NewReader(r))
			})
			if !strings.Contains(got, c.want) || c.want == "" && got != "" || strings.Contains(got, "\x1b") {
				t.Errorf("failed with %q, want %q", got, c.want)
			}
			if log := strings.Join(fake.logged, "\n"); !strings.Contains(log, c.log) {
				t.Errorf("logged %q, want %q", log, c.log)
			}
		})
	}
}

// A mock that cannot be started ends the test immediately.
func TestFatal(t *testing.T) {
	diary := filepath.Join(t.TempDir(), "diary.txt")
	if err := os.WriteFile(diary, []byte("Dear diary,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty.ndjson")
	if err := os.WriteFile(empty, []byte(`{"v":1,"type":"recording"}`+"\n"+`{"v":1,"type":"end","status":"ended","frames":0}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file string
		opt  Option
		want string
	}{
		{"testdata/none.mcptap", nil, "none.mcptap"},
		{"testdata/none.txtar", nil, "none.txtar"},
		{diary, nil, "neither NDJSON nor a transcript"},
		{empty, nil, "has nothing to play"},
		{session, Match("fuzzy"), `unknown match "fuzzy"`},
		{session, Ignore("arguments.now"), "write $.params.arguments.now"},
		{session, Repeat("never"), "unknown repeat"},
		{session, Pace("fast"), "unknown pace"},
		{session, Fault(0, "explode"), "unknown fault"},
		{session, GateTimeout(0), "must be positive"},
		{session, Session(0), "numbered from 1"},
		{session, Session(2), "has no session 2"},
	} {
		var fake fakeT
		got := fake.run(func(t testing.TB) {
			if c.opt == nil {
				Start(t, c.file)
			} else {
				Start(t, c.file, c.opt)
			}
			t.Errorf("the session continued")
		})
		if !strings.Contains(got, c.want) || strings.Contains(got, "went on") {
			t.Errorf("%s: %q, want %q", c.file, got, c.want)
		}
	}
}

// A test ends whatever the state of its client: it does not read, has an open server request, or has
// not sent anything.
func TestEnds(t *testing.T) {
	big := []tap.Frame{
		{Seq: 1, Lane: tap.ToServer, Raw: []byte(`{"id":1,"method":"a"}` + "\n")},
		{Seq: 2, Lane: tap.ToClient, Raw: []byte(`{"id":1,"result":"` + strings.Repeat("x", 4<<20) + `"}` + "\n")},
	}
	path := filepath.Join(t.TempDir(), "big"+store.Ext)
	w, err := store.NewWriter(path, tap.Header{ID: "0123abcd", Start: time.Now(), Transport: "stdio"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range big {
		f.Size = int64(len(f.Raw))
		if err := w.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(store.End{}); err != nil {
		t.Fatal(err)
	}
	var fake fakeT
	if got := fake.run(func(ft testing.TB) {
		m := Start(ft, path)
		r, w := m.Pipe()
		if _, err := io.WriteString(w, `{"id":7,"method":"a"}`+"\n"); err != nil {
			t.Error(err)
		}
		if b, err := bufio.NewReader(r).ReadByte(); b != '{' || err != nil { // and no more
			t.Error(b, err)
		}
		m.Pipe()
		command := m.Command()
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stdin = neverEnds(t)
		if err := cmd.Start(); err != nil {
			t.Error(err)
		}
		t.Cleanup(func() { _ = cmd.Wait() }) // the relay ends with the test
	}); got != "" {
		t.Error(got)
	}
}

// neverEnds is a stdin without input until the test is over.
func neverEnds(t *testing.T) *os.File {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return r
}

// Only the client that was given the command line gets a session.
func TestSecret(t *testing.T) {
	var fake fakeT
	if got := fake.run(func(ft testing.TB) {
		command := Start(ft, session).Command()
		cmd := exec.Command(command[0], command[1], command[2], strings.Repeat("A", len(command[3])))
		cmd.Stdin = strings.NewReader(ask + "\n")
		if out, _ := cmd.Output(); len(out) > 0 {
			t.Errorf("%q", out)
		}
	}); got != "" {
		t.Error(got)
	}
}

// A command line no longer works when its test is over.
func TestLate(t *testing.T) {
	var command []string
	new(fakeT).run(func(ft testing.TB) { command = Start(ft, session).Command() })
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "has ended") {
		t.Errorf("%v, %s", err, out)
	}
}

// A miss over HTTP fails the test too, and a client that is still connected at the end does not block
// it.
func TestURLFailures(t *testing.T) {
	var fake fakeT
	got := fake.run(func(ft testing.TB) {
		url := Start(ft, session, Verify()).URL()
		answer, err := http.Post(url, "application/json", strings.NewReader(initialize))
		if err != nil {
			t.Error(err)
			return
		}
		answer.Body.Close()
		request, err := http.NewRequest("POST", url, strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`))
		if err != nil {
			t.Error(err)
			return
		}
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": answer.Header.Get("Mcp-Session-Id")} {
			request.Header.Set(name, value)
		}
		if answer, err = http.DefaultClient.Do(request); err != nil {
			t.Error(err)
			return
		}
		answer.Body.Close()
	})
	for _, want := range []string{"no recorded response for tools/list", "frame 4, tools/call forecast, was not requested"} {
		if !strings.Contains(got, want) || strings.Contains(got, "frame 1,") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
