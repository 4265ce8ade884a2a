//go:build collector

package peertest

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

// A collector is the OTLP receiver of the OpenTelemetry collector, with the spans that it passed on.
type collector struct {
	url  string
	sink *consumertest.TracesSink
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	factory := otlpreceiver.NewFactory()
	cfg := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	addr := freeAddr(t)
	cfg.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = addr
	c := &collector{url: "http://" + addr, sink: &consumertest.TracesSink{}}
	r, err := factory.CreateTraces(t.Context(), receivertest.NewNopSettings(factory.Type()), cfg, c.sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// A collected is a span as decoded by the collector.
type collected struct {
	Trace, ID, Parent, State, Name, Kind string
	Start, End                           time.Time
	Attributes, Resource                 map[string]any
	Scope, Status, Message               string
	Events                               []collectedEvent
}

type collectedEvent struct {
	Name       string
	At         time.Time
	Attributes map[string]any
}

// spans returns the spans of some traces, by id.
func spans(t *testing.T, all []ptrace.Traces) map[string]collected {
	t.Helper()
	by := map[string]collected{}
	for _, traces := range all {
		for _, r := range traces.ResourceSpans().All() {
			for _, scope := range r.ScopeSpans().All() {
				for _, s := range scope.Spans().All() {
					x := collected{
						Trace: s.TraceID().String(), ID: s.SpanID().String(), Parent: s.ParentSpanID().String(), State: s.TraceState().AsRaw(),
						Name: s.Name(), Kind: s.Kind().String(), Start: s.StartTimestamp().AsTime(), End: s.EndTimestamp().AsTime(),
						Attributes: s.Attributes().AsRaw(), Resource: r.Resource().Attributes().AsRaw(),
						Scope: scope.Scope().Name(), Status: s.Status().Code().String(), Message: s.Status().Message(),
					}
					for _, e := range s.Events().All() {
						x.Events = append(x.Events, collectedEvent{e.Name(), e.Timestamp().AsTime(), e.Attributes().AsRaw()})
					}
					if old, twice := by[x.ID]; twice {
						t.Errorf("twice: %+v, %+v", old, x)
					}
					by[x.ID] = x
				}
			}
		}
	}
	return by
}

// await waits until the collector has received n spans.
func (c *collector) await(t *testing.T, n int) map[string]collected {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); c.sink.SpanCount() < n; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%d spans before the timeout, want %d", c.sink.SpanCount(), n)
			break
		}
	}
	return spans(t, c.sink.AllTraces())
}

// exported returns the spans in the OTLP/JSON exports of recordings: decoded as the collector's file
// receiver decodes a line, and posted to a collector.
func exported(t *testing.T, files ...string) map[string]collected {
	t.Helper()
	all := map[string]collected{}
	c := newCollector(t)
	for _, file := range files {
		var read []ptrace.Traces
		for line := range bytes.Lines(output(t, "export", file, "--format", "otlp")) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			traces, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(line)
			if err != nil {
				t.Fatalf("%v\n%s", err, line)
			}
			read = append(read, traces)
			res, err := http.Post(c.url+"/v1/traces", "application/json", bytes.NewReader(line))
			if err != nil {
				t.Fatal(err)
			}
			if res.Body.Close(); res.StatusCode != 200 {
				t.Errorf("the collector responds %s to %s", res.Status, line)
			}
		}
		maps.Copy(all, spans(t, read))
	}
	agree(t, "posted", c.await(t, len(all)), all)
	return all
}

func agree(t *testing.T, what string, got, want map[string]collected) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d spans, want %d", what, len(got), len(want))
	}
	for id, w := range want {
		if g := got[id]; !reflect.DeepEqual(g, w) {
			t.Errorf("%s\n%+v\nin the file\n%+v", what, g, w)
		}
	}
}

