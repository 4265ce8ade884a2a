package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A spanSink is a collector that keeps the spans that it receives.
type spanSink struct {
	*httptest.Server
	t      *testing.T
	mu     sync.Mutex
	spans  map[string]sentSpan
	bodies strings.Builder
	more   chan struct{}
}

// A sentSpan is the part of a span that a test checks.
type sentSpan struct {
	line          string
	Name          string
	TraceID       string
	SpanID        string
	ParentSpanID  string
	Status        struct{ Message string }
	Authorization string
}

func newSpanSink(t *testing.T) *spanSink {
	s := &spanSink{t: t, spans: map[string]sentSpan{}, more: make(chan struct{}, 1)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bodies.Write(body)
		for _, x := range spansOf(t, body) {
			x.Authorization = r.Header.Get("Authorization")
			s.spans[x.SpanID] = x
		}
		select {
		case s.more <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// spansOf reads a line of OTLP/JSON.
func spansOf(t *testing.T, line []byte) (all []sentSpan) {
	var f struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []json.RawMessage }
		}
	}
	if err := json.Unmarshal(line, &f); err != nil {
		t.Errorf("%v: %s", err, line)
	}
	for _, r := range f.ResourceSpans {
		for _, raw := range r.ScopeSpans[0].Spans {
			x := sentSpan{line: string(raw)}
			if err := json.Unmarshal(raw, &x); err != nil {
				t.Error(err)
			}
			all = append(all, x)
		}
	}
	return all
}

// await waits for spans with these names.
func (s *spanSink) await(names ...string) map[string]sentSpan {
	s.t.Helper()
	late := time.After(3 * time.Minute)
	for {
		by := map[string]sentSpan{}
		s.mu.Lock()
		for _, x := range s.spans {
			by[x.Name] = x
		}
		s.mu.Unlock()
		missing := ""
		for _, name := range names {
			if _, ok := by[name]; !ok {
				missing = name
			}
		}
		if missing == "" {
			return by
		}
		select {
		case <-s.more:
		case <-late:
			s.t.Fatalf("timeout: no span %q; there are %v", missing, by)
		}
	}
}

// A traced is a server run by `mcptap stdio`, whose client is the test.
type traced struct {
	*exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	stderr *os.File // its stderr
	dir    string
}

func startTraced(t *testing.T, env []string, flags ...string) *traced {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rec")
	args := append(append([]string{"stdio", "--dir", dir}, flags...), "--", "fakeserver")
	p := &traced{Cmd: exec.Command("mcptap", args...), dir: dir}
	p.Env = append(append(os.Environ(), "FAKE_QUIET=1"), env...)
	var err error
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = json.NewDecoder(out)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stderr, p.Stderr = r, w
	err = p.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait(); r.Close() })
	return p
}

// call sends a request, and waits for the response, which echoes the params.
func (p *traced) call(t *testing.T, method, params string) {
	t.Helper()
	if _, err := io.WriteString(p.in, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+"}\n"); err != nil {
		t.Fatal(err)
	}
	if method == "never" {
		return
	}
	var answer json.RawMessage
	if err := p.out.Decode(&answer); err != nil {
		t.Fatal(err)
	}
}

// end closes the server's input, and returns the exit code and stderr.
func (p *traced) end(t *testing.T) (int, string) {
	t.Helper()
	p.in.Close()
	output, err := io.ReadAll(p.stderr)
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	return p.ProcessState.ExitCode(), string(output)
}

const otlpMeta = `{"name":"echo","_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}`

// Calls arrive while the tap runs, and the file of the recording has the same spans.
func TestOTLPWhileTheTapRuns(t *testing.T) {
	t.Parallel()
	sink := newSpanSink(t)
	p := startTraced(t, []string{"FAKE_EXIT=3", "MCPTAP_OTLP=http://127.0.0.1:1", "MCPTAP_OTLP_HEADER=Authorization: wrong"},
		"--otlp", sink.URL, "--otlp-header", "Authorization: Bearer sesame")
	p.call(t, "tools/call", otlpMeta)
	call := sink.await("tools/call echo")["tools/call echo"]
	if call.TraceID != "0af7651916cd43dd8448eb211c80319c" || call.ParentSpanID != "b7ad6b7169203331" || call.Authorization != "Bearer sesame" {
		t.Errorf("%+v", call)
	}
	p.call(t, "ping", "{}")
	sink.await("ping")
	p.call(t, "never", "{}")
	if code, output := p.end(t); code != 3 || output != "" {
		t.Errorf("exit code %d, stderr %q", code, output)
	}
	if x := sink.await("never")["never"]; !strings.HasPrefix(x.Status.Message, "no response was recorded") {
		t.Errorf("%+v", x)
	}
	out, err := exec.Command("mcptap", "export", "--dir", p.dir, "@last", "--format", "otlp").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range spansOf(t, bytes.TrimSpace(out)) {
		if sink.spans[x.SpanID].line != x.line {
			t.Errorf("sent %s\nin the file %s", sink.spans[x.SpanID].line, x.line)
		}
		delete(sink.spans, x.SpanID)
	}
	if len(sink.spans) > 0 {
		t.Errorf("not in the file: %v", sink.spans)
	}
}

