package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/web"
	"github.com/mcptap/mcptap/web/source"
)

// recordings imports the recordings of the repository: stdio in all revisions, Streamable HTTP with and
// without sessions, resumed streams, HTTP+SSE, WebSocket, several concurrent clients.
func recordings(t *testing.T, each func(t *testing.T, path string)) {
	t.Helper()
	n := 0
	for _, dir := range []string{"sessions", "sessions/streams", "http"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "testdata", filepath.FromSlash(dir), "*.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			n++
			t.Run(filepath.Base(file), func(t *testing.T) {
				text, err := os.Open(file)
				if err != nil {
					t.Fatal(err)
				}
				defer text.Close()
				each(t, importFrom(t, text))
			})
		}
	}
	if n < 100 {
		t.Errorf("%d recordings", n)
	}
}

// printed runs a command and returns the lines of JSON that it prints.
func printed(t *testing.T, args ...string) (lines []map[string]any) {
	t.Helper()
	a, out := testApp(nil)
	if code := a.run(append(args, "--json")); code != 0 {
		t.Fatalf("%v: exit %d: %s", args, code, out)
	}
	for line := range strings.Lines(out.String()) {
		var j map[string]any
		if err := json.Unmarshal([]byte(line), &j); err != nil {
			t.Fatalf("%v: %v: %s", args, err, line)
		}
		lines = append(lines, j)
	}
	return lines
}

// figures are the numbers that commands report for a recording, or for one of its sessions.
type figures struct {
	frames, errors, calls, failed, cancelled, unanswered int
}

func number(j map[string]any, name string) int {
	n, _ := j[name].(float64)
	return int(n)
}

func ofType(lines []map[string]any, kind string) (found []map[string]any) {
	return slices.DeleteFunc(slices.Clone(lines), func(j map[string]any) bool { return j["type"] != kind })
}

// figuresOf returns the numbers that show and stats report, and fails if they disagree.
func figuresOf(t *testing.T, rec string) (f figures) {
	t.Helper()
	list, calls, stats := printed(t, "show", rec), printed(t, "show", rec, "--calls"), printed(t, "stats", rec)
	end := list[len(list)-1]
	f.frames, f.errors = number(end, "frames"), number(end, "errors")
	f.unanswered = len(ofType(list, "unanswered")) + number(end, "unanswered_more")
	if got := len(ofType(list, "row")); rec[len(rec)-2] == '#' && got < f.frames {
		t.Errorf("%s: %d rows of %d frames", rec, got, f.frames)
	}
	for _, j := range ofType(calls, "call") {
		f.calls++
		switch j["status"] {
		case "error", "tool_error":
			f.failed++
		case "cancelled", "cancelled_late":
			if j["method"] != "subscriptions/listen" { // cancelling them is normal
				f.cancelled++
			}
		}
	}
	failed := 0
	if f.errors > 0 && rec[len(rec)-2] != '#' { // is:error lists what the summary counts, but a batch only once
		for _, j := range ofType(printed(t, "show", rec, "is:error"), "row") {
			if failed++; j["kind"] == "batch" {
				failed = f.errors
				break
			}
		}
		if failed != f.errors {
			t.Errorf("%s: %d rows with is:error, %d errors", rec, failed, f.errors)
		}
	}
	byCall, sum := calls[len(calls)-1], stats[len(stats)-1]
	for what, pair := range map[string][2]int{
		"frames in calls":     {number(byCall, "frames"), f.frames},
		"errors in calls":     {number(byCall, "errors"), f.errors},
		"unanswered in calls": {len(ofType(calls, "unanswered")), f.unanswered},
		"calls in stats":      {number(sum, "calls"), f.calls},
		"failed in stats":     {number(sum, "errors") + number(sum, "tool_errors"), f.failed},
		"unanswered in stats": {number(sum, "unanswered"), f.unanswered},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %s: %d, want %d", rec, what, pair[0], pair[1])
		}
	}
	return f
}