// plausible checks invariants of the spans of any recording: parents exist, in the same trace, and
// names follow the conventions.
func plausible(t *testing.T, all map[string]collected, remote string) {
	t.Helper()
	nested := 0
	for _, x := range all {
		if x.Kind != "Client" || x.Attributes["mcp.method.name"] == nil || x.Attributes["network.transport"] == nil || x.Scope != "mcptap" || x.End.Before(x.Start) {
			t.Errorf("%+v", x)
		}
		if tool, ok := x.Attributes["gen_ai.tool.name"].(string); ok != strings.HasPrefix(x.Name, "tools/call ") || ok && x.Name != "tools/call "+tool {
			t.Errorf("%+v", x)
		}
		if failed := x.Attributes["error.type"] != nil; failed != (x.Status == "Error") {
			t.Errorf("%+v", x)
		}
		if x.Parent == "" || x.Parent == remote {
			continue
		}
		nested++
		if up, ok := all[x.Parent]; !ok || up.Trace != x.Trace {
			t.Errorf("missing parent: %+v", x)
		}
	}
	if nested == 0 {
		t.Error("no call is nested in another")
	}
}

// TestCollectorOfTheDemo: the spans that a collector gets while the demo runs equal those in the
// exports of its recordings. Tests whose taps end before everything is sent do not run in parallel,
// because a tap does not wait for a collector forever.
func TestCollectorOfTheDemo(t *testing.T) {
	live, dir := newCollector(t), t.TempDir()
	cmd := exec.Command(tapBinary(t), "demo", "--dir", dir)
	cmd.Env = append(os.Environ(), "MCPTAP_OTLP="+live.url)
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("traces")) {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.mcptap"))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	want := exported(t, files...)
	agree(t, "live", live.await(t, len(want)), want)
	plausible(t, want, "")
}

// TestCollectorOfTraces: the spans of calls that the client traces are children of its spans.
func TestCollectorOfTraces(t *testing.T) {
	t.Parallel()
	live, dir := newCollector(t), t.TempDir()
	cmd := exec.Command(tapBinary(t), "stdio", "--dir", dir, "--otlp", live.url+"/v1/traces", "--", tapBinary(t), "demo", "serve")
	cmd.SysProcAttr = dieWithParent()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	answers := json.NewDecoder(out)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"v=1,w=2"}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"no such tool","_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203332-00"}}}`,
	} {
		if _, err := in.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
		for answered := false; !answered; {
			var m struct{ ID *int }
			if err := answers.Decode(&m); err != nil {
				t.Fatal(err)
			}
			answered = m.ID != nil
		}
	}
	got := live.await(t, 3) // while the tap is running
	in.Close()
	by := map[string]collected{}
	for _, x := range got {
		by[x.Name] = x
	}
	const trace = "0af7651916cd43dd8448eb211c80319c"
	if x := by["tools/list"]; x.Trace != trace || x.Parent != "b7ad6b7169203331" || x.State != "v=1,w=2" || x.Status != "Unset" {
		t.Errorf("%+v", x)
	}
	if x := by["tools/call no such tool"]; x.Trace != trace || x.Parent != "b7ad6b7169203332" || x.State != "" || x.Status != "Error" || x.Message == "" {
		t.Errorf("%+v", x)
	}
	if x := by["initialize"]; x.Trace == trace || x.Parent != "" || x.Resource["service.name"] != "c" || x.Resource["mcptap.server.name"] != "mcptap-demo-server" {
		t.Errorf("%+v", x)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.mcptap"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	agree(t, "live", got, exported(t, files...))
}

// TestCollectorOfHTTP: the same for `mcptap http`, between the clients and servers of two SDKs.
func TestCollectorOfHTTP(t *testing.T) {
	for _, s := range webServers {
		client := map[string]string{"gosdk": "go-auto", "gosdk-stateless": "go-auto", "gosdk-sse": "go-2025-06-18", "mcpgo": "mcpgo-auto"}[s.name]
		if client == "" {
			continue
		}
		t.Run(client+"/"+s.name, func(t *testing.T) {
			live, dir := newCollector(t), t.TempDir()
			tap := tapHTTP(t, dir, s.start(t, ""), "--otlp", live.url)
			playHTTP(t, webClient(client), s, tap.line)
			want := exported(t, endTap(t, tap, dir))
			got := live.await(t, len(want))
			agree(t, "live", got, want)
			for _, x := range want {
				if x.Attributes["network.protocol.name"] != "http" {
					t.Errorf("%+v", x)
				}
			}
		})
	}
}
