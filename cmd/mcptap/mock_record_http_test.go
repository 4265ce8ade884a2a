package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcptap/mcptap/demo"
)

// driveHTTP sends some requests to the demo's server, as a client of the official SDK.
func driveHTTP(t *testing.T, url, revision string, cities ...string) (responses []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
	s, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := s.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) == 0 {
		t.Fatal(tools, err)
	}
	for _, city := range cities {
		res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "forecast", Arguments: map[string]any{"city": city}})
		if err != nil {
			responses = append(responses, err.Error())
			continue
		}
		text, _ := res.Content[0].(*mcp.TextContent)
		responses = append(responses, text.Text)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return responses
}

// An HTTP client records the server of a command as a stdio client does: the whole session, what is new,
// or everything again. The recording is played without the server.
func TestRecordOverHTTP(t *testing.T) {
	for _, revision := range []string{demo.Handshake, demo.Stateless} {
		t.Run(revision, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "session.txtar")
			server := []string{"--", "mcptap", "demo", "serve"}
			var oslo, bergen string
			for _, step := range []struct {
				mode   string
				cities []string
				code   int
				check  func(responses []string) bool
			}{
				{"once", []string{"oslo"}, 0, func(responses []string) bool { oslo = responses[0]; return !strings.Contains(oslo, "mcptap") }},
				{"once", []string{"oslo", "bergen"}, 1, func(responses []string) bool {
					return responses[0] == oslo && strings.Contains(responses[1], "no recorded response")
				}},
				{"new", []string{"oslo", "bergen"}, 0, func(responses []string) bool {
					bergen = responses[1]
					return responses[0] == oslo && bergen != oslo && !strings.Contains(bergen, "mcptap")
				}},
				{"none", []string{"oslo", "bergen"}, 0, func(responses []string) bool { return responses[0] == oslo && responses[1] == bergen }},
				{"all", []string{"bergen"}, 0, func(responses []string) bool { return responses[0] == bergen }},
				{"none", []string{"bergen", "oslo"}, 1, func(responses []string) bool {
					return responses[0] == bergen && strings.Contains(responses[1], "no recorded response")
				}},
			} {
				before, _ := os.ReadFile(path)
				r := startMock(t, append([]string{path, "--record", step.mode}, server...)...)
				if responses := driveHTTP(t, r.line, revision, step.cities...); !step.check(responses) {
					t.Errorf("%s: %q", step.mode, responses)
				}
				if revision == demo.Stateless { // the session has not ended: the old file is still there
					if now, _ := os.ReadFile(path); string(now) != string(before) {
						t.Errorf("%s: the file was written too early", step.mode)
					}
				}
				if code := r.stop(syscall.SIGTERM); code != step.code {
					t.Errorf("%s: exit code %d\n%s", step.mode, code, r.stderr)
				}
			}
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), `transport: stdio`) || !strings.Contains(string(text), "demo serve") && !strings.Contains(string(text), `"demo"`) {
				t.Errorf("%v\n%.1000s", err, text)
			}
		})
	}
}

// Likewise a server at a URL. The recording is written when the client ends the session, and mcptap runs
// until it is interrupted.
func TestRecordOverHTTPFromURL(t *testing.T) {
	url := plansServer(t)
	path := filepath.Join(t.TempDir(), "session.ndjson")
	r := startMock(t, path, "--json", "--record", "once", "--to", url)
	listening, _, _ := strings.Cut(strings.SplitAfter(r.line, `"url":"`)[1], `"`)
	if !strings.Contains(r.line, "events_url") {
		t.Error(r.line)
	}
	res, body := postMock(t, listening, "", planHello)
	id := res.Header.Get("Mcp-Session-Id")
	if id == "" || !strings.Contains(body, `"id":1,"result"`) {
		t.Fatal(res.Status, body)
	}
	postMock(t, listening, id, planReady)
	if _, body := postMock(t, listening, id, planList); !strings.Contains(body, `"id":2,"result"`) {
		t.Error(body)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file was written too early")
	}
	req, err := http.NewRequestWithContext(t.Context(), "DELETE", listening, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", id)
	if res, err := http.DefaultClient.Do(req); err != nil || res.StatusCode != 200 {
		t.Fatal(res, err)
	}
	for late := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			break
		} else if time.Now().After(late) {
			t.Fatal(err)
		}
	}
	if res, _ := postMock(t, listening, id, planList); res.StatusCode != http.StatusNotFound {
		t.Error(res.Status)
	}
	if code := r.stop(syscall.SIGINT); code != 130 {
		t.Errorf("exit code %d\n%s", code, r.stderr)
	}
	r = startMock(t, path, "--verify")
	res, _ = postMock(t, r.line, "", planHello)
	id = res.Header.Get("Mcp-Session-Id")
	postMock(t, r.line, id, planReady)
	if _, body := postMock(t, r.line, id, planList); !strings.Contains(body, `"id":2,"result"`) {
		t.Error(body)
	}
	if code := r.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, r.stderr)
	}
}
