package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
)

func testAbout(transport string) About {
	return About{
		Header:  tap.Header{ID: "0a1b2c3d", Label: "a label/é", Transport: transport, Start: time.Date(2026, 11, 21, 22, 0, 0, 0, time.UTC)},
		Program: "mcptap", Version: "1.0.0",
	}
}

func exported(t *testing.T, format string, about About, frames []tap.Frame) string {
	t.Helper()
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	x, err := newWriter(w, format, about)
	if err != nil {
		t.Fatal(err)
	}
	addAll(t, x, frames)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// addAll adds all frames, and the end.
func addAll(t *testing.T, w writer, frames []tap.Frame) {
	t.Helper()
	for i := range frames {
		if err := w.Add(&frames[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// schema returns the schema of HAR 1.2.
func schema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	b, err := os.ReadFile("testdata/har-1.2.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readHAR(t *testing.T, s *jsonschema.Resolved, text string) harFile {
	t.Helper()
	var any map[string]any
	if err := json.Unmarshal([]byte(text), &any); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := s.Validate(any); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	var f harFile
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

type harFile struct {
	Log struct {
		Comment string
		Entries []harEntry
	}
}

var spanForm = regexp.MustCompile(`^\{"traceId":"[0-9a-f]{32}","spanId":"[0-9a-f]{16}",("traceState":"[^"]+",)?("parentSpanId":"[0-9a-f]{16}",)?"name":"[^"]`)

func readOTLP(t *testing.T, text string) (spans []Span) {
	t.Helper()
	for line := range strings.Lines(text) {
		var traces otlpTraces
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&traces); err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
		for _, s := range traces.ResourceSpans[0].ScopeSpans[0].Spans {
			b, _ := json.Marshal(s)
			if !spanForm.Match(b) || len(s.Start) != 19 || s.End < s.Start {
				t.Errorf("%s", b)
			}
			spans = append(spans, s)
		}
	}
	return spans
}

var mermaidForm = regexp.MustCompile("^```mermaid\nsequenceDiagram\n    participant C as [^\n;#]+\n    participant S as [^\n]+\n(    (Note over C,S|[CS](->>|-->>|--x|-x|-\\))[CS]): ([^\n;]|#\\w+;)*\n)*```\n$")

// TestRecordedSessions checks that each recorded session is valid and complete in each format.
func TestRecordedSessions(t *testing.T) {
	s := schema(t)
	names, err := filepath.Glob("../testdata/sessions/*.txtar")
	if err != nil || len(names) < 20 {
		t.Fatal(len(names), err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		head, frames, err := text.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		about := testAbout(head.Header.Transport)
		calls, messages := 0, 0
		tracker := session.Tracker{}
		for i := range frames {
			for _, p := range tracker.Add(&frames[i]).Parts {
				if messages++; p.Role == session.RoleRequest {
					calls++
				}
			}
		}
		f := readHAR(t, s, exported(t, "har", about, frames))
		if len(f.Log.Entries) == 0 && messages > 0 {
			t.Errorf("%s: no entries", name)
		}
		if spans := readOTLP(t, exported(t, "otlp", about, frames)); len(spans) != calls {
			t.Errorf("%s: %d spans of %d calls", name, len(spans), calls)
		}
		d := exported(t, "mermaid", about, frames)
		if !mermaidForm.MatchString(d) || strings.Count(d, "\n") < messages {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// lines returns frames of a stdio recording: > is to the server, < to the client.
func lines(text string) (frames []tap.Frame) {
	for i, l := range strings.Split(strings.TrimSpace(text), "\n") {
		f := tap.Frame{Seq: uint64(i + 1), At: time.Duration(i+1) * 10 * time.Millisecond, Lane: tap.ToServer, Raw: []byte(l[2:] + "\n")}
		switch l[0] {
		case '<':
			f.Lane = tap.ToClient
		case '!':
			f.Lane, f.Raw = tap.Lifecycle, []byte(l[2:])
		}
		f.Size = int64(len(f.Raw))
		frames = append(frames, f)
	}
	return frames
}

const conversation = `
> {"jsonrpc":"2.0","id":"a\u0001","method":"tools/call","params":{"name":"echo; drop #1","_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"v=1"}}}
< {"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{"messages":[]}}
> {"jsonrpc":"2.0","id":0,"result":{"role":"assistant"}}
< {"jsonrpc":"2.0","id":"a\u0001","result":{"isError":true,"content":[{"type":"text","text":"no"}]}}
> {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"file:///x y"}}
< {"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"not <here> ` + "```" + `"}}
> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}
> {"jsonrpc":"2.0","id":3,"method":"ping"}
! {"event":"exit","signal":"SIGKILL"}`

func TestOTLPSpans(t *testing.T) {
	spans := readOTLP(t, exported(t, "otlp", testAbout("stdio"), lines(conversation)))
	by := map[string]Span{}
	for _, s := range spans {
		by[s.Name] = s
	}
	call, ok := by["tools/call echo; drop #1"]
	if !ok || call.TraceID != "0af7651916cd43dd8448eb211c80319c" || call.Parent != "b7ad6b7169203331" || call.State != "v=1" {
		t.Fatalf("%+v", spans)
	}
	if n := by["sampling/createMessage"]; n.TraceID != call.TraceID || n.Parent != call.SpanID {
		t.Errorf("nested call: %+v", n)
	}
	if call.Start != "1795298400010000000" || call.End != "1795298400040000000" || call.Status.Code != statusFail {
		t.Errorf("%+v", call)
	}
	for span, want := range map[string]string{
		"tools/call echo; drop #1": "mcp.method.name=tools/call|gen_ai.tool.name=echo; drop #1|gen_ai.operation.name=execute_tool|network.transport=pipe|error.type=tool_error",
		"resources/read":           "mcp.resource.uri=file:///x y|jsonrpc.request.id=2|error.type=-32002|rpc.response.status_code=-32002",
		"ping":                     "error.type=unanswered",
		"sampling/createMessage":   "mcptap.asked_by=server",
	} {
		has := ""
		for _, a := range by[span].Attributes {
			if a.Value.String != "" {
				has += "|" + a.Key + "=" + a.Value.String
			}
		}
		for _, w := range strings.Split(want, "|") {
			if !strings.Contains(has+"|", "|"+w+"|") {
				t.Errorf("%s: no %s in %s", span, w, has)
			}
		}
	}
	// Zeros are not ids, and an invalid traceparent is ignored.
	for _, bad := range []string{"00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", "x", ""} {
		spans := readOTLP(t, exported(t, "otlp", testAbout("stdio"), lines(`> {"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"traceparent":"`+bad+`"}}}`)))
		if len(spans) != 1 || spans[0].Parent != "" {
			t.Errorf("%q: %+v", bad, spans)
		}
	}
	for traceparent, want := range map[string]bool{
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03":      true,
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff-more": true,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-04":      false,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more": false,
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":      false,
		"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01":      false,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333-01":       false,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331":         false,
	} {
		if _, _, ok := parseTraceparent(traceparent); ok != want {
			t.Errorf("%s: %v", traceparent, ok)
		}
	}
}

func TestMermaidArrows(t *testing.T) {
	d := exported(t, "mermaid", testAbout("stdio"), lines(conversation))
	for _, want := range []string{
		"    C->>S: 1 echo#59; drop #35;1\n",
		"    S->>C: 2 sampling/createMessage",
		"    C-->>S: 3 sampling/createMessage → #123;",
		"    S--xC: 4 echo#59; drop #35;1: isError no (30.0ms)\n",
		"    S--xC: 6 resources/read file:///x y: -32002 not #lt;here#gt; #96;#96;#96;",
		"    C-)S: 7 cancels id 9",
		"    Note over C,S: 9 the server exits, SIGKILL\n",
		"    S--xC: no response to 8 ping\n",
	} {
		if !strings.Contains(d, want) {
			t.Errorf("%q is missing in\n%s", want, d)
		}
	}
	var many []string
	for i := range 3000 {
		many = append(many, fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"method":"ping"}`, i))
	}
	d = exported(t, "mermaid", testAbout("stdio"), lines(strings.Join(many, "\n")))
	if len(d) > 50_000 || !strings.Contains(d, " more messages are left out\n```\n") || !strings.Contains(d, "Note over C,S: 3000 more requests got no response\n") {
		t.Errorf("%d bytes, …%s", len(d), d[len(d)-100:])
	}
}

func TestHAROfStdio(t *testing.T) {
	f := readHAR(t, schema(t), exported(t, "har", testAbout("stdio"), lines(conversation)))
	if len(f.Log.Entries) != 5 || !strings.Contains(f.Log.Comment, "no HTTP was spoken") {
		t.Fatalf("%d entries, %q", len(f.Log.Entries), f.Log.Comment)
	}
	by := map[string]harEntry{}
	for _, e := range f.Log.Entries {
		by[e.Request.URL] = e
		if !strings.Contains(e.Comment, "no HTTP was spoken") {
			t.Errorf("%+v", e)
		}
	}
	base := "http://stdio.invalid/a%20label%2F%C3%A9/"
	call := by[base+"tools/call/echo%3B%20drop%20%231"]
	if call.Time != 30 || call.Response.Status != 200 || !strings.Contains(call.Response.Content.Text, `"isError":true`) ||
		!strings.Contains(call.Request.Post.Text, "traceparent") || call.Started != "2026-11-21T22:00:00.010000Z" || call.Mcptap.Last != 4 {
		t.Errorf("%+v", call)
	}
	if e := by[base+"from-server/sampling/createMessage"]; e.Response.Status != 200 {
		t.Errorf("%+v", e)
	}
	if e := by[base+"notifications/cancelled"]; e.Response.Status != 202 {
		t.Errorf("%+v", e)
	}
	if e := by[base+"ping"]; e.Response.Status != 0 || e.Response.Error == "" {
		t.Errorf("%+v", e)
	}
}

// An entry has its own message, not the batch. Otherwise the file grows with the square of a batch.
func TestHAROfABatch(t *testing.T) {
	f := readHAR(t, schema(t), exported(t, "har", testAbout("stdio"), lines(`
> [{"jsonrpc":"2.0","id":1,"method":"ping"}, {"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":2,"method":"tools/list"}]
< [{"jsonrpc":"2.0","id":2,"result":{"tools":[]}},{"jsonrpc":"2.0","id":1,"result":{}}]`)))
	got := ""
	for _, e := range f.Log.Entries {
		got += e.Request.Post.Text + " " + e.Response.Content.Text + "\n"
		if e.Request.BodySize != int64(len(e.Request.Post.Text)) {
			t.Errorf("%+v", e)
		}
	}
	const want = `{"jsonrpc":"2.0","method":"notifications/initialized"} ` + `
{"jsonrpc":"2.0","id":2,"method":"tools/list"} {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":1,"result":{}}
`
	if got != want {
		t.Errorf("got %s", got)
	}
}

// A full writer accepts no bytes, like a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestFullDisk checks that an error of the output ends the export, in every format.
func TestFullDisk(t *testing.T) {
	const many = 10_000
	call := []tap.Frame{
		{Lane: tap.ToServer, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`)},
		{Lane: tap.ToClient, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)},
	}
	for _, f := range Formats {
		read := 0
		err := Write(t.Context(), full{}, f.Name, testAbout("stdio"), func(yield func(tap.Frame, error) bool) {
			for ; read < many; read++ {
				next := call[read%2]
				next.Seq, next.Size = uint64(read+1), int64(len(next.Raw))
				if !yield(next, nil) {
					return
				}
			}
		})
		var u *Unfinished
		if !errors.Is(err, io.ErrShortWrite) || errors.As(err, &u) || err.Error() != io.ErrShortWrite.Error() {
			t.Errorf("%s: %v, want the error of the output, once", f.Name, err)
		}
		if read == many && f.Name != "mermaid" { // its output fits into the buffer
			t.Errorf("%s: all frames were read", f.Name)
		}
	}
}
