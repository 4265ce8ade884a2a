package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

func TestFindings(t *testing.T) {
	m := &memory{key: "x", status: store.Live}
	m.add(tap.ToServer, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`+"\n")
	m.add(tap.ToClient, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`+"\n")
	m.add(tap.ToServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	m.add(tap.ToServer, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`+"\n")
	m.add(tap.ToClient, `{"jsonrpc":"2.0","id":"2 \u202e`+"\u202e"+`<script>","result":{"tools":[]}}`+"\n")
	s := newTestServer(t, "", m)
	var j findingsJSON
	getJSON(t, s, "/api/recordings/x/findings", &j)
	i := 0
	for i < len(j.Findings) && j.Findings[i].Rule != "rpc-07" {
		i++
	}
	if i == len(j.Findings) {
		t.Fatalf("no rpc-07 in %+v", j.Findings)
	}
	f, rule := j.Findings[i], check.Lookup("rpc-07")
	if f.Class != "client-breaking" || f.Path != "$.id" || fmt.Sprint(f.Frames) != "[5]" || f.Count != 1 || f.Requires != rule.Text || f.Fix != rule.Fix || f.Source != rule.SourceText() {
		t.Errorf("%+v", f)
	}
	if strings.Contains(f.Text, "\u202e") || !strings.Contains(f.Text, `\u202e<script>`) {
		t.Errorf("the text is %q", f.Text)
	}
	if j.Held == 0 || j.Read != 5 || !j.Live {
		t.Errorf("%d rules hold, up to frame %d, live %v", j.Held, j.Read, j.Live)
	}
	for query, want := range map[string]int{"session=1": 200, "session=2": 404, "session=x": 400} {
		if w := get(t, s, "/api/recordings/x/findings?"+query); w.Code != want {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	if w := get(t, s, "/api/recordings/none/findings"); w.Code != http.StatusNotFound {
		t.Errorf("unknown recording: %d", w.Code)
	}
}

// TestFindingsOfSession checks that only the selected session is judged.
func TestFindingsOfSession(t *testing.T) {
	m := &memory{key: "x"}
	for exchange := range uint64(2) {
		for _, f := range []tap.Frame{
			{Raw: tap.Event{Name: tap.EventRequest, Conn: 1, Proto: "HTTP/1.1", Method: "POST", Target: "/mcp"}.Encode()},
			{Lane: tap.ToServer, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)},
			{Raw: tap.Event{Name: tap.EventResponse, Proto: "HTTP/1.1", Status: 200, Header: [][2]string{{"Mcp-Session-Id", fmt.Sprint("s-", exchange)}}}.Encode()},
			{Lane: tap.ToClient, Form: tap.FormBody, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"result":{}}`, fmt.Sprint(exchange))},
		} {
			f.Seq, f.Size, f.Exchange = uint64(len(m.frames)+1), int64(len(f.Raw)), exchange+1
			m.frames = append(m.frames, f)
		}
	}
	s := newTestServer(t, "", m)
	for session, want := range map[int]string{0: "[4 8]", 1: "[4]", 2: "[8]"} {
		var j findingsJSON
		getJSON(t, s, fmt.Sprint("/api/recordings/x/findings?session=", session), &j)
		var frames []uint64
		for _, f := range j.Findings {
			if f.Rule == "rpc-07" {
				frames = append(frames, f.Frames...)
			}
		}
		if fmt.Sprint(frames) != want {
			t.Errorf("session %d: rpc-07 is violated by %v, want %s", session, frames, want)
		}
	}
}

// TestFindingsAreBounded checks that the worst findings are sent, and the others are counted.
func TestFindingsAreBounded(t *testing.T) {
	r := &check.Report{More: 3, Judgements: []*check.Judgement{
		{Rule: check.Lookup("rpc-07"), Held: 1}, {Rule: check.Lookup("rpc-08"), NotJudged: 1}, {Rule: check.Lookup("rpc-10"), Held: 1, Violated: 1},
	}}
	for i := range maxFindings + 7 {
		r.Findings = append(r.Findings, &check.Finding{
			Rule: check.Lookup("rpc-07"), Class: check.Must, Subject: strings.Repeat("x", 10_000), Path: "\x1b[2J", Count: 1, Frames: []uint64{uint64(i + 1)},
		})
	}
	j := newFindingsJSON(r)
	if len(j.Findings) != maxFindings || j.Left != 7 || j.More != 3 || j.Held != 1 || j.NotJudged != 1 {
		t.Errorf("%d findings, %d left out, %d more, %d rules hold, %d not judged", len(j.Findings), j.Left, j.More, j.Held, j.NotJudged)
	}
	if f := j.Findings[0]; len(f.Subject) > 2*maxText || f.Path != `\x1b[2J` {
		t.Errorf("%+v", f)
	}
}

// TestFindingsEndWithTheRequest checks that a check ends with its request, even while it waits for another
// check.
func TestFindingsEndWithTheRequest(t *testing.T) {
	m := &memory{key: "x", frames: busy(100)}
	s := newTestServer(t, "", m)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.judging <- struct{}{}
	if _, err := s.judge(ctx, m.reader(), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("while waiting: %v", err)
	}
	<-s.judging
	read := 0
	if err := recording.Each(ctx, m.reader(), func(*tap.Frame) { read++ }); !errors.Is(err, context.Canceled) || read > 0 {
		t.Errorf("%d frames were read: %v", read, err)
	}
}
