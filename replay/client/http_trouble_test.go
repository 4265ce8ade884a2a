package client

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// web serves the session of twoCalls over HTTP. call handles calls of the tool a.
func web(t *testing.T, call http.HandlerFunc) string {
	return served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := jsonrpc.Peek(body)
		switch {
		case r.Method == http.MethodGet && r.Header.Get("Last-Event-Id") == "":
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.Method != http.MethodPost || strings.Contains(string(body), `"name":"a"`):
			call(w, r)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, result(string(m.ID)))
		}
	}))
}

// TestHTTPTrouble: servers that refuse requests, cut off responses, or send nothing.
func TestHTTPTrouble(t *testing.T) {
	for name, c := range map[string]struct {
		call http.HandlerFunc
		want string
	}{
		"an error page": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "\x1b[2Jbroken", http.StatusInternalServerError)
		},
			"refused: tools/call a (#4) got no response: HTTP 500 Internal Server Error: \x1b[2Jbroken"},
		"an error with no id": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`)
		}, ""},
		"accepted, and nothing more": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) },
			"refused: tools/call a (#4) got no response: HTTP 202 Accepted without a JSON-RPC response"},
		"a stream that ends": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ": nothing\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n")
		}, "refused: tools/call a (#4) got no response: the stream ended without a response"},
		"a wrong id": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, result("999"))
		}, "refused: tools/call a (#4) got no response: the body has no response with its id"},
		"a coding that is known": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			zip := gzip.NewWriter(w)
			fmt.Fprint(zip, result("2"))
			zip.Close()
		}, ""},
		"a coding that is not": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			fmt.Fprint(w, "?")
		}, `refused: tools/call a (#4) got no response: the response has the content coding "br", which was not requested`},
		"a connection that breaks": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"refused: tools/call a (#4) got no response: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opt := patient()
			noted := notes(&opt)
			got := bodies(tapped(t, planned(lines(twoCalls), nil), opt, web(t, c.call), HTTP))
			if all := strings.Join(*noted, "\n"); (c.want == "") != (all == "") || !strings.HasPrefix(all, c.want) {
				t.Errorf("notes %q, want %q", *noted, c.want)
			}
			if !strings.Contains(got, `"name":"b"`) {
				t.Errorf("the session did not continue:\n%s", got)
			}
		})
	}
}

// TestResumed: the replay waits for an answer that comes after a stream is resumed (2025-11-25
// basic/transports#resumability).
func TestResumed(t *testing.T) {
	var resumed atomic.Int32
	server := web(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		switch last := r.Header.Get("Last-Event-Id"); {
		case r.Method == http.MethodPost:
			fmt.Fprint(w, "id: 1\nretry: 1\ndata:\n\n")
		case last == "1":
			resumed.Add(1)
			fmt.Fprint(w, "id: 2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n")
		case last == "2":
			resumed.Add(1)
			fmt.Fprint(w, "id: 3\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\ndata: \"result\":{\"content\":[]}}\n\n")
		}
	})
	opt := patient()
	noted := notes(&opt)
	tapped(t, planned(lines(twoCalls), nil), opt, server, HTTP)
	if len(*noted) > 0 || resumed.Load() != 2 {
		t.Errorf("resumed %d times, notes %q", resumed.Load(), *noted)
	}
}

// TestHTTPUnsolicited: the log message of package net/http about a response without a request is
// suppressed.
func TestHTTPUnsolicited(t *testing.T) {
	var noted bytes.Buffer
	q := quiet{&noted}
	fmt.Fprint(q, `2026/11/28 09:41:23 Unsolicited response received on idle HTTP channel starting with "x"; err=<nil>`)
	fmt.Fprint(q, "another")
	if noted.String() != "another" {
		t.Errorf("reported: %s", noted.String())
	}
}
