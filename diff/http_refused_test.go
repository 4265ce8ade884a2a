package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// exchanged writes a session over HTTP, one exchange per line: what the client sends and the
// outcome, which is a status with or without a body, which may be "cut" off, "broken" or "left".
//
//	POST {…} 200 {…}
//	GET 405
func exchanged(t *testing.T, rev string, lines ...string) []tap.Frame {
	t.Helper()
	c := &carrier{}
	if rev == "2025-11-25" {
		lines = append([]string{
			`POST {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` +
				` 200 {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`,
		}, lines...)
	}
	for i, l := range lines {
		words := strings.Fields(l)
		c.last = uint64(i + 1)
		c.event(c.last, tap.Event{Name: tap.EventRequest, Method: words[0], Target: "/mcp"})
		words = words[1:]
		if words[0][0] == '{' {
			c.frame(c.last, tap.ToServer, tap.FormBody, []byte(words[0]))
			words = words[1:]
		}
		end := tap.Event{Name: tap.EventEnd, By: "server"}
		switch status, err := strconv.Atoi(words[0]); {
		case err == nil:
			c.event(c.last, tap.Event{Name: tap.EventResponse, Status: status, By: "server"})
			if len(words) > 1 {
				c.frame(c.last, tap.ToClient, tap.FormBody, []byte(words[1]))
			}
			if len(words) > 2 {
				end.Error = "the server hung up within the response"
			}
		case words[0] == "left":
			c.event(c.last, tap.Event{Name: tap.EventResponse, Status: 200})
			end.By = "client"
		case words[0] != "broken":
			t.Fatalf("unknown word %q", words[0])
		}
		c.event(c.last, end)
	}
	return c.frames
}

// TestRefusedOverHTTP compares what only HTTP has: statuses without a message, and exchanges that
// end without a status.
func TestRefusedOverHTTP(t *testing.T) {
	const call = `POST {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f"}} `
	const modern = `POST {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}} `
	const works = `200 {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
	const complete = `200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`
	const fails = `404 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`
	const note = `POST {"jsonrpc":"2.0","method":"notifications/initialized"} `
	const answer = `POST {"jsonrpc":"2.0","id":9,"result":{}} `
	for _, c := range []struct{ name, a, b, want, back string }{
		{"a token is wanted now", call + works, call + "401", "breaking removed response $.result | refused with HTTP 401", "behaviour added response $.result | has a response"},
		{"the session is dead", call + works, call + "404", "breaking removed response $.result | refused with HTTP 404", "behaviour added response $.result | has a response"},
		{"refused with another status", call + "401", call + "403", "behaviour changed response $.http.status | the HTTP status is 403 instead of 401", "behaviour changed response $.http.status | the HTTP status is 401 instead of 403"},
		{"refused with the same", call + "401", call + "401", "", ""},
		{"an error before and no body now", call + fails, call + "404", "behaviour removed response $.error | different failure: refused with HTTP 404", "behaviour added response $.error | has a response"},
		{"lost", modern + complete, modern + "broken", "breaking removed response $.result | lost", "behaviour added response $.result | has a response"},
		{"cut off", call + works, call + works + " cut", "breaking removed response $.result | cut off", "behaviour added response $.result | has a response"},
		{"cut off on both", call + works + " cut", call + works + " cut", "", ""},
		{"lost on both", modern + "broken", modern + "broken", "", ""},
		{"refused instead of lost", modern + "broken", modern + "500", "behaviour changed response $.http.status | refused with HTTP 500 instead of lost", "behaviour changed response $.http.status | lost instead of refused with HTTP 500"},
		{"the client left", modern + complete, modern + "left", "behaviour removed response $.result | cancelled without a response; behaviour added call | now cancelled", "behaviour added response $.result | has a response; behaviour removed call | no longer cancelled"},
		{"no longer a stream", "GET 200", "GET 405", "behaviour added session $.http.status | the GET of a stream is refused with HTTP 405", "behaviour removed session $.http.status | the GET of a stream is no longer refused with HTTP 405"},
		{"a stream for those who have a token", "GET 200", "GET 401", "breaking added session $.http.status | the GET of a stream is refused with HTTP 401", "behaviour removed session $.http.status | the GET of a stream is no longer refused with HTTP 401"},
		{"one of two streams", "GET 200|GET 405", "GET 405|GET 200", "", ""},
		{"a stream on one side", "GET 405", call + works, "behaviour added call $.params | only the second session has it", "behaviour removed call $.params | only the first session has it"},
		{"sessions cannot be ended", "DELETE 204", "DELETE 405", "behaviour added session $.http.status | the DELETE of the session is refused with HTTP 405", "behaviour removed session $.http.status | the DELETE of the session is no longer refused with HTTP 405"},
		{"ended with another status", "DELETE 204", "DELETE 200", "", ""},
		{"a notification is refused", note + "202", note + "400", "breaking added session $.http.status | the POST of notifications/initialized is refused with HTTP 400", "behaviour removed session $.http.status | the POST of notifications/initialized is no longer refused with HTTP 400"},
		{"an answer is refused", answer + "202", answer + "404", "breaking added session $.http.status | the POST of an answer is refused with HTTP 404", "behaviour removed session $.http.status | the POST of an answer is no longer refused with HTTP 404"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rev := "2025-11-25"
			if strings.Contains(c.a, "2026-07-28") {
				rev = "2026-07-28"
			}
			a, b := exchanged(t, rev, strings.Split(c.a, "|")...), exchanged(t, rev, strings.Split(c.b, "|")...)
			for way, x := range map[string]struct {
				a, b []tap.Frame
				want string
			}{"there": {a, b, c.want}, "back": {b, a, c.back}, "first itself": {a, a, ""}, "second itself": {b, b, ""}} {
				got := verdicts(compare(t, x.a, x.b, Options{}))
				slices.Sort(got)
				want := strings.Split(x.want, "; ")
				slices.Sort(want)
				if strings.Join(got, "; ") != strings.Join(want, "; ") {
					t.Errorf("%s: got %q, want %q", way, got, want)
				}
			}
		})
	}
}

// TestLeftOrCancelled: closing the stream over HTTP cancels a call, as a notification does on pipes
// (2026-07-28 basic/transports/streamable-http).
func TestLeftOrCancelled(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	web := exchanged(t, "2026-07-28", "POST "+call+" left")
	var pipe []tap.Frame
	for i, raw := range []string{
		call, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","isError":true,"content":[]}}`,
	} {
		pipe = append(pipe, tap.Frame{Seq: uint64(i + 1), Lane: tap.ToServer + tap.Lane(i/2), Raw: []byte(raw), Size: int64(len(raw))})
	}
	silent := pipe[:2] // whether the server still responds depends on timing
	for _, side := range [][2][]tap.Frame{{web, pipe}, {pipe, web}, {web, silent}, {silent, web}} {
		if r := compare(t, side[0], side[1], Options{}); r.AtLeast(Behaviour) > 0 {
			t.Errorf("got:\n%s", reportLines(r))
		}
	}
}

