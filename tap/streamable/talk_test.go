package streamable

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the recordings in testdata")

// A talk is a conversation of raw bytes: see testdata/talk/README.
type talk struct {
	head    string // everything before the recording
	steps   []step
	records string
	set     map[string]bool
}

// A step is one thing that one side does, or sees.
type step struct {
	line int
	verb string // ">", "<", "~", "^", or words such as "client fin"
	text string
	// get is what the other side gets, where it is not the same.
	get   string
	other bool // get counts
}

const recordsMark = "-- recorded --\n"

func parseTalk(t testing.TB, file string) *talk {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, records, _ := strings.Cut(string(raw), recordsMark)
	k := &talk{head: head, records: records, set: map[string]bool{}}
	for n, line := range strings.Split(head, "\n") {
		var last *step
		if len(k.steps) > 0 {
			last = &k.steps[len(k.steps)-1]
		}
		mark, rest, _ := strings.Cut(line, " ")
		switch mark {
		case "", "#":
		case "set":
			k.set[rest] = true
		case ">", "<", "~", "^":
			k.steps = append(k.steps, step{line: n + 1, verb: mark, text: rest})
		case "|":
			if last.other {
				last.get += rest
			} else {
				last.text += rest
			}
		case "=":
			last.other, last.get = true, rest
		case "client", "server":
			k.steps = append(k.steps, step{line: n + 1, verb: line})
		default:
			t.Fatalf("%s:%d: %q is no step", file, n+1, line)
		}
	}
	return k
}

// expand fills in the names of the two ends. {host} is the one that a Host
// header has on that side of the tap.
func expand(t testing.TB, s, host, tapAt, upAt string) []byte {
	_, port, _ := net.SplitHostPort(tapAt)
	return unescaped(t, strings.NewReplacer("{host}", host, "{tap}", tapAt, "{tapport}", port, "{up}", upAt).Replace(s))
}

const patience = 20 * time.Second // for what should come at once

// A stage is a tap between a raw client and a raw server.
type stage struct {
	t              testing.TB
	tap            *Tap
	rec            *memory
	up             net.Listener
	client, server *net.TCPConn
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// begin starts a tap in front of the upstream.
func begin(t testing.TB, upstream string, change func(*Config)) (*Tap, *memory) {
	t.Helper()
	u, err := url.Parse(upstream)
	must(t, err)
	rec := newMemory(t)
	cfg := Config{Upstream: u, Recorder: rec, MaskKey: []byte("a key"), Warn: func(s string) { t.Errorf("warned: %s", s) }}
	if change != nil {
		change(&cfg)
	}
	tp, err := New(cfg)
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- tp.Serve() }()
	t.Cleanup(func() {
		tp.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return tp, rec
}

func newStage(t testing.TB, change func(*Config)) *stage {
	t.Helper()
	s := &stage{t: t, up: listen(t)}
	s.tap, s.rec = begin(t, "http://"+s.up.Addr().String()+"/mcp", change)
	s.client = s.connect()
	return s
}

// connect is a client's new connection.
func (s *stage) connect() *net.TCPConn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.tap.Addr().String())
	must(s.t, err)
	s.t.Cleanup(func() { c.Close() })
	must(s.t, c.SetDeadline(time.Now().Add(patience)))
	return c.(*net.TCPConn)
}

// accept is the connection that the tap made.
func (s *stage) accept() *net.TCPConn {
	s.t.Helper()
	must(s.t, s.up.(*net.TCPListener).SetDeadline(time.Now().Add(patience)))
	c, err := s.up.Accept()
	must(s.t, err)
	s.t.Cleanup(func() { c.Close() })
	must(s.t, c.SetDeadline(time.Now().Add(patience)))
	return c.(*net.TCPConn)
}

func (s *stage) expand(text string, client bool) []byte {
	tapAt, upAt := s.tap.Addr().String(), s.up.Addr().String()
	host := upAt
	if client {
		host = tapAt
	}
	return expand(s.t, text, host, tapAt, upAt)
}

