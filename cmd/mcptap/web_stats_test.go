package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/web"
	"github.com/mcptap/mcptap/web/source"
)

// statsNumbers are the numbers that both the viewer and `stats` report for a group of calls.
type statsNumbers struct {
	Calls, Failed, Cancelled, Unanswered uint64
	Total, P99, Max                      int64
	ToServer, ToClient                   int64
}

// webGroups returns the groups of calls in the viewer's statistics.
func webGroups(t *testing.T, dir, path string, session int) map[string]statsNumbers {
	t.Helper()
	src := source.New(dir)
	s := web.NewServer(t.Context(), web.Config{Source: src, Token: "secret"})
	r := httptest.NewRequest("GET", fmt.Sprintf("/api/recordings/%s/stats?session=%d&token=secret", src.Include(path), session), nil)
	r.Host = "localhost"
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var j struct {
		Groups []struct {
			Lane                                 int
			Nested                               bool
			Method, Name                         string
			Calls, Errors, Cancelled, Unanswered uint64
			Sum, P99, Max, Up, Down              int64
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &j); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s %v", path, w.Code, w.Body, err)
	}
	all := map[string]statsNumbers{}
	for _, g := range j.Groups {
		key := fmt.Sprintf("%s %v %s %s", tap.Lane(g.Lane), g.Nested, g.Method, g.Name)
		all[key] = statsNumbers{g.Calls, g.Errors, g.Cancelled, g.Unanswered, g.Sum, g.P99, g.Max, g.Up, g.Down}
	}
	return all
}

// shownGroups returns the groups that `mcptap stats` prints.
func shownGroups(t *testing.T, arg string) map[string]statsNumbers {
	t.Helper()
	all := map[string]statsNumbers{}
	for _, l := range statsLines(t, arg) {
		if l.Type == "group" {
			key := fmt.Sprintf("%s %v %s %s", l.Lane, l.Nested, l.Method, l.Name)
			all[key] = statsNumbers{l.Calls, l.Errors + l.ToolErrors, l.Cancelled, l.Unanswered, l.Total, l.P99, l.Max, l.ToServer, l.ToClient}
		}
	}
	return all
}

// TestWebStatsAreThoseOfStats checks that the viewer reports the same numbers as `mcptap stats`, for each
// recording of the corpus and for one in which two clients use the same ids at the same time.
func TestWebStatsAreThoseOfStats(t *testing.T) {
	dir, paths := sessions(t)
	paths["two clients"] = twoClients(t, dir)
	for name, path := range paths {
		got, want := webGroups(t, dir, path, 0), shownGroups(t, path)
		if !maps.Equal(got, want) {
			t.Errorf("%s: the viewer counts\n%v\nand stats\n%v", name, got, want)
		}
	}
	for session := 1; session <= 2; session++ {
		path := paths["two clients"]
		got, want := webGroups(t, dir, path, session), shownGroups(t, path+"#"+strconv.Itoa(session))
		if !maps.Equal(got, want) || len(got) != 2 {
			t.Errorf("session %d: the viewer counts\n%v\nand stats\n%v", session, got, want)
		}
	}
}

// twoClients is an HTTP recording with two sessions that use the same ids. In the second, a call gets its
// response only after the call with the same id in the first.
func twoClients(t *testing.T, dir string) string {
	t.Helper()
	var all []tap.Frame
	add := func(ms int, exchange uint64, lane tap.Lane, raw string) {
		all = append(all, tap.Frame{
			Seq: uint64(len(all) + 1), At: time.Duration(ms) * time.Millisecond, Lane: lane, Form: tap.FormBody,
			Exchange: exchange, Raw: []byte(raw), Size: int64(len(raw)),
		})
	}
	ask := func(ms int, exchange uint64, session, body string) {
		e := tap.Event{Name: tap.EventRequest, Conn: exchange, Proto: "HTTP/1.1", Method: "POST", Target: "/mcp"}
		if session != "" {
			e.Header = [][2]string{{"Mcp-Session-Id", session}}
		}
		add(ms, exchange, tap.Lifecycle, string(e.Encode()))
		add(ms, exchange, tap.ToServer, body)
	}
	answer := func(ms int, exchange uint64, session, body string) {
		e := tap.Event{Name: tap.EventResponse, Proto: "HTTP/1.1", Status: 200, Header: [][2]string{{"Mcp-Session-Id", session}}}
		add(ms, exchange, tap.Lifecycle, string(e.Encode()))
		add(ms, exchange, tap.ToClient, body)
		add(ms, exchange, tap.Lifecycle, string((&tap.Event{Name: tap.EventEnd}).Encode()))
	}
	for i, session := range []string{"one", "two"} {
		ask(i, uint64(i+1), "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
		answer(i, uint64(i+1), session, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`)
	}
	ask(10, 3, "one", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`)
	ask(20, 4, "two", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"quick"}}`)
	answer(30, 4, "two", `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	answer(900, 3, "one", `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	path := filepath.Join(dir, "two-clients.mcptap")
	writeFrames(t, path, tap.Header{ID: store.NewID(), Start: testNow, Transport: "http"}, all, time.Second)
	return path
}
