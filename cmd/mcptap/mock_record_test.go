package main

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/mock"
	mockrecord "github.com/mcptap/mcptap/mock/record"
	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

const handWritten = `# Mine.
# A transcript of mcptap, made to be read and edited. The comment describes the
label: hand

# not of the head
-- to_server +1ms --
{"jsonrpc":"2.0","id":1,"method":"a"}
-- to_client +2ms --
{"jsonrpc":"2.0","id":1,"result":{}}
-- life +3ms --
{"event":"eof","lane":"to_server"}
`

var oneMore = []tap.Frame{{Lane: tap.ToServer, Raw: []byte(`{"jsonrpc":"2.0","id":2,"method":"b"}` + "\n"), Size: 38}}

// Comments above a transcript are kept when something is added.
func TestAddToKeepsComments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.txtar")
	if err := os.WriteFile(path, []byte(handWritten), 0o600); err != nil {
		t.Fatal(err)
	}
	a, _ := testApp(nil)
	for range 2 {
		if err := (&mockrecord.Server{Open: a.open}).Keep(t.Context(), path, path, oneMore, false); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(got), "# Mine.\n# A transcript") || strings.Count(string(got), "# Mine.") != 1 {
		t.Errorf("%s", got)
	}
	_, frames, err := text.Parse(got)
	if err != nil || len(frames) != 5 || !strings.Contains(string(frames[3].Raw), `"b"`) || frames[4].Lane != tap.Lifecycle {
		t.Errorf("%d frames, %v\n%s", len(frames), err, got)
	}
}

// If nothing can be added, the old file is kept, and no other file is left.
func TestAddToFails(t *testing.T) {
	for name, text := range map[string]string{
		"damaged":   strings.Replace(handWritten, "label:", "lable:", 1),
		"cancelled": handWritten,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "session.txtar")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			if name == "cancelled" {
				cancel()
			}
			defer cancel()
			a, _ := testApp(nil)
			if err := (&mockrecord.Server{Open: a.open}).Keep(ctx, path, path, oneMore, false); err == nil {
				t.Error("no error")
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != text {
				t.Errorf("%v, %s", err, got)
			}
			if left, _ := os.ReadDir(dir); len(left) != 1 {
				t.Errorf("%v", left)
			}
		})
	}
}

// plansServer is a live server over HTTP.
func plansServer(t *testing.T) (url string) {
	t.Helper()
	data, err := os.ReadFile("testdata/fixture/plans.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, frames, err := text.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := mock.Load(func(yield func(tap.Frame, error) bool) {
		for _, f := range frames {
			if !yield(f, nil) {
				return
			}
		}
	}, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	live := mock.NewServer(rec, mock.ServerOptions{})
	server := httptest.NewServer(live)
	t.Cleanup(server.Close)
	return server.URL + live.Path()
}

const (
	planHello  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`
	planReady  = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	planSunday = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"plan","arguments":{"day":"Sunday"}}}`
	planList   = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	planNever  = `{"jsonrpc":"2.0","id":4,"method":"resources/list"}`
)

// A server at a URL is recorded for a client on stdio, and receives the new requests.
func TestRecordFromURL(t *testing.T) {
	url := plansServer(t)
	path := filepath.Join(t.TempDir(), "session.ndjson")
	for _, step := range []struct {
		mode  string
		lines []string
		code  int
		want  []string
	}{
		{"once", []string{planHello, planReady, planList}, 0, []string{`"id":1,"result"`, `"id":2,"result"`}},
		{"none", []string{planHello, planReady, planList}, 0, []string{`"id":2,"result"`}},
		{"none", []string{planSunday}, 1, []string{"no recorded response"}},
		{"new", []string{planHello, planReady, planList, planSunday}, 0, []string{`"id":2,"result"`, "None."}},
		{"none", []string{planHello, planReady, planList, planSunday}, 0, []string{"None."}},
		{"all", []string{planHello, planReady, planSunday}, 0, []string{"None."}},
		{"none", []string{planList}, 1, []string{"no recorded response for tools/list"}},
	} {
		a, out := testApp(nil)
		a.stdin = strings.NewReader(strings.Join(step.lines, "\n") + "\n")
		if code := a.run([]string{"mock", path, "--record", step.mode, "--to", url}); code != step.code {
			t.Errorf("%s: exit %d: %s", step.mode, code, out)
		}
		for _, want := range step.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not in %s", step.mode, want, out)
			}
		}
	}
}

// A server that requires a token, has a private certificate, or uses HTTP+SSE at a path with any name can
// also be recorded. The token is not recorded, even if the server repeats it.
func TestRecordFromURLWithHeader(t *testing.T) {
	const token = "tok-1f6c0e7b9d2a4835"
	var live http.Handler
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		live.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.pem")
	block := pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	if err := os.WriteFile(ca, pem.EncodeToMemory(&block), 0o600); err != nil {
		t.Fatal(err)
	}
	rec, err := mock.Load(func(yield func(tap.Frame, error) bool) {
		for i, line := range []string{planHello, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"` + token + `"}}}`} {
			f := tap.Frame{Seq: uint64(i + 1), Lane: []tap.Lane{tap.ToServer, tap.ToClient}[i], Raw: []byte(line + "\n"), Size: int64(len(line) + 1)}
			if !yield(f, nil) {
				return
			}
		}
	}, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	played := mock.NewServer(rec, mock.ServerOptions{})
	live = played
	for transport, at := range map[string]string{"auto": played.Path(), "streamable": played.Path(), "sse": played.EventPath(), "websocket": played.SocketPath()} {
		t.Run(transport, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "session.ndjson")
			a, out := testApp(nil)
			a.stdin = strings.NewReader(planHello + "\n")
			flags := []string{"--to", server.URL + at + "?key=" + token, "--header", "Authorization: Bearer " + token, "--ca-file", ca, "--transport", transport}
			if code := a.run(append([]string{"mock", path, "--record", "once"}, flags...)); code != 0 || !strings.Contains(out.String(), `"version":"`+token) {
				t.Fatalf("exit %d: %s", code, out)
			}
			got, err := os.ReadFile(path)
			if err != nil || strings.Contains(string(got), token) || !strings.Contains(string(got), "masked:") {
				t.Errorf("%v, recorded: %s", err, got)
			}
			if !strings.Contains(string(got), `"upstream":"`+server.URL+`"`) {
				t.Errorf("%s has no %s", got, server.URL)
			}
		})
	}
}

// A refusal by the transport is not recorded as a response.
func TestRecordRefusal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.txtar")
	if err := os.WriteFile(path, []byte(handWritten), 0o600); err != nil {
		t.Fatal(err)
	}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refusing.Close()
	for _, lines := range [][]string{{planNever}, {planHello, planReady, planNever}} {
		a, out := testApp(nil)
		a.stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
		code := a.run([]string{"mock", path, "--record", "new", "--to", refusing.URL})
		if code != 1 || !strings.Contains(out.String(), "was not recorded, and the live server") || !strings.Contains(out.String(), "401") {
			t.Errorf("exit %d: %s", code, out)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != handWritten {
		t.Errorf("%v, the recording was changed: %s", err, after)
	}
	for _, args := range [][]string{{"--to", "example.com"}, {"--to", refusing.URL, "--", "x"}, {"--record", "new", "--to", "ftp://x"}} {
		a, out := testApp(nil)
		if code := a.run(append([]string{"mock", path}, args...)); code != 2 {
			t.Errorf("%v: exit %d, %s", args, code, out)
		}
	}
}
