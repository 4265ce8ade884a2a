package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// A viewer is the socket of a page.
type viewer struct {
	t    *testing.T
	conn *websocket.Conn
}

// dial opens a view of a recording.
func dial(t *testing.T, s *Server, key string, o viewOptions) *viewer {
	t.Helper()
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	h := http.Header{"Origin": {ts.URL}, "Cookie": {s.guard.cookie + "=" + s.guard.session}}
	conn, res, err := websocket.DefaultDialer.Dial(strings.Replace(ts.URL, "http", "ws", 1)+"/api/recordings/"+key+"/stream", h)
	if err != nil {
		t.Fatalf("%v %v", err, res)
	}
	t.Cleanup(func() { conn.Close() })
	v := &viewer{t, conn}
	if err := conn.WriteJSON(o); err != nil {
		t.Fatal(err)
	}
	return v
}

// next reads and acknowledges a message.
func (v *viewer) next() message {
	v.t.Helper()
	m := v.read()
	if err := v.conn.WriteMessage(websocket.TextMessage, []byte("ok")); err != nil {
		v.t.Fatal(err)
	}
	return m
}

func (v *viewer) read() (m message) {
	v.t.Helper()
	if err := v.conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		v.t.Fatal(err)
	}
	if err := v.conn.ReadJSON(&m); err != nil {
		v.t.Fatal(err)
	}
	return m
}

// until reads until a message satisfies fits, and returns it and all rows so far.
func (v *viewer) until(fits func(message) bool) (rows []row, last message) {
	v.t.Helper()
	for {
		m := v.next()
		rows = append(rows, m.Rows...)
		if n := len(m.Rows) + len(m.Updates); n > maxRows {
			v.t.Fatalf("a message with %d rows and updates", n)
		}
		if fits(m) {
			return rows, m
		}
	}
}

func TestStreamOfAnEndedRecording(t *testing.T) {
	s := newTestServer(t, "", &memory{key: "x", frames: busy(1000)})
	rows, last := dial(t, s, "x", viewOptions{}).until(func(m message) bool { return m.Done })
	if len(rows) != 1000 || last.Read != 1000 || !last.Idle || last.Recording == nil || last.Recording.Status != "ended" {
		t.Errorf("%d rows, and at the end %+v", len(rows), last)
	}
	for i, r := range rows {
		if r.ID != idOf(session.Ref{Seq: uint64(i + 1)}) {
			t.Fatalf("row %d is %s", i, idText(r.ID))
		}
	}
}

func TestStreamOfALiveRecording(t *testing.T) {
	m := &memory{key: "x", frames: busy(10), status: store.Live}
	v := dial(t, newTestServer(t, "", m), "x", viewOptions{})
	v.until(func(m message) bool { return m.Idle })
	for i := range 5 {
		m.add(tap.Stderr, fmt.Sprintf("line %d", i))
		rows, _ := v.until(func(m message) bool { return len(m.Rows) > 0 })
		if len(rows) != 1 || rows[0].Name != fmt.Sprintf("line %d", i) {
			t.Fatalf("rows %+v", rows)
		}
	}
	m.end()
	if _, last := v.until(func(m message) bool { return m.Done }); last.Recording.Status != "ended" {
		t.Errorf("at the end: %+v", last.Recording)
	}
}

func TestStreamAfter(t *testing.T) {
	s := newTestServer(t, "", &memory{key: "x", frames: busy(100)})
	rows, _ := dial(t, s, "x", viewOptions{After: 95}).until(func(m message) bool { return m.Done })
	if len(rows) != 5 || rows[0].ID != idOf(session.Ref{Seq: 96}) || rows[0].Request == 0 || rows[1].Request != 0 {
		t.Errorf("rows %+v", rows)
	}
}

