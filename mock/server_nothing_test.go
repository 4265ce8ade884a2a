package mock

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

// A request whose stream the server ended without a message gets such a stream, once, and does not
// wait forever (conformance scenario server-sse-polling).
func TestServerEndsEmptyStreams(t *testing.T) {
	var frames []tap.Frame
	add := func(lane tap.Lane, exchange uint64, form tap.Form, raw string) {
		frames = append(frames, tap.Frame{Seq: uint64(len(frames) + 1), Lane: lane, Exchange: exchange, Form: form, Raw: []byte(raw), Size: int64(len(raw))})
	}
	exchange := func(n uint64, kind, request, answer string) {
		event := func(e tap.Event) { add(tap.Lifecycle, n, tap.FormLine, string(e.Encode())) }
		event(tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp", Header: [][2]string{{"Content-Type", "application/json"}}})
		add(tap.ToServer, n, tap.FormBody, request)
		event(tap.Event{Name: tap.EventResponse, Status: 200, Header: [][2]string{{"Content-Type", kind}}})
		if answer != "" {
			add(tap.ToClient, n, tap.FormBody, answer)
		}
		event(tap.Event{Name: tap.EventEnd, By: "server"})
	}
	const (
		initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		call       = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"silent"}}`
	)
	exchange(1, "application/json", initialize, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
	exchange(2, "text/event-stream", call, "")
	exchange(3, "application/json", call, `{"jsonrpc":"2.0","id":1,"result":{"content":["at last"]}}`)
	rec := loaded(t, frames, replay.Options{})
	s := NewServer(rec, ServerOptions{})
	server := httptest.NewServer(s)
	defer server.Close()
	defer s.Close()
	post := func(body string) (kind, answer string) {
		t.Helper()
		r, err := http.NewRequest(http.MethodPost, server.URL+s.Path(), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("%s, %v", res.Status, err)
		}
		return res.Header.Get("Content-Type"), string(b)
	}
	if _, got := post(initialize); !strings.Contains(got, "2025-11-25") {
		t.Error(got)
	}
	if kind, got := post(call); kind != "text/event-stream" || got != "" {
		t.Errorf("%s, %q", kind, got)
	}
	if _, got := post(call); !strings.Contains(got, "at last") {
		t.Error(got)
	}
}
