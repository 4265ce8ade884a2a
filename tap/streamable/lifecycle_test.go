package streamable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

func TestConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		url  string
		set  func(*Config)
		want string // of the error, or the URL
	}{
		"plain":           {"http://127.0.0.1:1/mcp?a=b", nil, "http://127.0.0.1:{port}/mcp?a=b"},
		"no path":         {"http://127.0.0.1:1", nil, "http://127.0.0.1:{port}"},
		"odd query":       {"http://127.0.0.1:1/a%2fb?c;d=%zz", nil, "http://127.0.0.1:{port}/a%2fb?c;d=%zz"},
		"a name":          {"http://x/", func(c *Config) { c.Listen = "localhost:0" }, "http://localhost:{port}/"},
		"everywhere":      {"http://x/", func(c *Config) { c.Listen = "0.0.0.0:0" }, "http://127.0.0.1:{port}/"},
		"no URL":          {"", func(c *Config) { c.Upstream = nil }, "no server URL was given"},
		"no scheme":       {"localhost:80/mcp", nil, "begins with neither"},
		"other scheme":    {"ws://x/", nil, "begins with neither"},
		"no host":         {"http:///mcp", nil, "has no host"},
		"no port":         {"http://x:99999/mcp", nil, "has an invalid port"},
		"port 0":          {"http://x:0/mcp", nil, "has an invalid port"},
		"a user":          {"http://me:s3cret@x/", nil, "has a user in it"},
		"no name":         {"http://x/", func(c *Config) { c.Header = [][2]string{{"a b", "c"}} }, `"a b" is not a valid name of a header field`},
		"two lines":       {"http://x/", func(c *Config) { c.Header = [][2]string{{"a", "s3cret\r\nb: c"}} }, "a contains a line end"},
		"another framing": {"http://x/", func(c *Config) { c.Header = [][2]string{{"content-LENGTH", "1"}} }, "content-LENGTH cannot be added"},
		"no such address": {"http://x/", func(c *Config) { c.Listen = "127.0.0.1:x" }, "listen tcp"},
	} {
		t.Run(name, func(t *testing.T) {
			var cfg Config
			if tc.url != "" {
				u, err := url.Parse(tc.url)
				must(t, err)
				cfg.Upstream = u
			}
			if tc.set != nil {
				tc.set(&cfg)
			}
			tp, err := New(cfg)
			if err != nil {
				if !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("got the error %q", err)
				}
				return
			}
			defer tp.Close()
			_, port, err := net.SplitHostPort(tp.Addr().String())
			must(t, err)
			if want := strings.ReplaceAll(tc.want, "{port}", port); tp.URL() != want {
				t.Errorf("the URL is %s, want %s", tp.URL(), want)
			}
		})
	}
}