// pageFigures returns the numbers on the page: of its rows and updates, of its list of recordings and
// of its statistics, which must agree.
func pageFigures(t *testing.T, path string) (f figures) {
	t.Helper()
	src := source.New(filepath.Dir(path))
	key := src.Include(path)
	server := httptest.NewServer(web.NewServer(t.Context(), web.Config{Source: src, Token: "secret"}))
	defer server.Close()
	at := "/api/recordings/" + key
	socket, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http")+at+"/stream?token=secret", http.Header{"Origin": {server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := socket.WriteJSON(map[string]any{"filter": ""}); err != nil {
		t.Fatal(err)
	}
	const batchIndex, markError = 1<<14 - 1, 256 // see web.rowID and web.marks
	frames, waits, listed := map[uint64]bool{}, map[uint64]bool{}, figures{}
	for done := false; !done; {
		var m struct {
			R []struct {
				N uint64
				B int
				R string
			}
			U []struct {
				N uint64
				S string
			}
			Rec *struct {
				Frames session.LaneCounts
				Errors int
			}
			Done bool
		}
		if err := socket.ReadJSON(&m); err != nil {
			t.Fatal(err)
		}
		for _, r := range m.R {
			frames[r.N>>14] = true
			if r.B&markError != 0 {
				f.errors++
			}
			if r.R == "request" && r.N&batchIndex != batchIndex {
				waits[r.N] = true
			}
		}
		for _, u := range m.U {
			switch u.S {
			case "": // no change of the call
			case "pending", "needs input", "working", "lost":
				waits[u.N] = true
			default:
				delete(waits, u.N)
			}
		}
		if m.Rec != nil {
			listed = figures{errors: m.Rec.Errors}
			for _, n := range m.Rec.Frames {
				listed.frames += int(n)
			}
		}
		done = m.Done
	}
	f.frames, f.unanswered = len(frames), len(waits)
	if listed.frames != f.frames || listed.errors != f.errors {
		t.Errorf("the page lists %d frames and %d errors, its rows have %d and %d", listed.frames, listed.errors, f.frames, f.errors)
	}
	r, err := http.Get(server.URL + at + "/stats?token=secret")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var stats struct {
		Groups []struct{ Calls, Errors, Unanswered int }
	}
	if err := json.NewDecoder(r.Body).Decode(&stats); err != nil {
		t.Fatal(err)
	}
	unanswered := 0
	for _, g := range stats.Groups {
		f.calls, f.failed, unanswered = f.calls+g.Calls, f.failed+g.Errors, unanswered+g.Unanswered
	}
	if unanswered != f.unanswered {
		t.Errorf("the statistics of the page have %d unanswered calls, its rows %d", unanswered, f.unanswered)
	}
	return f
}

