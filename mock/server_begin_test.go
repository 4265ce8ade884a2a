package mock

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mcptap/mcptap/replay"
)

// halfServed serves a recording of which the second half is read when goOn is called.
func halfServed(t *testing.T, s *trickle, opt ServerOptions) (rec *Recording, srv *Server, url string, goOn func()) {
	t.Helper()
	rec = begin(t, s, replay.Options{Pace: replay.Instant}, 10)
	srv, url = served(t, rec, opt)
	goOn = sync.OnceFunc(func() { close(s.goOn) })
	t.Cleanup(goOn)
	return rec, srv, url, goOn
}

// A response is what came for a request.
type response struct {
	status int
	body   string
	err    error
}

// later sends a message whose answer takes a while.
func later(t *testing.T, url, id, body string) <-chan response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if name, value, ok := strings.Cut(id, ": "); ok {
		r.Header.Set(name, value)
	}
	came := make(chan response, 1)
	go func() {
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			came <- response{err: err}
			return
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		came <- response{res.StatusCode, string(b), err}
	}()
	return came
}

// streamsOf waits until the sessions of a server have opened so many streams: a message
// that opens one is being played.
func streamsOf(s *Server, n int) {
	for opened := 0; opened < n; runtime.Gosched() {
		opened = 0
		s.mu.Lock()
		for t := range s.talks {
			t.mu.Lock()
			opened += int(t.last)
			t.mu.Unlock()
		}
		s.mu.Unlock()
	}
}

// misses are what the notes say of requests that got no recorded answer.
func (n *notes) misses() (all []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, x := range n.all {
		if x.Kind == replay.NoteMiss {
			all = append(all, x.Text)
		}
	}
	return all
}

// early asks what has been read, on each transport.
func early(t *testing.T, url string) (id string, events, socket *duplexClient) {
	t.Helper()
	id = begun(t, url, "/mcp")
	if res, body := ask(t, url, said{"POST", "/mcp", []string{id}, firstCall}); res.StatusCode != 200 || !strings.Contains(body, "Day 0 in Oslo") {
		t.Fatal(res.Status, body)
	}
	events, socket = dialEvents(t, url, "/sse"), dialSocket(t, url, "/ws")
	for _, c := range []*duplexClient{events, socket} {
		for i, m := range []string{opening, firstCall} {
			if err := c.send([]byte(m)); err != nil || !c.until(i+1) {
				t.Fatal(err, c.got)
			}
		}
		if !strings.Contains(c.got[1], "Day 0 in Oslo") {
			t.Fatal(c.got)
		}
	}
	return id, events, socket
}