// TestLostAnswer: an answer that the client did not get because the body was cut off counts as
// missing, even if the recording has it.
func TestLostAnswer(t *testing.T) {
	lines, _ := parseTruth(`
		rev 2025-06-18
		> tools/call {"name":"f"}
		< {"content":[]}`)
	a, b := play(t, 'a', lines), play(t, 'b', lines)
	lost := map[session.Ref]string{}
	for i := range a {
		if m := jsonrpc.PeekFrame(&a[i]); m.Method == "tools/call" {
			lost[session.Ref{Seq: a[i].Seq}] = "unexpected EOF"
		}
	}
	r := compare(t, a, b, Options{Lost: lost})
	if got := verdicts(r); !slices.Equal(got, []string{"breaking removed response $.result | no response"}) || r.Differences[0].Reason != "unexpected EOF" {
		t.Errorf("got %q", got)
	}
}

// TestLost: calls that a server did not answer because it was gone are breaking, whether they were
// sent or not, and the reason is given.
func TestLost(t *testing.T) {
	lines, _ := parseTruth(`
		rev 2025-06-18
		> tools/call {"name":"f"}
		a< {"content":[]}
		a> tools/call {"name":"g","arguments":{"n":1}}
		a< {"content":[]}
		a> tools/call {"name":"g","arguments":{"n":2}}
		a< {"content":[]}
		a> tools/call {"name":"h"}`)
	a, b := play(t, 'a', lines), play(t, 'b', lines)
	lost := map[session.Ref]string{}
	for i := range a {
		if m := jsonrpc.PeekFrame(&a[i]); m.Method == "tools/call" {
			lost[session.Ref{Seq: a[i].Seq}] = ""
			if len(lost) == 1 {
				lost[session.Ref{Seq: a[i].Seq}] = "the server ended with status 3"
			}
		}
	}
	r := compare(t, a, b, Options{Lost: lost})
	want := []string{
		"breaking removed response $.result | no response",
		"breaking removed call | not sent x2",
		"behaviour removed call | not sent", // it had no answer
	}
	if got := verdicts(r); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if d := r.Differences[0]; d.Reason != "the server ended with status 3" || d.By != "server" {
		t.Errorf("%+v", d)
	}
	if !strings.Contains(r.Summary, "tools/call g: not sent (2 times)") {
		t.Error(r.Summary)
	}
	for _, g := range r.Groups {
		if n := map[string]uint64{"f": 1, "g": 2}[g.Name]; g.Counts[Breaking] != n {
			t.Errorf("%s: %s", g.Name, fmt.Sprint(g.Counts))
		}
	}
}

