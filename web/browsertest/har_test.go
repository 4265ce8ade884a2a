package browsertest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// devtools starts a browser with remote debugging, and returns the URL of its DevTools, which read a HAR
// file like the network panel.
func devtools(t *testing.T) string {
	t.Helper()
	path := os.Getenv("MCPTAP_BROWSER")
	for _, name := range browsers {
		if path == "" {
			path, _ = exec.LookPath(name)
		}
	}
	if path == "" {
		return "about:blank" // newTab reports a missing browser
	}
	profile, err := os.MkdirTemp("", "mcptap-devtools-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0",
		"--disable-background-networking", "--user-data-dir="+profile, "about:blank")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(profile) // its children may still write there
	})
	r := bufio.NewReader(stderr)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("the browser does not print the URL of its DevTools: %v", err)
		}
		if _, at, ok := strings.Cut(strings.TrimSpace(line), "DevTools listening on ws://"); ok {
			go func() { _, _ = io.Copy(io.Discard, r) }()
			host, _, _ := strings.Cut(at, "/")
			return "http://" + host
		}
	}
}

// A panelRequest is a request in the network panel.
type panelRequest struct {
	URL, Method, Post, Text, Type string
	Status                        int
	Failed                        bool
	Start, Duration               float64 // milliseconds since 1970, and duration in milliseconds
	Frames                        []panelFrame
}

// A panelFrame is a WebSocket message in the network panel.
type panelFrame struct {
	Type, Text string
	OpCode     int
	Time       float64 // in milliseconds since 1970
}

const importHAR = `(async () => {
	const har = await import('/devtools/models/har/har.js');
	const log = new har.HARFormat.HARRoot(JSON.parse(HAR)).log;
	const all = har.Importer.Importer.requestsFromHARLog(log).map(async r => {
		const content = await r.requestContentData();
		return {
			URL: r.url(), Method: r.requestMethod, Status: r.statusCode, Failed: r.failed === true, Type: r.resourceType().name(),
			Start: r.startTime * 1000, Duration: r.duration * 1000, Post: (await r.requestFormData()) || '',
			Text: content.error || (content.isTextContent ? content.text : 'base64:' + content.base64),
			Frames: r.frames().map(f => ({Type: f.type, Text: f.text, OpCode: f.opCode, Time: f.time * 1000})),
		};
	});
	return JSON.stringify(await Promise.all(all));
})()`

// A harFile is the part of a HAR file that the test needs.
type harFile struct {
	Log struct {
		Entries []harEntry
	}
}

type harEntry struct {
	Started time.Time `json:"startedDateTime"`
	Mcptap  struct {
		First uint64 `json:"first_seq"`
		Last  uint64 `json:"last_seq"`
	} `json:"_mcptap"`
}

// panel imports the HAR file of a recording, and returns its requests and entries in the same order.
func panel(t *testing.T, p *tab, dir, id string) ([]panelRequest, []harEntry) {
	t.Helper()
	text := run(t, dir, "export", id, "--format", "har")
	var file harFile
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	var got []panelRequest
	if err := json.Unmarshal([]byte(eval[string](p, strings.Replace(importHAR, "HAR)", string(quoted)+")", 1))), &got); err != nil {
		t.Fatal(err)
	}
	entries := file.Log.Entries
	if len(got) != len(entries) || len(got) == 0 {
		t.Fatalf("%d requests of %d entries", len(got), len(entries))
	}
	// The panel orders requests by their start.
	slices.SortStableFunc(entries, func(a, b harEntry) int { return cmp.Compare(a.Started.UnixMilli(), b.Started.UnixMilli()) })
	return got, entries
}

// began compares a start time, which the panel rounds to milliseconds.
func began(r panelRequest, want time.Duration) bool {
	d := float64(want)/1e6 - r.Start
	return -0.01 < d && d < 1.01
}

// near compares times that went through floating-point seconds.
func near(got float64, want time.Duration) bool {
	d := got - float64(want)/1e6
	return -0.01 < d && d < 0.01
}

// TestDevToolsImportsStdio checks that each message of the demo is a request in the panel, with the bytes
// and times of its frames.
func TestDevToolsImportsStdio(t *testing.T) {
	dir := imported(t, "real-demo-*")
	p := newTab(t, devtools(t)+"/json/version", 600, 400, false)
	p.allow("favicon.ico")
	for line := range strings.Lines(run(t, dir, "ls", "--json")) {
		var rec struct{ ID string }
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatal(err)
		}
		frames := map[uint64]exportedFrame{}
		for line := range strings.Lines(run(t, dir, "export", rec.ID)) {
			var f exportedFrame
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Fatal(err)
			}
			if f.Type != "end" {
				frames[f.Seq] = f
			}
		}
		requests, entries := panel(t, p, dir, rec.ID)
		start := time.Duration(frames[0].Start.UnixNano())
		responses := 0
		for i, r := range requests {
			first, last := frames[entries[i].Mcptap.First], frames[entries[i].Mcptap.Last]
			if r.Method != "POST" || !strings.HasPrefix(r.URL, "http://stdio.invalid/") || r.Post != first.Raw || !began(r, start+first.At) {
				t.Errorf("%+v\nframe %+v", r, first)
			}
			switch {
			case r.Status == 200:
				if responses++; r.Text != last.Raw || !near(r.Duration, last.At-first.At) || last.Seq <= first.Seq {
					t.Errorf("%+v\nframe %+v", r, last)
				}
			case r.Status != 202 && r.Status != 0 || r.Text != "":
				t.Errorf("%+v", r)
			}
		}
		if responses < 10 {
			t.Errorf("%d responses", responses)
		}
	}
}