// play does one step.
func (s *stage) play(st step) {
	t := s.t
	t.Helper()
	want := st.text
	if st.other {
		want = st.get
	}
	switch st.verb {
	case ">":
		_, err := s.client.Write(s.expand(st.text, true))
		must(t, err)
		if want == "" {
			return
		}
		if s.server == nil {
			s.server = s.accept()
		}
		s.expect(st, s.server, s.expand(want, false))
	case "<":
		_, err := s.server.Write(s.expand(st.text, false))
		must(t, err)
		s.expect(st, s.client, s.expand(want, true))
	case "~":
		s.expect(st, s.client, s.expand(st.text, true))
	case "^":
		if s.server == nil {
			s.server = s.accept()
		}
		s.expect(st, s.server, s.expand(st.text, false))
	default:
		s.playEnd(st)
	}
}

func (s *stage) expect(st step, c net.Conn, want []byte) {
	s.t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(c, got)
	if !bytes.Equal(got[:n], want) {
		s.t.Fatalf("line %d: got  %s\n      want %s\n(%v)", st.line, escaped(got[:n]), escaped(want), err)
	}
}

func (s *stage) playEnd(st step) {
	s.t.Helper()
	side, verb, _ := strings.Cut(st.verb, " ")
	c := s.client
	if side == "server" {
		c = s.server
	}
	switch verb {
	case "fin":
		must(s.t, c.CloseWrite())
	case "rst":
		must(s.t, c.SetLinger(0))
		must(s.t, c.Close())
	case "close":
		must(s.t, c.Close())
	case "sees eof", "sees reset":
		n, err := c.Read(make([]byte, 1))
		want := verb == "sees eof"
		if n > 0 || errors.Is(err, io.EOF) != want || !want && !isReset(err) {
			s.t.Fatalf("line %d: %q: got %d bytes, %v", st.line, st.verb, n, err)
		}
	case "again": // what follows is a new connection
		s.hangUp()
		s.client, s.server = s.connect(), nil
	default:
		s.t.Fatalf("line %d: %q is no step", st.line, st.verb)
	}
}

// hangUp ends the connection, the client first.
func (s *stage) hangUp() {
	s.client.Close()
	if s.server != nil {
		_, _ = io.Copy(io.Discard, s.server)
		s.server.Close()
	}
	s.rec.wait(func(frames []*frame) bool {
		return countEvents(frames, "connect") > 0 && countEvents(frames, "connect") == countEvents(frames, "disconnect")
	})
}

// finish ends the connection and returns what was recorded.
func (s *stage) finish() string {
	s.hangUp()
	s.tap.Close()
	return s.neutral(s.rec.text(false))
}

func countEvents(frames []*frame, name string) int {
	n := 0
	for _, f := range frames {
		if f.event != nil && f.event.Name == name {
			n++
		}
	}
	return n
}

// neutral puts names in the place of the addresses of one run.
func (s *stage) neutral(text string) string {
	_, port, _ := net.SplitHostPort(s.tap.Addr().String())
	return strings.NewReplacer(s.tap.Addr().String(), "{tap}", s.up.Addr().String(), "{up}", ":"+port, ":{tapport}").Replace(text)
}

// configure sets what the talk sets.
func (k *talk) configure(cfg *Config) {
	cfg.KeepSecrets = k.set["keep-secrets"]
	cfg.RewriteAuth = k.set["rewrite-auth"]
	if k.set["header"] {
		cfg.Header = [][2]string{{"X-Extra", "s3cret-of-the-tap"}, {"x-more", "2"}}
	}
}

func talks(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/talk/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no talks: %v", err)
	}
	return files
}

// The bytes that each side sees are those that the other sent, but for what is
// written down, and what is recorded is what is written down.
func TestTalks(t *testing.T) {
	for _, file := range talks(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			k := parseTalk(t, file)
			s := newStage(t, k.configure)
			for _, st := range k.steps {
				s.play(st)
			}
			got := s.finish()
			if !k.set["keep-secrets"] && strings.Contains(s.rec.everything(), "s3cret") {
				t.Error("a secret is in the recording")
			}
			if *update {
				must(t, os.WriteFile(file, []byte(k.head+recordsMark+got), 0o666))
				return
			}
			diffLines(t, got, k.records)
		})
	}
}

// diffLines shows the first line that is not as it should be.
func diffLines(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var gl, wl string
		if i < len(g) {
			gl = g[i]
		}
		if i < len(w) {
			wl = w[i]
		}
		if gl != wl {
			t.Errorf("line %d of %d of what was recorded:\ngot  %s\nwant %s", i+1, len(w), gl, wl)
			return
		}
	}
}