// TestExitStatus: a server that exits with a failure status is reported, unless a signal may have
// ended it.
func TestExitStatus(t *testing.T) {
	lines, _ := parseTruth(`
		rev 2025-06-18
		> tools/call {"name":"f"}
		< {"content":[]}`)
	ended := func(events ...string) []tap.Frame {
		frames := play(t, 'a', lines)
		for _, e := range events {
			frames = append(frames, tap.Frame{Seq: uint64(len(frames) + 1), Lane: tap.Lifecycle, Raw: []byte(e), Size: int64(len(e))})
		}
		return frames
	}
	const well = `{"event":"exit","code":0}`
	for _, c := range []struct {
		a, b []string
		want []string
	}{
		{[]string{well}, []string{`{"event":"exit","code":9}`}, []string{"behaviour changed session $.exit | the server exited with status 9 instead of 0"}},
		{[]string{`{"event":"exit","code":9}`}, []string{`{"event":"exit","code":9}`}, nil},
		{[]string{`{"event":"exit","code":9}`}, []string{well}, nil},
		{[]string{well}, []string{`{"event":"exit","code":143}`}, nil},
		{[]string{well}, []string{`{"event":"exit","signal":"SIGKILL"}`}, nil},
		{[]string{well}, []string{`{"event":"signal","signal":"SIGTERM"}`, `{"event":"exit","code":1}`}, nil},
		{[]string{well}, nil, nil},
	} {
		if got := verdicts(compare(t, ended(c.a...), ended(c.b...), Options{})); !slices.Equal(got, c.want) {
			t.Errorf("%v, %v: got %q", c.a, c.b, got)
		}
	}
}

// TestServerDies: a request that was not sent because the server had exited is not the client's
// fault.
func TestServerDies(t *testing.T) {
	died := func(exit string) []tap.Frame {
		lines, _ := parseTruth(`
			rev 2025-06-18
			> tools/call {"name":"f"}
			< {"content":[]}
			> tools/call {"name":"g"}`)
		frames := play(t, 'b', lines)
		return append(frames, tap.Frame{Seq: uint64(len(frames) + 1), Lane: tap.Lifecycle, Raw: []byte(exit), Size: int64(len(exit))})
	}
	whole, _ := parseTruth(`
		rev 2025-06-18
		> tools/call {"name":"early"}
		< {"content":[]}
		> tools/call {"name":"f"}
		< {"content":[]}
		> tools/call {"name":"g"}
		< {"content":[]}
		> tools/call {"name":"h"}
		< {"content":[]}`)
	for exit, how := range map[string]string{
		`{"event":"exit","code":1}`: "the server exited with status 1", `{"event":"exit","signal":"SIGSEGV"}`: "the server exited after SIGSEGV",
	} {
		want := map[string]string{"early": "only the first session has it ", "g": "no response " + how, "h": "not sent " + how}
		for _, d := range compare(t, play(t, 'a', whole), died(exit), Options{}).Differences {
			if got := d.What + " " + d.Reason; got != want[d.Subject] {
				t.Errorf("%s, %s: got %q, want %q", exit, d.Subject, got, want[d.Subject])
			}
			delete(want, d.Subject)
		}
		if len(want) > 0 {
			t.Errorf("%s: not reported: %v", exit, want)
		}
	}
	left := died(`{"event":"eof","lane":"to_server"}`)
	exit := []byte(`{"event":"exit","code":0}`)
	left = append(left, tap.Frame{Seq: uint64(len(left) + 1), Lane: tap.Lifecycle, Raw: exit, Size: int64(len(exit))})
	for _, d := range compare(t, play(t, 'a', whole), left, Options{}).Differences {
		if d.Reason != "" {
			t.Errorf("after the client left: %s %s (%s)", d.Subject, d.What, d.Reason)
		}
	}
}

// TestCancellationComesFirst: what is missing afterwards is a consequence.
func TestCancellationComesFirst(t *testing.T) {
	const call = `POST {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}} `
	a := exchanged(t, "2026-07-28", call+`200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`)
	b := exchanged(t, "2026-07-28", call+"left")
	if got := verdicts(compare(t, a, b, Options{})); len(got) != 2 || got[0] != "behaviour added call | now cancelled" {
		t.Errorf("got %q", got)
	}
}
