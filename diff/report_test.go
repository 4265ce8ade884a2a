package diff

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

func TestNames(t *testing.T) {
	for c := range Classes {
		if got, err := ParseClass(c.String()); err != nil || got != c {
			t.Errorf("%v became %v, %v", c, got, err)
		}
	}
	if _, err := ParseClass("worse"); err == nil || !strings.Contains(err.Error(), "breaking, behaviour, expected, timing, cosmetic") {
		t.Errorf("the error for an unknown class is %v", err)
	}
	seen := map[string]bool{}
	for _, s := range []string{Class(99).String(), Kind(99).String(), Place(99).String()} {
		if !strings.HasSuffix(s, "(99)") {
			t.Errorf("an unknown value is %s", s)
		}
	}
	for k := range kinds {
		seen[k.String()] = true
	}
	for p := range placeCount {
		seen[p.String()] = true
	}
	if len(seen) != int(kinds)+int(placeCount) || seen[""] {
		t.Errorf("%v", seen)
	}
}

// many returns a script with calls whose answers differ in two ways.
func many(calls int) string {
	var b strings.Builder
	b.WriteString("rev 2025-06-18\n")
	for i := range calls {
		n := string(rune('a' + i))
		b.WriteString(`> tools/call {"name":"` + n + "\"}\n")
		b.WriteString(`a< {"content":[],"structuredContent":{"v":1,"w":"` + n + "\"}}\n")
		b.WriteString(`b< {"content":[],"structuredContent":{"v":1.0,"w":"x` + n + "\"}}\n")
	}
	return b.String()
}

func TestUnlistedDifferencesAreCounted(t *testing.T) {
	r, _ := compareScript(t, many(20), Options{Most: 5})
	if len(r.Differences) != 10 || r.Counts[Behaviour] != 20 || r.Counts[Cosmetic] != 20 || r.Left[Behaviour] != 15 || r.Left[Cosmetic] != 15 {
		t.Errorf("%d got, %v counted, %v left", len(r.Differences), r.Counts, r.Left)
	}
	if worst, ok := r.Worst(); worst != Behaviour || !ok || r.AtLeast(Behaviour) != 20 || r.AtLeast(Cosmetic) != 40 || r.AtLeast(Breaking) != 0 {
		t.Errorf("worst %v, %d", worst, r.AtLeast(Cosmetic))
	}
	if len(r.Groups) != 20 || r.Groups[3].Name != "d" || r.Groups[3].Counts[Behaviour] != 1 || r.Groups[3].Calls != 1 || r.Groups[3].Same != 0 {
		t.Errorf("%d groups, %+v", len(r.Groups), r.Groups[3])
	}
}

func TestOpening(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"arev 2025-06-18\nbrev 2025-11-25", "expected changed session $.revision"},
		{"arev 2025-06-18\nbrev 2026-07-28\n> tools/list\n< {\"tools\":[]}", "expected changed session $.revision one session opens with a handshake, the other without"},
		{`> initialize {"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}
		a< {"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}
		b< {"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`, "behaviour changed session $.revision"},
		{`> initialize {"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}
		a< {"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}
		b< {"protocolVersion":"none","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`,
			"breaking changed session $.result.protocolVersion the server names no known revision"},
		{`> initialize {"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}
		a< {"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}
		b< {"protocolVersion":"DRAFT-2026-v1","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`, "behaviour changed session $.revision"},
		{`a> initialize {"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}
		b> initialize {"capabilities":{},"clientInfo":{"name":"c","version":"1"}}
		< {"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`,
			"behaviour changed session $.params.protocolVersion the client names no known revision"},
		{`> initialize {"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}
		a< {"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"},"instructions":"Be kind."}
		b< {"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"2"},"instructions":"Be quick."}`,
			"cosmetic changed session $.server.info.version the server has another version\nbehaviour changed session $.server.instructions"},
		{`a> initialize {"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}
		b> initialize {"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"c","version":"1"}}
		< {"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`, ""},
		{`a> initialize {"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"url":{}}},"clientInfo":{"name":"c","version":"1"}}
		b> initialize {"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"url":{},"form":{}}},"clientInfo":{"name":"c","version":"1"}}
		< {"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`, "behaviour added session $.client.capabilities.elicitation.form"},
		{`> initialize {"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}
		a< {"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"prompts":{}},"serverInfo":{"name":"s","version":"1"}}
		b< {"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":false},"resources":{}},"serverInfo":{"name":"s","version":"1"}}`,
			"breaking changed session $.server.capabilities.tools.listChanged the server no longer supports it\n" +
				"breaking removed session $.server.capabilities.prompts the server no longer supports it\nbehaviour added session $.server.capabilities.resources"},
		{"rev 2025-11-25\na>~ notifications/initialized", "behaviour removed notification initialize c 1, 2025-11-25 notifications/initialized $.params"},
	} {
		r, _ := compareScript(t, c.text, Options{})
		if got := strings.TrimSpace(reportLines(r)); got != c.want {
			t.Errorf("%s\n  got %s\n want %s", c.text, got, c.want)
		}
	}
}

