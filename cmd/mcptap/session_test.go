package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/web"
	"github.com/mcptap/mcptap/web/source"
)

// One session of a recording, exported and imported, is a recording of one session: its frames, the
// heads of their requests, and the start event.
func TestExportOfASession(t *testing.T) {
	path := twoSessions(t)
	whole := framesOf(t, path)
	for session := 1; session <= 2; session++ {
		for _, format := range []string{"ndjson", "txtar"} {
			a, out := testApp(nil)
			if code := a.run([]string{"export", fmt.Sprint(path, "#", session), "--format", format}); code != 0 {
				t.Fatalf("exit code %d: %s", code, out)
			}
			back := importFrom(t, bytes.NewReader(out.Bytes()))
			var want []tap.Frame
			for _, f := range whole {
				// In that recording session 1 has the odd exchanges up to 4.
				if f.Seq == 1 || f.Exchange > 0 && (f.Exchange <= 4 && f.Exchange%2 == uint64(session%2) || f.Exchange == 5 && session == 2) {
					want = append(want, f)
				}
			}
			got := framesOf(t, back)
			if len(got) != len(want) {
				t.Fatalf("session %d as %s: %d frames, want %d", session, format, len(got), len(want))
			}
			for i, f := range got {
				if f.Seq != uint64(i+1) || f.At != want[i].At || f.Exchange != want[i].Exchange || !bytes.Equal(f.Raw, want[i].Raw) {
					t.Errorf("session %d as %s: frame %d is %+v, want %+v", session, format, i+1, f, want[i])
				}
			}
			info := store.Stat(back)
			if n := info.Tally.Sessions; n != 1 || info.Header.Label != fmt.Sprint("web#", session) {
				t.Errorf("session %d as %s: %d sessions, %+v", session, format, n, info.Header)
			}
		}
	}
}