// ls, show, show --calls, stats, a bundle and the page report the same numbers, for a recording and for
// its sessions.
func TestFiguresAgree(t *testing.T) {
	recordings(t, func(t *testing.T, path string) {
		all := figuresOf(t, path)
		a, out := testApp(nil)
		if code := a.run([]string{"ls", "--dir", filepath.Dir(path), "--json"}); code != 0 {
			t.Fatalf("ls: exit %d: %s", code, out)
		}
		var ls struct{ Frames, Errors, Sessions int }
		if err := json.Unmarshal(out.Bytes(), &ls); err != nil {
			t.Fatal(err)
		}
		if ls.Frames != all.frames || ls.Errors != all.errors {
			t.Errorf("ls has %d frames and %d errors, show %d and %d", ls.Frames, ls.Errors, all.frames, all.errors)
		}
		a, out = testApp(nil)
		bundle := filepath.Join(t.TempDir(), "b.md")
		if code := a.run([]string{"bundle", path, "-o", bundle, "--keep-secrets"}); code != 0 {
			t.Fatalf("bundle: exit %d: %s", code, out)
		}
		summary, err := os.ReadFile(bundle)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%d (%d failed, %d cancelled, %d without a response); %d frames", all.calls, all.failed, all.cancelled, all.unanswered, all.frames)
		if got := regexp.MustCompile(`(?m)^- Calls: .*?frames`).FindString(string(summary)); got != "- Calls: "+want {
			t.Errorf("a bundle has %q, want %q", got, want)
		}
		page := pageFigures(t, path)
		page.cancelled = all.cancelled // it does not show their number
		if page != all {
			t.Errorf("the page has %+v, the commands %+v", page, all)
		}
		var sum figures
		for n := 1; n <= ls.Sessions; n++ {
			f := figuresOf(t, fmt.Sprintf("%s#%d", path, n))
			sum.calls, sum.failed, sum.unanswered = sum.calls+f.calls, sum.failed+f.failed, sum.unanswered+f.unanswered
			sum.frames, sum.errors = sum.frames+f.frames, sum.errors+f.errors
		}
		if ls.Sessions > 0 {
			if sum.calls != all.calls || sum.failed != all.failed || sum.unanswered != all.unanswered || sum.frames > all.frames || sum.errors > all.errors {
				t.Errorf("the sessions together have %+v, the recording %+v", sum, all)
			}
			if code := a.run([]string{"show", fmt.Sprintf("%s#%d", path, ls.Sessions+1)}); code != exitFailure {
				t.Errorf("there are more sessions than the %d that ls counts", ls.Sessions)
			}
		}
	})
}

// A frame that is shown alone belongs to the session that the list reports, even the head of a request,
// which precedes the message that identifies the session.
func TestShowOneNamesTheSessionThatTheListNames(t *testing.T) {
	n := 0
	recordings(t, func(t *testing.T, path string) {
		for _, row := range ofType(printed(t, "show", path), "row") {
			if row["exchange"] == nil {
				continue
			}
			n++
			one := printed(t, "show", path, fmt.Sprint(row["seq"]))[0]
			if one["session"] != row["session"] {
				t.Errorf("frame %v is of session %v, in the list of %v", row["seq"], one["session"], row["session"])
			}
		}
	})
	if n < 200 {
		t.Errorf("%d frames", n)
	}
}

// Over HTTP+SSE the method of a server's request follows other fields of an event.
func TestStatsNamesMethodsInEvents(t *testing.T) {
	event := func(data string) []byte { return []byte("event: message\nid: 107bfaca-0\ndata: " + data + "\n\n") }
	path := record(t, []tap.Frame{
		{Lane: tap.Lifecycle, Exchange: 1, Raw: tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/sse"}.Encode()},
		{Lane: tap.ToClient, Exchange: 1, Form: tap.FormEvent, Raw: []byte("event: endpoint\ndata: /message?s=1\n\n")},
		{Lane: tap.Lifecycle, Exchange: 2, Raw: tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/message?s=1"}.Encode()},
		{Lane: tap.ToServer, Exchange: 2, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather"}}`)},
		{Lane: tap.ToClient, Exchange: 1, Form: tap.FormEvent, Raw: event(`{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}`)},
		{Lane: tap.Lifecycle, Exchange: 3, Raw: tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/message?s=1"}.Encode()},
		{Lane: tap.ToServer, Exchange: 3, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":7,"result":{}}`)},
		{Lane: tap.ToClient, Exchange: 1, Form: tap.FormEvent, Raw: event(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)},
	})
	var names []string
	for _, g := range ofType(printed(t, "stats", path), "group") {
		names = append(names, fmt.Sprint(g["method"], " ", g["name"], " ", g["done"]))
	}
	slices.Sort(names)
	if got := fmt.Sprint(names); got != "[sampling/createMessage <nil> 1 tools/call weather 1]" {
		t.Error(got)
	}
}

// A large request keeps the name of its tool, in the list and in statistics.
func TestLargeFramesKeepTheNameOfTheTool(t *testing.T) {
	large := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"text":"` + strings.Repeat("x", 5<<20) + `"},"name":"weather"}}` + "\n"
	path := record(t, []tap.Frame{
		{Lane: tap.ToServer, Raw: []byte(large)},
		{Lane: tap.ToClient, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}` + "\n")},
	})
	for _, args := range [][]string{{"show", path}, {"show", path, "--calls"}, {"show", path, "tool:weather"}, {"stats", path}} {
		a, out := testApp(nil)
		if code := a.run(args); code != 0 || !strings.Contains(out.String(), "weather") {
			t.Errorf("%v: exit %d: %.300s", args[:1], code, out)
		}
	}
}