func TestHeaders(t *testing.T) {
	http := func(rev string, request, response [][2]string) []tap.Frame {
		lines, _ := parseTruth("rev " + rev + "\n> tools/list\n< {\"tools\":[]}")
		var frames []tap.Frame
		for _, e := range []tap.Event{{Name: tap.EventRequest, Header: request}, {Name: tap.EventResponse, Status: 200, Header: response}} {
			frames = append(frames, tap.Frame{Lane: tap.Lifecycle, Exchange: 1, Raw: e.Encode()})
		}
		frames = append(frames, play(t, 'a', lines)...)
		for i := range frames {
			frames[i].Seq = uint64(i + 1)
		}
		return frames
	}
	session := [][2]string{{"MCP-Session-Id", "x"}}
	version := [][2]string{{"mcp-protocol-version", "x"}, {"Accept", "x"}}
	names := append([][2]string{{"Mcp-Method", "x"}, {"Mcp-Param-City", "x"}}, version...)
	for _, c := range []struct {
		a, b []tap.Frame
		want string
	}{
		{http("2025-11-25", version, session), http("2025-11-25", version, session), ""},
		{http("2025-11-25", version, session), http("2025-11-25", version, nil), "behaviour removed session $.http.response.mcp-session-id"},
		{http("2025-11-25", version, session), http("2026-07-28", names, nil),
			"expected removed session $.http.response.mcp-session-id\nexpected added session $.http.request.mcp-method\nexpected added session $.http.request[\"mcp-param-*\"]"},
		{http("2025-03-26", session, nil), http("2025-06-18", append(version, session...), nil), "expected added session $.http.request.mcp-protocol-version"},
		{http("2025-11-25", nil, nil), http("2025-11-25", version, session), ""}, // stdio
	} {
		r := compare(t, c.a, c.b, Options{})
		var got []string
		for _, line := range strings.Split(reportLines(r), "\n") {
			if i := strings.Index(line, " the header"); i >= 0 {
				got = append(got, line[:i])
			}
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), c.want)
		}
	}
}

func TestSideOfDifferences(t *testing.T) {
	r, _ := compareScript(t, `
		rev 2025-06-18
		a> tools/call {"name":"f","arguments":{"n":1}}
		b> tools/call {"name":"f","arguments":{"n":2}}
		a< {"content":[]}
		b< {"content":[],"x":1}
		> tools/call {"name":"g"}
		<? elicitation/create {"message":"?","requestedSchema":{}}
		a>= {"action":"accept"}
		b>= {"action":"decline"}
		< {"content":[]}`, Options{})
	var by []string
	for _, d := range r.Differences {
		by = append(by, d.By)
	}
	if len(by) != 3 || by[0] != "client" || by[1] != "server" || by[2] != "client" {
		t.Errorf("%v\n%s", by, reportLines(r))
	}
	if r.Differences[1].Reason != "the request differs too" {
		t.Errorf("the answer differs because %q", r.Differences[1].Reason)
	}
}

func TestErrorsOfLoading(t *testing.T) {
	lines, _ := parseTruth("rev 2025-06-18\n> tools/call {\"name\":\"f\"}\na< {\"content\":[1]}\nb< {\"content\":[2]}")
	a, b := play(t, 'a', lines), play(t, 'b', lines)
	broken := errors.New("the disk is gone")
	for name, load := range map[string]Loader{
		"an error":      func(uint64) (tap.Frame, error) { return tap.Frame{}, broken },
		"another frame": func(seq uint64) (tap.Frame, error) { return tap.Frame{Seq: seq, Raw: []byte("[]")}, nil },
	} {
		s := reader{Session: NewSession("a", load)}
		for i := range a {
			s.add(&a[i], false)
		}
		if _, err := Compare(s.end(), recorded("b", b), Options{}); err == nil {
			t.Errorf("%s is not an error", name)
		}
	}
	stop := errors.New("enough")
	lines, _ = parseTruth(many(20))
	n := 0
	_, err := Compare(recorded("a", play(t, 'a', lines)), recorded("b", play(t, 'b', lines)), Options{Check: func() error { n++; return stop }})
	if n > 0 && !errors.Is(err, stop) {
		t.Errorf("stopped with %v", err)
	}
}

