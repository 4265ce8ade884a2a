package browsertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// httpServer is a Streamable HTTP server: its response to tools/call is a stream of two steps and the
// result, other responses are JSON. It has one session.
func httpServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			http.Error(w, "not JSON", http.StatusBadRequest)
			return
		}
		if m.Method != "initialize" && r.Header.Get("Mcp-Session-Id") != "one" {
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		w.Header().Set("Mcp-Session-Id", "one")
		if m.Method != "tools/call" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"http-server","version":"2"}}}`, m.ID)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 2 {
			fmt.Fprintf(w, "event: message\nid: %d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":%d}}\n\n", i, i)
			w.(http.Flusher).Flush()
		}
		fmt.Fprintf(w, "event: message\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"streamed\"}]}}\n\n", m.ID)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

// post sends a message and returns the status and the response body.
func post(t *testing.T, url, session, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer a-secret-token")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(all)
}

// TestHTTPWeb checks that `mcptap http --web` prints the URL of the page, which shows exchanges
// live and outlives the tap while it is open.
func TestHTTPWeb(t *testing.T) {
	cmd := exec.Command(mcptap(t), "http", httpServer(t), "--web", "--dir", t.TempDir(), "--label", "on-http")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	tapped := strings.TrimSpace(readLine(t, bufio.NewReader(out)))
	stderr := bufio.NewReader(errs)
	var url string
	for ok := false; !ok; { // skip other lines
		_, url, ok = strings.Cut(readLine(t, stderr), "watch it at ")
	}
	p := newTab(t, strings.TrimSpace(url), 1280, 700, false)
	p.wait("/Nothing has crossed yet|connected/.test(document.body.innerText) || document.querySelector('.pad > .row')")
	post(t, tapped, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"the-client","version":"1"}}}`)
	if _, got := post(t, tapped, "one", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":1}}}`); !strings.Contains(got, "streamed") {
		t.Fatalf("the response is %s", got)
	}
	if status, _ := post(t, tapped, "other", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`); status != http.StatusNotFound {
		t.Fatalf("status %d", status)
	}
	p.wait("/slow/.test(document.querySelector('.pad').innerText) && /404/.test(document.querySelector('.pad').innerText)")
	p.wait("document.querySelector('.status.live') && /the-client/.test(document.querySelector('.parties').innerText)")
	p.picture("http-live")

	// The HTTP view of the call: heads, masked values, and a copy as curl.
	eval[bool](p, "[...document.querySelectorAll('.pad > .row.call .name')].find((e) => e.textContent === 'slow').click(), true")
	p.wait("document.querySelectorAll('.card .tree').length === 2")
	eval[bool](p, "[...document.querySelectorAll('.card:first-child .tabs button')].find((e) => e.textContent === 'HTTP').click(), true")
	p.wait("/masked/.test(document.querySelector('.card dl.fields')?.innerText)")
	if text := eval[string](p, "document.body.innerText"); strings.Contains(text, "a-secret-token") {
		t.Error("the token is on the page")
	}
	p.picture("http-live-heads")
	eval[bool](p, "document.querySelector('.card .tools button').click(), true")
	p.wait("[...document.querySelectorAll('.menu button')].some((e) => /^curl/.test(e.innerText))")

	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.wait("!document.querySelector('.status.live')")
	_ = cmd.Wait()
	if got := p.text(".banners"); strings.Contains(got, "does not respond") {
		t.Errorf("the page lost its server: %s", got)
	}
}