// Requests without a response in a live recording wait until now, not until the last frame.
func TestLiveRecordingsLastUntilNow(t *testing.T) {
	dir := t.TempDir()
	w := newWriter(dir, 1)
	defer w.rec.Close()
	w.calls++
	w.put(tap.ToServer, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"hang"}}`+"\n")
	path := w.rec.Path()
	info := store.Stat(path)
	for info.Frames == 0 {
		time.Sleep(time.Millisecond)
		info = store.Stat(path)
	}
	later := info.Header.Start.Add(5 * time.Minute)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"ls", "--dir", dir}, "5m00s"},
		{[]string{"ls", "--dir", dir, "--json"}, `"duration_ns":300000000000`},
		{[]string{"show", path}, "hang (5m00s)"},
		{[]string{"show", path, "--calls"}, "5m00s"},
		{[]string{"show", path, "--calls", "is:slow"}, "hang"},
		{[]string{"show", path, "--calls", "latency:>4m"}, "hang"},
		{[]string{"stats", path}, "5m00s"},
		{[]string{"bundle", path, "-o", filepath.Join(t.TempDir(), "x.md"), "--keep-secrets"}, ""},
	} {
		a, out := testApp(nil)
		a.now = func() time.Time { return later }
		code := a.run(c.args)
		text := out.String()
		if c.args[0] == "bundle" {
			b, err := os.ReadFile(c.args[3])
			if err != nil {
				t.Fatal(err)
			}
			text, c.want = string(b), "waited 5m00s"
		}
		if code != 0 || !strings.Contains(text, c.want) {
			t.Errorf("%v: exit %d, without %q: %s", c.args[:1], code, c.want, text)
		}
	}
}

// A call that was cancelled, or has no response, lasted as long as the client waited for it.
func TestUnansweredCallsTakeAsLongAsTheyWait(t *testing.T) {
	path := record(t, []tap.Frame{
		{Lane: tap.ToServer, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cancelled"}}` + "\n")},
		{Lane: tap.ToServer, Raw: []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hangs"}}` + "\n")},
		{Lane: tap.ToServer, Raw: []byte(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"quick"}}` + "\n")},
		{Lane: tap.ToClient, Raw: []byte(`{"jsonrpc":"2.0","id":3,"result":{}}` + "\n")},
		{Lane: tap.ToServer, At: 3 * time.Second, Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n")},
		{Lane: tap.Stderr, At: 9 * time.Second, Raw: []byte("bye\n")},
	})
	for query, want := range map[string]string{"is:slow": "[cancelled hangs]", "latency:>2s": "[cancelled hangs]", "latency:>5s": "[hangs]", "latency:<1s": "[quick]"} {
		var got []string
		for _, j := range ofType(printed(t, "show", path, "--calls", query), "call") {
			got = append(got, fmt.Sprint(j["subject"]))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	var slow []string
	for _, j := range ofType(printed(t, "stats", path), "slow_call") {
		slow = append(slow, fmt.Sprint(j["about"]))
	}
	if fmt.Sprint(slow) != "[hangs cancelled quick]" {
		t.Errorf("the slowest are %v", slow)
	}
}
