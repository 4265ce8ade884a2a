package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const mockOpening = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`

// startMock starts `mcptap mock REC --listen`.
func startMock(t *testing.T, args ...string) *running {
	t.Helper()
	needSignals(t)
	return start(t, nil, append([]string{"mock", "--listen", "127.0.0.1:0"}, args...)...)
}

// postMock sends a message and returns the response.
func postMock(t *testing.T, url, id, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if id != "" {
		req.Header.Set("Mcp-Session-Id", id)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

// The mock over HTTP prints its address and serves until it is interrupted. Its exit code and report
// name what any client requested in vain.
func TestMockListens(t *testing.T) {
	text := filepath.Join("..", "..", "testdata", "sessions", "2025-11-25-tools-healthy.txtar")
	r := startMock(t, text, "--json")
	var line struct {
		V                 int
		Type, URL, Listen string
		EventsURL         string `json:"events_url"`
		SocketURL         string `json:"socket_url"`
		Sessions          int
	}
	if err := json.Unmarshal([]byte(r.line), &line); err != nil || line.V != 1 || line.Type != "listening" || line.Sessions != 1 ||
		line.URL != "http://"+line.Listen+"/mcp" || line.EventsURL != "http://"+line.Listen+"/sse" || line.SocketURL != "ws://"+line.Listen+"/ws" {
		t.Fatalf("%v: %s", err, r.line)
	}
	res, body := postMock(t, line.URL, "", mockOpening)
	if res.StatusCode != 200 || !strings.Contains(body, `"protocolVersion":"2025-11-25"`) {
		t.Fatalf("%s: %s", res.Status, body)
	}
	if code := r.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, r.stderr)
	}

	report := filepath.Join(t.TempDir(), "report.ndjson")
	r = startMock(t, text, "--report", report)
	for range 2 {
		res, _ = postMock(t, r.line, "", mockOpening)
		id := res.Header.Get("Mcp-Session-Id")
		if res, body = postMock(t, r.line, id, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"nothing"}}`); res.StatusCode != 200 {
			t.Errorf("%s: %s", res.Status, body)
		}
	}
	if code := r.stop(syscall.SIGTERM); code != 1 || strings.Count(r.stderr.String(), "no recorded response for tools/call nothing") != 2 {
		t.Errorf("exit code %d\n%s", code, r.stderr)
	}
	raw, err := os.ReadFile(report)
	if b := string(raw); err != nil || strings.Count(b, `"kind":"miss"`) != 2 || strings.Count(b, `"type":"summary"`) != 1 || !strings.Contains(b, `"sent_requests":1,`) {
		t.Error(err, b)
	}
	for want, args := range map[int][]string{130: nil, 1: {"--verify"}} { // a failure takes precedence over Ctrl-C
		r = startMock(t, append([]string{text}, args...)...)
		if code := r.stop(syscall.SIGINT); code != want {
			t.Errorf("%v: exit code %d, want %d\n%s", args, code, want, r.stderr)
		}
	}
}

// A client whose requests were all refused did not test anything.
func TestMockReportsRefusals(t *testing.T) {
	rec := filepath.Join("..", "..", "mock", "testdata", "http-2025-11-25.txtar")
	report := filepath.Join(t.TempDir(), "report.txt")
	opening := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"studio","version":"5.1.0"}}}`
	for requests, want := range map[int]string{1: "FAILED", 2: "passed"} {
		r := startMock(t, rec, "--report", report, "--force")
		for range requests {
			postMock(t, r.line, "", opening)
		}
		code := r.stop(syscall.SIGTERM)
		raw, err := os.ReadFile(report)
		if err != nil || code != 2-requests || !strings.Contains(string(raw), want+": ") ||
			!strings.Contains(string(raw), "note  refused ") || !strings.Contains(r.stderr.String(), "gets HTTP 401, as recorded for frame ") {
			t.Errorf("%d requests: %v, exit code %d\n%s\n%s", requests, err, code, r.stderr, raw)
		}
	}
}

// Invalid combinations of flags are refused.
func TestMockListenRefuses(t *testing.T) {
	text := filepath.Join("..", "..", "testdata", "sessions", "2025-11-25-tools-healthy.txtar")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--fault", "cut=2"}, "mcptap: --fault cut=N requires HTTP"},
		{[]string{"--json"}, "mcptap: --json requires HTTP"},
		{[]string{"--name", "mock.test"}, "mcptap: --name requires HTTP"},
		{[]string{"--listen", "127.0.0.1:0", "--fault", "cut=-1"}, "positive number of events"},
		{[]string{"--listen", "nowhere"}, `--listen "nowhere"`},
		{[]string{"--listen", "127.0.0.1:0", "--fault", "cut=1", "--record", "new", "--", "cat"}, "--fault cut=N cannot be combined"},
	} {
		out, err := exec.Command("mcptap", append([]string{"mock", text}, c.args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%v: %v\n%s", c.args, err, out)
		}
	}
	if out, err := exec.Command("mcptap", "mock", text+"#2").CombinedOutput(); err == nil || !strings.Contains(string(out), "no session #2") {
		t.Errorf("%v\n%s", err, out)
	}
	r := startMock(t, text+"#1")
	if code := r.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, r.stderr)
	}
}
