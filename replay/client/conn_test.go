package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A headServer responds over HTTP and records the heads of requests.
type headServer struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func newHeadServer(t *testing.T) *headServer {
	s := new(headServer)
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *headServer) heads() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.seen, "|")
}

func (s *headServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	text := string(body)
	s.mu.Lock()
	s.seen = append(s.seen, strings.Join([]string{r.Method, r.Header.Get("Mcp-Session-Id"), r.Header.Get("Mcp-Protocol-Version"), r.Header.Get("Mcp-Method"), r.Header.Get("Mcp-Name")}, " "))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: 1\ndata:\n\ndata: {\"method\":\"notifications/message\",\ndata: \"params\":{}}\n\n")
	case r.Method == http.MethodDelete:
	case strings.Contains(text, `"initialize"`):
		w.Header().Set("Mcp-Session-Id", "s1")
		_, _ = io.WriteString(w, "{\"id\":1,\r\n\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n")
	case strings.Contains(text, `"server/discover"`):
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"code":-32000,"message":"no"},"id":null}`)
	case strings.Contains(text, `"refused"`):
		w.WriteHeader(http.StatusUnauthorized)
	case strings.Contains(text, `"tools/call"`):
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"method\":\"notifications/progress\"}\n\ndata: {\"id\":\"t\",\"result\":\"\xff\"}\n\n")
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// An HTTP connection handles the session id, the revision, the header fields of 2026-07-28 and the
// standing stream, and reports refusals.
func TestConnHTTP(t *testing.T) {
	server := newHeadServer(t)
	conn := HTTP(server.URL, new(Watcher))
	events := make(chan Event)
	if err := conn.Open(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		say  string
		hear []string
	}{
		{`{"id":"d","method":"server/discover"}`, []string{`{"error":{"code":-32000,"message":"no"},"id":null}`}},
		{`{"id":1,"method":"initialize"}`, []string{"{\"id\":1,\r\n\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n"}},
		{`{"method":"notifications/initialized"}`, []string{"{\"method\":\"notifications/message\",\n\"params\":{}}"}},
		{`{"id":"t","method":"tools/call","params":{"name":"größe","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, []string{`{"method":"notifications/progress"}`, "{\"id\":\"t\",\"result\":\"\xff\"}"}},
	} {
		m := NewOutgoing([]byte(step.say))
		sent := conn.Send(m)
		for _, want := range step.hear {
			e := <-events
			if string(e.Raw) != want || e.Err != nil || e.On != nil && e.On != m {
				t.Fatalf("%s: %+v, want %q", step.say, e, want)
			}
		}
		if err := <-sent; err != nil {
			t.Errorf("%s: %v", step.say, err)
		}
	}
	m := NewOutgoing([]byte(`{"id":9,"method":"refused"}`))
	conn.Send(m)
	if e := <-events; e.On != m || e.Err == nil || !strings.HasPrefix(e.Err.Error(), "HTTP 401") {
		t.Errorf("%+v", e)
	}
	conn.Close()
	got := server.heads()
	for _, want := range []string{"POST    |POST    ", "|POST s1 2025-11-25  |GET s1 2025-11-25 ", "2026-07-28 tools/call =?base64?", "POST s1 2025-11-25 ", "DELETE s1 2025-11-25"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q has no %q", got, want)
		}
	}
}

// An unreachable server is reported immediately, or with the first message.
func TestConnNowhere(t *testing.T) {
	events := make(chan Event, 1)
	sse := SSE("http://127.0.0.1:1/sse", new(Watcher))
	if err := sse.Open(t.Context(), events); err == nil {
		t.Error("no error")
	}
	sse.Close()
	conn := HTTP("http://127.0.0.1:1/mcp", new(Watcher))
	if err := conn.Open(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	conn.Send(NewOutgoing([]byte(`{"id":9,"method":"a"}`)))
	if e := <-events; e.Err == nil || !strings.Contains(e.Err.Error(), "refused") {
		t.Errorf("%+v", e)
	}
	conn.Close()
}