// TestSlowPage checks that a page that acknowledges nothing receives no more than the window, and
// everything once it acknowledges.
func TestSlowPage(t *testing.T) {
	n := 100_000
	if longtest.Sampled(t) {
		n = 20_000
	}
	counting := &countedReads{memory: memory{key: "x", frames: busy(n)}}
	s := newTestServer(t, "")
	s.source = &oneReader{counting}
	v := dial(t, s, "x", viewOptions{})
	for range window { // without acknowledging
		v.read()
	}
	// By now the server has read the frames that it sent, and those of one more message. Another view
	// shows that enough time has passed.
	dial(t, s, "x", viewOptions{Filter: "is:error"}).until(func(m message) bool { return m.Done })
	if n := counting.first.Load(); n > window*maxRows+maxRows {
		t.Errorf("%d frames were read for a page that acknowledges nothing", n)
	}
	for range window {
		if err := v.conn.WriteMessage(websocket.TextMessage, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, last := v.until(func(m message) bool { return m.Done }); last.Read != uint64(n) {
		t.Errorf("at the end: %+v", last)
	}
}

// TestPageThatStopsReading checks that a page that stops reading is disconnected, even if it still
// acknowledges messages.
func TestPageThatStopsReading(t *testing.T) {
	for _, c := range []struct {
		name         string
		acknowledges bool
	}{{"silent", false}, {"acknowledges", true}} {
		t.Run(c.name, func(t *testing.T) {
			s := newTestServer(t, "", &memory{key: "x", frames: busy(100_000)})
			s.silence = 100 * time.Millisecond
			v := dial(t, s, "x", viewOptions{})
			for end := time.Now().Add(time.Minute); s.watch.busy.Load() > 0; time.Sleep(time.Millisecond) {
				if c.acknowledges {
					_ = v.conn.WriteMessage(websocket.TextMessage, nil)
				}
				if time.Now().After(end) {
					t.Fatal("the socket is still open")
				}
			}
		})
	}
}

func TestStreamProblems(t *testing.T) {
	broken := &memory{key: "broken", frames: busy(10), err: errors.New("page 7 is \x1b[31mtruncated")}
	for _, c := range []struct {
		key    string
		filter string
		want   problem
	}{
		{"none", "", problem{Kind: "deleted", Text: "The recording no longer exists."}},
		{"broken", "", problem{Kind: "unreadable", Text: `page 7 is \x1b[31mtruncated`}},
		{"broken", "ü kind:nonsense", problem{Kind: "filter", From: 7, To: 15}},
	} {
		v := dial(t, newTestServer(t, "", broken), c.key, viewOptions{Filter: c.filter})
		rows, last := v.until(func(m message) bool { return m.Done })
		p := last.Problem
		if p == nil || p.Kind != c.want.Kind || p.From != c.want.From || p.To != c.want.To || c.want.Text != "" && p.Text != c.want.Text {
			t.Errorf("%s %q: %+v, want %+v", c.key, c.filter, p, c.want)
		}
		if c.want.Kind == "unreadable" && len(rows) == 10 {
			continue
		} else if len(rows) > 0 {
			t.Errorf("%s %q: %d rows", c.key, c.filter, len(rows))
		}
	}
}

// TestHostilePage sends invalid options.
func TestHostilePage(t *testing.T) {
	s := newTestServer(t, "", &memory{key: "x", frames: busy(10)})
	for _, first := range []string{"", "null", "[]", `{"filter":7}`, strings.Repeat("x", 2*maxRequest)} {
		ts := httptest.NewServer(s)
		h := http.Header{"Origin": {ts.URL}, "Cookie": {s.guard.cookie + "=" + s.guard.session}}
		conn, _, err := websocket.DefaultDialer.Dial(strings.Replace(ts.URL, "http", "ws", 1)+"/api/recordings/x/stream", h)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.WriteMessage(websocket.TextMessage, []byte(first))
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if first == "null" { // the default options
			if _, _, err := conn.ReadMessage(); err != nil {
				t.Errorf("%q: %v", first, err)
			}
		} else if _, b, err := conn.ReadMessage(); err == nil {
			t.Errorf("%.20q got a response: %s", first, b)
		}
		conn.Close()
		ts.Close()
	}
}

func TestServerEndsItsSockets(t *testing.T) {
	s := newTestServer(t, "", &memory{key: "x", status: store.Live})
	v := dial(t, s, "x", viewOptions{})
	v.until(func(m message) bool { return m.Idle })
	if !s.watch.open(time.Now().Add(time.Hour)) {
		t.Error("an open page is not counted")
	}
	v.conn.Close()
	s.watch.begin()()
	if s.watch.open(time.Now().Add(time.Hour)) && s.watch.busy.Load() == 0 {
		t.Error("a closed page is counted")
	}
}