// TestLargeFrames compares messages of which only the envelope is known.
func TestLargeFrames(t *testing.T) {
	read := func(size int64) *Session {
		lines, _ := parseTruth("rev 2025-06-18\n> tools/call {\"name\":\"f\"}\n< {\"content\":[]}")
		frames := play(t, 'a', lines)
		s := reader{Session: NewSession("s", func(seq uint64) (tap.Frame, error) { return frames[seq-1], nil })}
		for i := range frames {
			f := frames[i]
			if i == len(frames)-1 {
				f.Size = size
				e := s.tracker.Add(&f)
				e.Message.Result = nil
				s.Add(e, false)
				for _, c := range e.Ended {
					s.Over(c)
				}
				continue
			}
			s.add(&f, false)
		}
		return s.end()
	}
	r, err := Compare(read(1<<30), read(1<<30), Options{})
	if err != nil || len(r.Differences) != 0 || r.TooLarge != 2 || !strings.Contains(r.Summary, "2 messages too large to be compared") {
		t.Errorf("%v, %s: %s", err, reportLines(r), r.Summary)
	}
	r, err = Compare(read(1<<30), read(1<<29), Options{})
	if err != nil || len(r.Differences) != 1 || !strings.Contains(r.Differences[0].What, "too large") {
		t.Errorf("%v, %s", err, reportLines(r))
	}
}

func TestSummaries(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"rev 2025-06-18\n> tools/list\n< {\"tools\":[]}", "No differences in 1 call."},
		{"", "No differences, and no calls."},
		{`rev 2025-06-18
		> tools/list
		a< {"tools":[{"name":"echo","inputSchema":{}},{"name":"add","inputSchema":{}}]}
		b< {"tools":[{"name":"add","inputSchema":{"required":["precision"]}}]}
		> tools/call {"name":"add"}
		a< {"content":[{"type":"text","text":"3"}]}
		b<! {"code":-32602,"message":"no precision"}
		a> tools/call {"name":"echo"}
		a< {"content":[]}
		b> prompts/list
		b< {"prompts":[]}`,
			`3 breaking differences: the tool "echo" is gone; add: "precision" is now required; tools/call add: now fails. ` +
				`2 differences in behaviour: prompts/list: new request; tools/call echo: no longer sent. 0 of 4 calls behave the same.`},
		{"rev 2025-06-18\n> tools/call {\"name\":\"f\"}\nb+ 1234567us\n< {\"content\":[]}", "1 difference in timing: tools/call f: slower, 1.24s instead of 1ms. 1 of 1 call behaves the same."},
		{`rev 2025-06-18
			> tools/call {"name":"f","_meta":{"progressToken":1}}
			a<~ notifications/progress {"progressToken":1,"progress":1}
			a< {"content":[{"type":"text","text":"3"}],"structuredContent":{"a":1,"b":1}}
			b< {"content":[{"type":"text","text":"4"}],"structuredContent":{"a":2,"b":2}}
			> tools/list
			a< {"tools":[{"name":"x","description":"A","inputSchema":{}}]}
			b< {"tools":[{"name":"x","description":"B","inputSchema":{}}]}
			> tools/call {"name":"g"}
			a< {"content":[]}
			b< {"content":[],"isError":true}`,
			"1 breaking difference: tools/call g: now fails. 5 differences in behaviour: tools/call f: notifications/progress is missing, $.result.content[0].text changed; " +
				"x: description changed; and more. 0 of 3 calls behave the same."},
		{"> initialize {\"protocolVersion\":\"2025-06-18\"}\na< {\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"a\"}}\n" +
			"b< {\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"serverInfo\":{\"name\":\"b\"}}",
			"1 breaking difference: $.server.capabilities.tools: the server no longer supports it. 1 difference in behaviour: $.server.info.name: changed."},
		{many(6), "6 differences in behaviour: tools/call a: $.result.structuredContent.w changed; tools/call b: $.result.structuredContent.w changed; " +
			"tools/call c: $.result.structuredContent.w changed; and more. 6 cosmetic differences. 0 of 6 calls behave the same."},
	} {
		if r, _ := compareScript(t, c.text, Options{}); r.Summary != c.want {
			t.Errorf("got %s\nwant %s", r.Summary, c.want)
		}
	}
	if got := rounded(1500 * time.Microsecond).String(); got != "1.5ms" {
		t.Errorf("1.5 ms are %s", got)
	}
}