// A server answers what has been read, to several clients on each transport, while
// others wait for what has not, and these when it has.
func TestServerBeginsEarly(t *testing.T) {
	var said notes
	_, srv, url, goOn := halfServed(t, twoHalves(), ServerOptions{Note: said.note})
	id, events, socket := early(t, url)
	last := later(t, url+"/mcp", id, lastCall)
	streamsOf(srv, 3+1+1)
	sent := make(chan error, 1)
	go func() { sent <- events.send([]byte(lastCall)) }()
	if err := socket.send([]byte(lastCall)); err != nil {
		t.Error(err)
	}
	gone, _, _ := early(t, url)
	if res, body := ask(t, url, askedTo("DELETE", gone)); res.StatusCode != 200 {
		t.Error(res.Status, body)
	}
	if res, body := ask(t, url, askedTo("GET", gone)); res.StatusCode != 404 {
		t.Error(res.Status, body)
	}
	if misses := said.misses(); len(misses) != 0 {
		t.Error(misses)
	}
	select {
	case x := <-last:
		t.Errorf("an answer that has not been read: %+v", x)
	default:
	}
	goOn()
	if x := <-last; x.status != 200 || !strings.Contains(x.body, "Day 1999 in Oslo") {
		t.Errorf("%+v", x)
	}
	for _, c := range []*duplexClient{events, socket} {
		if !c.until(3) || !strings.Contains(c.got[2], "Day 1999 in Oslo") {
			t.Error(c.got)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if res, body := ask(t, url, spoken("POST", id, noCall)); res.StatusCode != 200 || !strings.Contains(body, "no recorded answer") {
		t.Error(res.Status, body)
	}
}

// askedTo is a request without a body in a session, and spoken one with a body.
func askedTo(method, id string) said { return spoken(method, id, "") }

// spoken is documented at askedTo.
func spoken(method, id, body string) said { return said{method, "/mcp", []string{id}, body} }

// What cannot be read is answered with that, on each transport, and so is whoever comes
// later. What has been read stays.
func TestServerBeginFails(t *testing.T) {
	s := twoHalves()
	s.err = errors.New("page 7 is damaged")
	var said notes
	rec, srv, url, goOn := halfServed(t, s, ServerOptions{Note: said.note})
	id, events, socket := early(t, url)
	miss := later(t, url+"/mcp", id, noCall)
	streamsOf(srv, 3+1+1)
	second := later(t, url+"/mcp", id, firstCall)
	sent := make(chan error, 1)
	go func() { sent <- events.send([]byte(noCall)) }()
	if err := socket.send([]byte(noCall)); err != nil {
		t.Error(err)
	}
	goOn()
	is := func(x response, id string) {
		t.Helper()
		want := `{"jsonrpc":"2.0","error":{"code":-32603,"message":"mcptap mock: the recording cannot be read any more: a recording: page 7 is damaged"},"id":` + id + `}`
		if x.err != nil || x.status != 500 || x.body != want {
			t.Errorf("%+v, want %s", x, want)
		}
	}
	is(<-miss, `"z"`)
	if x := <-second; x.status != 404 { // it came when the session had been forgotten
		is(x, `"x"`)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	for _, c := range []*duplexClient{events, socket} {
		if !c.until(3) || !strings.Contains(c.got[2], "page 7 is damaged") || !strings.Contains(c.got[2], `"id":"z"`) {
			t.Error(c.got)
		}
	}
	if err := rec.Wait(); !errors.Is(err, s.err) {
		t.Error(err)
	}
	id, _, _ = early(t, url)
	is(<-later(t, url+"/mcp", id, noCall), `"z"`)
	if misses := said.misses(); len(misses) != 4 || !strings.Contains(misses[0], "page 7 is damaged") { // one a session
		t.Error(misses)
	}
}

// Where it cannot be known any more how a message would be taken, that is the answer.
func TestServerBeginNeverKnows(t *testing.T) {
	const noHandshake = `{"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Oslo","day":0}},"jsonrpc":"2.0","id":4}`
	const probe = `{"jsonrpc":"2.0","id":5,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	s := &trickle{frames: benchFrames(2000)[2:], at: 2000, goOn: make(chan struct{}), r: twoHalves().r, err: errors.New("page 7 is damaged")}
	refused := lines(">" + probe + "\n" + `{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"no"}}` + "\n")
	for i := range s.frames {
		s.frames[i].Seq += uint64(len(refused))
	}
	s.frames = append(refused, s.frames...)
	_, _, url, goOn := halfServed(t, s, ServerOptions{})
	first := later(t, url+"/mcp", "", noHandshake)
	second := later(t, url+"/mcp", "Mcp-Protocol-Version: 2026-07-28", probe)
	goOn()
	if x := <-first; x.status != 500 || !strings.Contains(x.body, "page 7 is damaged") || !strings.Contains(x.body, `"id":4`) {
		t.Errorf("%+v", x)
	}
	if x := <-second; x.status != 400 || !strings.Contains(x.body, "Mcp-Method") { // its head is not whole
		t.Errorf("%+v", x)
	}
	header := []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: server/discover"}
	if res, body := ask(t, url, said{"POST", "/mcp", header, probe}); res.StatusCode != 500 || !strings.Contains(body, `"message":"no"`) {
		t.Error(res.Status, body)
	}
	if res, body := ask(t, url, said{"GET", "/mcp", nil, ""}); res.StatusCode != 500 || !strings.Contains(body, "page 7 is damaged") {
		t.Error(res.Status, body)
	}
}

// When nobody wants the rest, because the run ends, who waits for it is cut off, and
// nothing is said of that.
func TestServerBeginIsEnded(t *testing.T) {
	s := twoHalves()
	s.err = context.Canceled
	var said notes
	_, srv, url, goOn := halfServed(t, s, ServerOptions{Note: said.note})
	id := begun(t, url, "/mcp")
	miss := later(t, url+"/mcp", id, noCall)
	streamsOf(srv, 2)
	goOn()
	if x := <-miss; x.err == nil && x.status != 503 {
		t.Errorf("%+v", x)
	}
	srv.Close()
	if misses := said.misses(); len(misses) != 0 {
		t.Error(misses)
	}
}