// A large frame of a session is written unchanged, whatever its new number.
func TestExportOfALargeFrame(t *testing.T) {
	large := `{"jsonrpc":"2.0","id":1,"method":"x","params":"` + strings.Repeat("y", 2*(1<<20)) + `"}`
	head := func(id string) string {
		return string(tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/", Header: [][2]string{{"Mcp-Session-Id", id}}}.Encode())
	}
	path := record(t, []tap.Frame{
		{Seq: 1, Lane: tap.Lifecycle, Exchange: 1, Raw: []byte(head("a"))}, {Seq: 2, Lane: tap.ToServer, Exchange: 1, Form: tap.FormBody, Raw: []byte(`{"id":1,"method":"y"}`)},
		{Seq: 3, Lane: tap.Lifecycle, Exchange: 2, Raw: []byte(head("b"))}, {Seq: 4, Lane: tap.ToServer, Exchange: 2, Form: tap.FormBody, Raw: []byte(large)},
	})
	a, out := testApp(nil)
	if code := a.run([]string{"export", path + "#2"}); code != 0 || !strings.Contains(out.String(), strings.Repeat("y", 2*(1<<20))) {
		t.Fatalf("exit code %d, %d bytes: %.300s", code, out.Len(), out)
	}
}

func TestSessionsOfARecording(t *testing.T) {
	path := twoSessions(t)
	stdio := importFixture(t, "weather.txtar")
	for _, c := range []struct {
		args []string
		code int
		want string // part of the output
		not  string
	}{
		{[]string{"stats", path + "#1"}, 0, "tool1", "tool2"},
		{[]string{"stats", path + "#2"}, 0, "tool2", "tool1"},
		{[]string{"stats", path + "#1", path + "#2", path + "#2"}, 0, "2 recordings", ""},
		{[]string{"stats", path + "#3"}, 2, "has 2 sessions, so there is no #3", ""},
		{[]string{"stats", stdio + "#1"}, 0, "initialize", ""},
		{[]string{"stats", stdio + "#2"}, 2, "has one session, so there is no #2", ""},
		{[]string{"export", path + "#3"}, 2, "has 2 sessions, so there is no #3", ""},
		{[]string{"export", path + "#1", "--salvage"}, 2, "takes a whole recording", ""},
		{[]string{"export", stdio + "#2"}, 2, "has one session, so there is no #2", ""},
		{[]string{"rm", "-y", path + "#1"}, 2, "takes a whole recording", ""},
		{[]string{"diff", path, stdio}, 1, "has 2 sessions; only one is compared (name another with ", ""},
		{[]string{"diff", path + "#2", stdio}, 1, "", "only one is compared"},
		{[]string{"mock", path}, 0, "playing session 1 of 2; name another with " + path + "#2", ""},
		{[]string{"mock", path + "#1"}, 0, "", "playing session"},
		{[]string{"ls", "--dir", strings.TrimSuffix(path, "/http.mcptap")}, 0, "(2 sessions)", ""},
		{[]string{"ls", "--json", "--dir", strings.TrimSuffix(path, "/http.mcptap")}, 0, `"sessions":2,`, ""},
	} {
		a, out := testApp(nil)
		if code := a.run(c.args); code != c.code || !strings.Contains(out.String(), c.want) || c.not != "" && strings.Contains(out.String(), c.not) {
			t.Errorf("%v: exit code %d, want %d with %q and without %q:\n%s", c.args, code, c.code, c.want, c.not, out)
		}
	}
}

// The viewer compares a recording of two sessions with one of a single session.
func TestViewerComparesOneSession(t *testing.T) {
	path := twoSessions(t)
	other := filepath.Join(filepath.Dir(path), "other"+store.Ext)
	raw, err := os.ReadFile(importFixture(t, "weather.txtar"))
	if err == nil {
		err = os.WriteFile(other, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	src := source.New(filepath.Dir(path))
	got, err := src.Compare(t.Context(), web.Side{Key: src.Include(path)}, web.Side{Key: src.Include(other)})
	if err != nil || len(got.Sessions) != 1 || len(got.Unpaired) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// The outcome of an exchange is in its rows: the challenge of a 401, what a 405 allows, which stream a
// GET resumes, and which events are repeated on it.
func TestShowExchanges(t *testing.T) {
	var frames []tap.Frame
	put := func(exchange uint64, lane tap.Lane, form tap.Form, raw string) {
		frames = append(frames, tap.Frame{Seq: uint64(len(frames) + 1), Lane: lane, Exchange: exchange, Form: form, Raw: []byte(raw)})
	}
	event := func(exchange uint64, e tap.Event) { put(exchange, tap.Lifecycle, tap.FormLine, string(e.Encode())) }
	head := func(pairs ...string) (h [][2]string) {
		for i := 0; i < len(pairs); i += 2 {
			h = append(h, [2]string{pairs[i], pairs[i+1]})
		}
		return h
	}
	event(1, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp"})
	event(1, tap.Event{Name: tap.EventResponse, Status: 401, Header: head("www-authenticate", `Bearer resource_metadata="x"`)})
	event(2, tap.Event{Name: tap.EventRequest, Method: "DELETE", Target: "/mcp"})
	event(2, tap.Event{Name: tap.EventResponse, Status: 405, Header: head("allow", "GET, POST")})
	event(3, tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/mcp", Header: head("Mcp-Session-Id", "s")})
	event(3, tap.Event{Name: tap.EventResponse, Status: 200, Header: head("content-type", "text/event-stream")})
	put(3, tap.ToClient, tap.FormEvent, "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\n\n")
	put(3, tap.ToServer, tap.FormBody, `{"jsonrpc":"2.0","id":5,"result":{}}`) // recorded on a separate exchange
	event(4, tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/mcp", Header: head("Mcp-Session-Id", "s", "Last-Event-ID", "1")})
	put(4, tap.ToClient, tap.FormEvent, "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\n\n")
	event(5, tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/mcp", Header: head("Mcp-Session-Id", "s", "Last-Event-ID", "\x1b[2J")})
	event(6, tap.Event{Name: tap.EventResponse, Status: 307, Header: head("Location", "/elsewhere")})
	event(7, tap.Event{Name: tap.EventResponse, Status: 404, Header: head("Mcp-Session-Id", "x")})
	path := record(t, frames)

	a, out := testApp(nil)
	if code := a.run([]string{"show", path, "--http"}); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	lines := strings.Split(out.String(), "\n")
	for number, want := range map[int]string{
		2: `POST /mcp  401 Unauthorized: Bearer resource_metadata="x"`, 4: "DELETE /mcp 405 Method Not Allowed: only GET, POST",
		9: "GET /mcp, after 1, continues the stream of #5", 10: "ping  repeats #7",
		11: `GET /mcp, after \x1b[2J`, 12: "307 Temporary Redirect: /elsewhere", 13: "404 Not Found",
	} {
		if line := lines[number]; !strings.Contains(line, "  "+want) { // lines[0] is the heading
			t.Errorf("row %d is %q, want …%q", number, line, want)
		}
	}
	if !strings.Contains(out.String(), "unanswered: #11 GET /mcp (") {
		t.Errorf("a request that was sent twice waits for two responses:\n%s", out)
	}
	for query, want := range map[string]string{"is:duplicate": " 10 ", "is:pending": "#11 GET /mcp ("} {
		a, out := testApp(nil)
		if a.run([]string{"show", path, query}); !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s", query, out)
		}
	}
	a, out = testApp(nil)
	if code := a.run([]string{"show", path, "--json"}); code != 0 || !strings.Contains(out.String(), `"resumes":5`) ||
		!strings.Contains(out.String(), `"role":"replay","first":7}`) || strings.Count(out.String(), `"session":1,`) < 7 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}
