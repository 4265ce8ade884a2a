package otlp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/export"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
)

// A collector keeps the requests that it receives.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
	// respond handles the n-th request; nil accepts all.
	respond func(n int, w http.ResponseWriter)
}

func newCollector(t *testing.T, respond func(n int, w http.ResponseWriter)) *collector {
	c := &collector{respond: respond}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		n := len(c.bodies)
		c.requests, c.bodies = append(c.requests, r), append(c.bodies, string(body))
		c.mu.Unlock()
		if c.respond != nil {
			c.respond(n, w)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{}`))
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.bodies)
}

// warnings collects the warnings of a Sender.
type warnings struct {
	mu    sync.Mutex
	lines []string
}

func (s *warnings) warn(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
}

func (s *warnings) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

// sender returns a Sender with a pause between tries.
func sender(t *testing.T, url string, heard *warnings, pause func(context.Context, time.Duration) error) *Sender {
	t.Helper()
	to, err := TracesURL(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{URL: to, Program: "mcptap", Version: "1.0.0", Warn: heard.warn, Header: http.Header{"X-Key": {"s3cret"}}}
	if pause == nil {
		return NewSender(cfg)
	}
	return newSender(cfg, pause)
}

// lines returns frames of a stdio recording: > is to the server, < to the client.
func lines(text string) (frames []tap.Frame) {
	for i, l := range strings.Split(strings.TrimSpace(text), "\n") {
		f := tap.Frame{Seq: uint64(i + 1), At: time.Duration(i+1) * time.Millisecond, Lane: tap.ToServer, Raw: []byte(l[2:] + "\n")}
		if l[0] == '<' {
			f.Lane = tap.ToClient
		}
		f.Size = int64(len(f.Raw))
		frames = append(frames, f)
	}
	return frames
}

func about() export.About {
	return export.About{
		Header:  tap.Header{ID: "0a1b2c3d", Label: "a label", Start: time.Date(2026, 11, 21, 22, 0, 0, 0, time.UTC)},
		Facts:   session.Facts{Client: session.Party{Name: "c", Version: "2"}, Server: session.Party{Name: "s", Version: "1"}},
		Program: "mcptap", Version: "1.0.0",
	}
}

// pings returns the spans of n calls and of an open one.
func pings(n int) (spans []export.Span) {
	x := export.NewSpans(about())
	text := strings.Repeat("> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", n)
	for _, f := range lines(text + `> {"jsonrpc":"2.0","id":2,"method":"tools/list"}`) {
		spans = append(spans, x.Add(&f)...)
	}
	return append(spans, x.Open()...)
}

// A file is the content of OTLP/JSON that a test compares.
type file struct {
	spans     map[string]string // by id
	resources map[string]bool   // their attributes, sorted
}

func read(t *testing.T, bodies []string) file {
	t.Helper()
	f := file{map[string]string{}, map[string]bool{}}
	for _, body := range bodies {
		var line struct {
			ResourceSpans []struct {
				Resource   struct{ Attributes []json.RawMessage }
				ScopeSpans []struct {
					Scope json.RawMessage
					Spans []json.RawMessage
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &line); err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
		for _, r := range line.ResourceSpans {
			var all []string
			for _, a := range r.Resource.Attributes {
				all = append(all, string(a))
			}
			slices.Sort(all)
			f.resources[strings.Join(all, "\n")+string(r.ScopeSpans[0].Scope)] = true
			for _, s := range r.ScopeSpans[0].Spans {
				var id struct{ SpanID string }
				if err := json.Unmarshal(s, &id); err != nil || f.spans[id.SpanID] != "" {
					t.Errorf("%v or twice: %s", err, s)
				}
				f.spans[id.SpanID] = string(s)
			}
		}
	}
	return f
}

// same compares the spans that were sent with the file of the same recording.
func same(t *testing.T, name string, frames []tap.Frame) {
	t.Helper()
	var text strings.Builder
	c, heard := newCollector(t, nil), &warnings{}
	live, x := sender(t, c.URL, heard, nil), export.NewSpans(about())
	a := about()
	for i := range frames {
		live.Send(export.Resource(&a.Header, &a.Facts), x.Add(&frames[i]))
	}
	live.Send(export.Resource(&a.Header, &a.Facts), x.Open())
	live.Close()
	err := export.Write(t.Context(), &text, "otlp", about(), func(yield func(tap.Frame, error) bool) {
		for _, f := range frames {
			yield(f, nil)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want, got := read(t, slices.Collect(strings.Lines(text.String()))), read(t, c.all())
	for id, s := range want.spans {
		if got.spans[id] != s {
			t.Errorf("%s: sent\n%s\nin the file\n%s", name, got.spans[id], s)
		}
	}
	if len(got.spans) != len(want.spans) {
		t.Errorf("%s: %d spans were sent, %d are in the file", name, len(got.spans), len(want.spans))
	}
	for r := range got.resources {
		if !want.resources[r] {
			t.Errorf("%s: %s\nin the file: %v", name, r, want.resources)
		}
	}
	if heard := heard.all(); len(heard) > 0 {
		t.Errorf("%s: %q", name, heard)
	}
}

// TestSentAsInTheFile checks that spans are sent as in a file, for the recorded sessions and for
// hostile frames, whatever the settings of the SDK.
func TestSentAsInTheFile(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_SPAN_EVENT_COUNT_LIMIT": "1", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": "3", "OTEL_TRACES_SAMPLER": "always_off",
		"OTEL_BSP_MAX_QUEUE_SIZE": "1", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1", "OTEL_SERVICE_NAME": "another",
	} {
		t.Setenv(name, value)
	}
	names, err := filepath.Glob("../../testdata/sessions/*.txtar")
	if err != nil || len(names) < 20 {
		t.Fatal(len(names), err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, frames, err := text.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		same(t, filepath.Base(name), frames)
	}
	const context = `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`
	hostile := `
> {"jsonrpc":"2.0","id":"\u0000\u001b[31m","method":"tools/call","params":{"name":"` + "\x1b]0;x\x07\xff\xfe" + `","_meta":{"traceparent":"` + context + `","tracestate":"v=1,w=2"}}}
< {"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"messages":[]}}
> {"jsonrpc":"2.0","id":6,"method":"ping","params":{"_meta":{"traceparent":"` + context + `","tracestate":"no = state,,,\u0007"}}}
> {"jsonrpc":"2.0","id":7,"method":"","params":{"_meta":{"traceparent":"cc` + context[2:] + `-more"}}}
> [{"jsonrpc":"2.0","id":8,"method":"ping"},{"jsonrpc":"2.0","id":9,"method":"ping"}]
> {"jsonrpc":"2.0","id":99999999999999999999,"method":"` + strings.Repeat("m", 100_000) + `"}
> {"jsonrpc":"2.0","id":10,"method":"x","params":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}
> nonsense
< {"jsonrpc":"2.0","id":"\u0000\u001b[31m","error":{"code":1e400,"message":"` + "\x1b[2J" + `"}}`
	same(t, "hostile", lines(hostile))
	same(t, "many events", lines(`> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","_meta":{"progressToken":1}}}
`+strings.Repeat(`< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`+"\n", 400)+`< {"jsonrpc":"2.0","id":1,"result":{}}`))
}

// TestLaterResource checks spans whose client and server become known later.
func TestLaterResource(t *testing.T) {
	c, heard := newCollector(t, nil), &warnings{}
	s, a, spans := sender(t, c.URL, heard, nil), about(), pings(3)
	s.Send(export.Resource(&a.Header, &session.Facts{}), spans[:1])
	s.Send(export.Resource(&a.Header, &a.Facts), spans[1:])
	s.Close()
	if f := read(t, c.all()); len(f.resources) != 2 || len(f.spans) != 4 || len(heard.all()) > 0 {
		t.Errorf("%v %q", f, heard.all())
	}
	r := c.requests[0]
	if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Key") != "s3cret" || r.Method != "POST" {
		t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
}

func TestResourceAttributes(t *testing.T) {
	c, heard := newCollector(t, nil), &warnings{}
	to, _ := TracesURL(c.URL)
	s := NewSender(Config{URL: to, Warn: heard.warn, Resource: Attributes(" team = a%2Cb%20c ,service.name=other,odd=%zz,,=1,none")})
	s.Send(export.Resource(&tap.Header{}, &session.Facts{}), pings(1))
	s.Close()
	const want = `{"key":"odd","value":{"stringValue":"%zz"}}
{"key":"service.name","value":{"stringValue":"mcp-client"}}
{"key":"team","value":{"stringValue":"a,b c"}}`
	for r := range read(t, c.all()).resources {
		if got, _, _ := strings.Cut(r, `{"name":`); got != want {
			t.Errorf("%s", got)
		}
	}
}
