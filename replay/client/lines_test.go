package client

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A headServer answers over HTTP, and keeps what the heads of requests said.
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

// A server over HTTP as lines: the session's id, the revision and the header fields of
// 2026-07-28 are looked after, streams and bodies become lines, and what is refused is
// told.
func TestLines(t *testing.T) {
	server := newHeadServer(t)
	refused := make(chan string, 10)
	l, err := NewLines(HTTP(server.URL, new(Watcher)), func(id []byte, why string) { refused <- string(id) + " " + why })
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(l)
	for _, step := range []struct{ say, hear string }{
		{`{"id":"d","method":"server/discover"}`, `{"error":{"code":-32000,"message":"no"},"id":"d"}`},
		{`{"id":1,"method":"initialize"}`, `{"id":1,  "result":{"protocolVersion":"2025-11-25"}}`},
		{`{"method":"notifications/initialized"}`, `{"method":"notifications/message", "params":{}}`},
		{`{"id":"t","method":"tools/call","params":{"name":"größe","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `{"method":"notifications/progress"}`},
		{``, "{\"id\":\"t\",\"result\":\"\xff\"}"},
	} {
		if step.say != "" {
			if _, err := io.WriteString(l, step.say+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := lines.ReadString('\n'); err != nil || strings.TrimSuffix(got, "\n") != step.hear {
			t.Fatalf("%s: %q, %v", step.say, got, err)
		}
	}
	if _, err := io.WriteString(l, `{"id":9,"method":"refused"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if got := <-refused; !strings.HasPrefix(got, "9 HTTP 401") {
		t.Error(got)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err == nil {
		t.Error("it closes twice")
	}
	got := server.heads()
	for _, want := range []string{"POST    |POST    ", "|POST s1 2025-11-25  |GET s1 2025-11-25 ", "2026-07-28 tools/call =?base64?", "POST s1 2025-11-25 ", "DELETE s1 2025-11-25"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q has no %q", got, want)
		}
	}
}

// What cannot be reached is said at once, or with the first message.
func TestLinesNowhere(t *testing.T) {
	if _, err := NewLines(SSE("http://127.0.0.1:1/sse", new(Watcher)), nil); err == nil {
		t.Error("no error")
	}
	refused := make(chan string, 1)
	l, err := NewLines(HTTP("http://127.0.0.1:1/mcp", new(Watcher)), func(id []byte, why string) { refused <- why })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(l, `{"id":9,"method":"a"}`+"\n"); err != nil {
		t.Error(err)
	}
	if why := <-refused; !strings.Contains(why, "refused") {
		t.Error(why)
	}
	l.Close()
}