// What a killed tap has recorded is still sent.
func TestOTLPOfAKilledTap(t *testing.T) {
	needSignals(t)
	t.Parallel()
	sink := newSpanSink(t)
	p := startTraced(t, []string{"MCPTAP_OTLP=" + sink.URL})
	p.call(t, "ping", "{}")
	sink.await("ping")
	p.call(t, "never", "{}")
	p.call(t, "tools/list", "{}")
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	sink.await("never", "tools/list")
}

// With --redact only what is recorded is sent, and with --off nothing.
func TestOTLPOfWhatIsRecorded(t *testing.T) {
	t.Parallel()
	sink := newSpanSink(t)
	p := startTraced(t, nil, "--otlp", sink.URL, "--off")
	p.call(t, "tools/call", `{"name":"off"}`)
	p.end(t)
	const secret = "sk-ant-api03-Qm3zT7vK9xW2pL5nR8sD1fG4hJ6kB0cV-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUv-Zz9AAAAA"
	p = startTraced(t, nil, "--otlp", sink.URL, "--redact")
	p.call(t, "resources/read", `{"uri":"notes://x?api_key=`+secret+`","isError":true,"content":[{"type":"text","text":"bad key `+secret+`"}]}`)
	p.call(t, "ping", "{}")
	sink.await("resources/read", "ping")
	p.end(t)
	sink.mu.Lock()
	defer sink.mu.Unlock()
	if all := sink.bodies.String(); strings.Contains(all, secret) || strings.Contains(all, `"off"`) || !strings.Contains(all, "mcp.resource.uri") {
		t.Errorf("%s", all)
	}
}

// A collector that never responds delays nothing: the server's exit code is returned while the request
// is still waiting.
func TestOTLPToACollectorThatHangs(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 100), make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	}))
	defer hangs.Close()
	defer close(release)
	p := startTraced(t, []string{"FAKE_EXIT=7"}, "--otlp", hangs.URL)
	p.call(t, "ping", "{}")
	<-asked
	for range 100 {
		p.call(t, "ping", "{}")
	}
	if code, output := p.end(t); code != 7 || output != "" && !strings.Contains(output, "cannot be reached") {
		t.Errorf("exit code %d, stderr %q", code, output)
	}
}

// An unreachable collector is reported once, without the secrets of the URL.
func TestOTLPUnreachable(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	p := startTraced(t, []string{"FAKE_EXIT=7"}, "--otlp", strings.Replace(gone.URL, "http://", "http://me:sesame@", 1)+"/x?key=sesame")
	p.call(t, "ping", "{}")
	var first [1]byte
	if _, err := io.ReadFull(p.stderr, first[:]); err != nil {
		t.Fatal(err)
	}
	p.call(t, "ping", "{}")
	code, output := p.end(t)
	output = string(first[:]) + output
	if want := "mcptap: " + gone.URL + "/x/v1/traces cannot be reached: dial tcp "; code != 7 || !strings.HasPrefix(output, want) || strings.Count(output, "\n") != 1 {
		t.Errorf("exit code %d, stderr %q, want %q", code, output, want)
	}
}

func TestOTLPOfHTTP(t *testing.T) {
	needSignals(t)
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}))
	defer srv.Close()
	sink := newSpanSink(t)
	r := startHTTP(t, []string{"MCPTAP_OTLP=" + sink.URL + "/v1/traces", "MCPTAP_OTLP_HEADER=X: 1\nAuthorization: Bearer sesame"}, srv.URL+"/mcp")
	say(t, http.DefaultClient, r.line)
	x := sink.await("tools/list")["tools/list"]
	if x.Authorization != "Bearer sesame" || !strings.Contains(x.line, `{"key":"network.protocol.name","value":{"stringValue":"http"}}`) {
		t.Errorf("%+v", x)
	}
	if code := r.stop(os.Interrupt); code != exitInterrupted || r.complaints() != "" {
		t.Errorf("exit code %d, stderr %q", code, r.stderr)
	}
}