// An exportedFrame is a line of an export; the first has the start.
type exportedFrame struct {
	Type  string
	Seq   uint64
	At    time.Duration `json:"at_ns"`
	Raw   string
	Start time.Time
}

// A webFrame is a frame of webFrames.
type webFrame struct {
	exchange uint64
	lane     tap.Lane
	form     tap.Form
	raw      string
}

// webFrames are a call whose response is a stream, a WebSocket and a refusal.
var webFrames = []webFrame{
	{0, tap.Lifecycle, tap.FormLine, `{"event":"start","transport":"http"}`},
	{1, tap.Lifecycle, tap.FormLine, `{"event":"request","conn":7,"proto":"HTTP/1.1","method":"POST","target":"/mcp?a=b%20c","header":[["Host","h"],["Content-Type","application/json"]]}`},
	{1, tap.ToServer, tap.FormBody, `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
	{2, tap.Lifecycle, tap.FormLine, `{"event":"request","proto":"HTTP/1.1","method":"GET","target":"/ws","header":[["Upgrade","websocket"]]}`},
	{1, tap.Lifecycle, tap.FormLine, `{"event":"response","proto":"HTTP/1.1","status":200,"reason":"OK","header":[["Content-Type","text/event-stream"]]}`},
	{1, tap.ToClient, tap.FormEvent, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\x1b[31m \u202e\"}\n\n"},
	{2, tap.Lifecycle, tap.FormLine, `{"event":"response","proto":"HTTP/1.1","status":101,"reason":"Switching Protocols"}`},
	{1, tap.ToClient, tap.FormEvent, "data: more\n\n"},
	{2, tap.ToServer, tap.FormText, `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
	{2, tap.ToClient, tap.FormText, `{"jsonrpc":"2.0","id":1,"result":{}}`},
	{1, tap.Lifecycle, tap.FormLine, `{"event":"end"}`},
	{3, tap.Lifecycle, tap.FormLine, `{"event":"request","proto":"HTTP/1.1","method":"DELETE","target":"/mcp"}`},
	{3, tap.Lifecycle, tap.FormLine, `{"event":"response","proto":"HTTP/1.1","status":405,"reason":"Method Not Allowed","header":[["Content-Type","application/octet-stream"]]}`},
	{3, tap.ToClient, tap.FormBody, "\xff\x00\x01"},
	{3, tap.Lifecycle, tap.FormLine, `{"event":"end"}`},
	{2, tap.Lifecycle, tap.FormLine, `{"event":"end"}`},
}

// TestDevToolsImportsHTTP checks that exchanges are shown as recorded, the events of a stream as its
// body, and WebSocket messages where DevTools shows them.
func TestDevToolsImportsHTTP(t *testing.T) {
	dir := t.TempDir()
	at := func(i int) time.Duration { return time.Duration(i) * 7 * time.Millisecond }
	id := writeRecordingOf(t, dir, "web", "http", func(i int) (tap.Frame, bool) {
		if i == len(webFrames) {
			return tap.Frame{}, false
		}
		f := webFrames[i]
		return tap.Frame{At: at(i), Exchange: f.exchange, Lane: f.lane, Form: f.form, Raw: []byte(f.raw)}, true
	})
	p := newTab(t, devtools(t)+"/json/version", 600, 400, false)
	p.allow("favicon.ico")
	requests, entries := panel(t, p, dir, id)
	start := time.Duration(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC).UnixNano())
	by := map[uint64]panelRequest{}
	for i, r := range requests {
		by[entries[i].Mcptap.First] = r
	}
	post, socket, gone := by[2], by[4], by[12]
	if !strings.HasSuffix(post.URL, "/mcp?a=b%20c") || post.Status != 200 || post.Post != webFrames[2].raw || post.Text != webFrames[5].raw+webFrames[7].raw ||
		!began(post, start+at(1)) || !near(post.Duration, at(10)-at(1)) {
		t.Errorf("%+v", post)
	}
	if gone.Method != "DELETE" || gone.Status != 405 || gone.Text != "base64:/wAB" || !began(gone, start+at(11)) {
		t.Errorf("%+v", gone)
	}
	if socket.Status != 101 || socket.Type != "websocket" || len(socket.Frames) != 2 {
		t.Fatalf("%+v", socket)
	}
	for i, f := range socket.Frames {
		want := panelFrame{Type: []string{"send", "receive"}[i], Text: webFrames[8+i].raw, OpCode: 1}
		if strings.ToLower(f.Type) != want.Type || f.Text != want.Text || f.OpCode != want.OpCode || !near(f.Time, start+at(8+i)) {
			t.Errorf("%+v, want %+v", f, want)
		}
	}
}