// Law 3: a request is recorded before the server sees it, and a response before the
// client does.
func TestRecordedBeforeForwarded(t *testing.T) {
	rec := newMemory(t)
	has := func(exchange uint64, lane tap.Lane, want string) bool {
		return string(rec.joined(exchange, lane, tap.FormBody))+string(rec.joined(exchange, lane, tap.FormEvent)) == want
	}
	var n atomic.Uint64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		x := n.Add(1)
		if !has(x, tap.ToServer, string(body)) {
			t.Errorf("request %d reached the server unrecorded", x)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d of %d\n\n", i, x)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	defer srv.Close()
	tp, _ := begin(t, srv.URL, func(c *Config) { c.Recorder = rec })
	for x := uint64(1); x <= 100; x++ {
		resp, err := http.Post(tp.URL(), "application/json", strings.NewReader(fmt.Sprintf(`{"id":%d}`, x)))
		must(t, err)
		events := bufio.NewReader(resp.Body)
		var seen string
		for range 3 {
			for range 2 {
				line, err := events.ReadString('\n')
				must(t, err)
				seen += line
			}
			if got := string(rec.joined(x, tap.ToClient, tap.FormEvent)); !strings.HasPrefix(got, seen) {
				t.Fatalf("the client has seen %q, recorded is %q", seen, got)
			}
		}
		resp.Body.Close()
	}
}

// A trouble is a recorder that fails.
type trouble struct {
	tap.Recorder
	pieces, events func()
}

func (r *trouble) Piece(x uint64, lane tap.Lane, form tap.Form, p []byte, end bool) {
	if r.pieces != nil {
		r.pieces()
	}
}

func (r *trouble) Event(x uint64, e tap.Event) {
	if r.events != nil && e.Name != tap.EventGap {
		r.events()
	}
	if e.Name == tap.EventGap {
		r.Recorder.Event(x, e)
	}
}

// Law 1: traffic is forwarded whatever happens to the recording. There is one warning.
func TestBadRecorderDoesNotStopTraffic(t *testing.T) {
	srv := httptest.NewServer(hello)
	defer srv.Close()
	boom := func() { panic("no disk") }
	nothing := []byte(nil)
	fault := func() { _ = nothing[len(nothing)] }
	for name, r := range map[string]*trouble{
		"piece": {pieces: boom}, "event": {events: boom}, "both": {pieces: fault, events: fault},
	} {
		t.Run(name, func(t *testing.T) {
			r.Recorder = newMemory(t)
			var mu sync.Mutex
			var warned []string
			tp, _ := begin(t, srv.URL, func(c *Config) {
				c.Recorder = r
				c.Warn = func(s string) { mu.Lock(); defer mu.Unlock(); warned = append(warned, s) }
			})
			for range 5 {
				if resp, _ := get(t, http.DefaultClient, tp.URL()); resp.StatusCode != 200 {
					t.Errorf("got %s", resp.Status)
				}
			}
			must(t, tp.Close())
			if len(warned) != 1 || !strings.HasPrefix(warned[0], "recording stopped, traffic continues: ") {
				t.Errorf("warned %q", warned)
			}
			if gaps := r.Recorder.(*memory).events(tap.EventGap); len(gaps) != 1 {
				t.Errorf("%d gaps", len(gaps))
			}
		})
	}
	tp, _ := begin(t, srv.URL, func(c *Config) { c.Recorder = nil })
	if resp, _ := get(t, http.DefaultClient, tp.URL()); resp.StatusCode != 200 {
		t.Errorf("without a recorder: got %s", resp.Status)
	}
}

// A cutter that fails must not stop the traffic either: every byte is forwarded, and the
// recording reports that something is missing.
func TestFailingCutterDoesNotStopTraffic(t *testing.T) {
	for _, side := range []string{"up", "down"} {
		t.Run(side, func(t *testing.T) {
			var mu sync.Mutex
			var warned []string
			s := newStage(t, func(c *Config) {
				c.Warn = func(s string) { mu.Lock(); defer mu.Unlock(); warned = append(warned, s) }
			})
			s.Say(">", `POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9\r\n\r\nabc`)
			s.Say("<", `HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc`)
			s.tap.mu.Lock()
			for k := range s.tap.open { // which cannot happen
				if side == "up" {
					k.up.sink.Tap = nil
				} else {
					k.down.ex = nil
				}
			}
			s.tap.mu.Unlock()
			for _, part := range []string{"def", "ghi", `GET / HTTP/1.1\r\nHost: evil\r\n\r\n`} {
				s.Say(">", part)
				s.Say("<", part)
			}
			records := s.finish()
			if len(warned) != 1 || !strings.HasPrefix(warned[0], "a connection can no longer be read") {
				t.Errorf("warned %q", warned)
			}
			if !strings.Contains(records, "the rest was not recorded") {
				t.Errorf("recorded\n%s", records)
			}
		})
	}
}

// Close ends all connections, records their ends, and does not blame the server.
func TestClose(t *testing.T) {
	s := newStage(t, nil)
	s.Say(">", `GET / HTTP/1.1\r\nHost: {host}\r\n\r\n`)
	s.Say("<", `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n`)
	idle := s.Connect()
	s.rec.wait(func(f []*frame) bool { return countEvents(f, tap.EventConnect) == 2 })
	must(t, s.tap.Close())
	if _, err := s.Client.Read(make([]byte, 1)); !isReset(err) {
		t.Errorf("the client of the stream saw %v", err)
	}
	if _, err := s.Server.Read(make([]byte, 1)); !isReset(err) {
		t.Errorf("the server saw %v", err)
	}
	if _, err := idle.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the idle client saw %v", err)
	}
	if e := s.rec.events(tap.EventEnd); len(e) != 1 || e[0].By != "tap" || e[0].Error != "the tap was stopped" {
		t.Errorf("ended with %+v", e)
	}
	before := len(s.rec.all())
	if n := countEvents(s.rec.all(), tap.EventDisconnect); n != 2 {
		t.Errorf("%d connections ended", n)
	}
	if _, err := net.Dial("tcp", s.tap.Addr().String()); err == nil {
		t.Error("it still listens")
	}
	if len(s.rec.all()) != before {
		t.Error("something was recorded after Close")
	}
}

// FirstByte is the time from the request's first byte to that of the final response.
func TestFirstByte(t *testing.T) {
	l := newLanes(t, nil, ways["whole"](0))
	at := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }
	l.up.feed([]byte("\r\n"), at(0))
	l.up.feed([]byte("POST / HTTP/1.1\r\nHost: x\r\n"), at(1))
	l.up.feed([]byte("Content-Length: 2\r\n\r\n{}"), at(2))
	l.down.feed([]byte("HTTP/1.1 100 Continue\r\n\r\n"), at(3))
	l.down.feed([]byte("HTTP/1.1 200 "), at(5))
	l.down.feed([]byte("OK\r\nContent-Length: 2\r\n\r\n{}"), at(9))
	if e := l.lastEnd(t); e.FirstByte != 4*time.Second {
		t.Errorf("the first byte came after %v", e.FirstByte)
	}
}
