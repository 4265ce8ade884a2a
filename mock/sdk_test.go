//lint:file-ignore SA1019 the recorded revision has sampling and roots

package mock

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// sdkOptions returns the options of the demo's client, with the same answers to server requests.
func sdkOptions(progress func()) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{
				Role: "assistant", Model: "demo-model", StopReason: "endTurn",
				Content: &mcp.TextContent{Text: "Oslo wakes up to rain, so take an umbrella and a smile."},
			}, nil
		},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"city": "oslo", "tone": "cheerful"}}, nil
		},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { progress() },
	}
}

// The official SDK cannot distinguish the mock of a stdio recording from the server, on any HTTP
// transport, and even if its streams are cut.
func TestServerWithSDK(t *testing.T) {
	for _, c := range []struct {
		name, revision string
		cut            int
		transport      func(url string, s *Server) mcp.Transport
	}{
		{"streamable", "2025-11-25", 0, streamable},
		{"streamable, cut", "2025-11-25", 2, streamable},
		{"events", "2025-11-25", 0, func(url string, s *Server) mcp.Transport {
			return &mcp.SSEClientTransport{Endpoint: url + s.EventPath()}
		}},
		{"stateless", "2026-07-28", 0, streamable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			frames := recorded(t, "real-demo-"+c.revision)
			var noted notes
			s, url := served(t, loaded(t, frames, replay.Options{}), ServerOptions{Note: noted.note, Cut: c.cut})
			var mu sync.Mutex
			progress := 0
			client := mcp.NewClient(&mcp.Implementation{Name: "mcptap-demo-client", Version: "1.0.0"}, sdkOptions(func() {
				mu.Lock()
				defer mu.Unlock()
				progress++
			}))
			client.AddRoots(&mcp.Root{URI: "file:///home/demo/briefings", Name: "briefings"}, &mcp.Root{URI: "file:///home/demo/drafts", Name: "drafts"})
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			session, err := client.Connect(ctx, c.transport(url, s), &mcp.ClientSessionOptions{ProtocolVersion: c.revision})
			if err != nil {
				t.Fatal(err)
			}
			exercise(t, ctx, session, frames)
			if err := session.Close(); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if progress < 5 {
				t.Errorf("%d progress notifications", progress)
			}
			for _, n := range noted.all {
				if n.Kind.Fails() {
					t.Errorf("%v: %s", n.Kind, n.Text)
				}
			}
		})
	}
}

func streamable(url string, s *Server) mcp.Transport {
	return &mcp.StreamableClientTransport{Endpoint: url + s.Path()}
}

// exercise sends the requests of a recording, in the same order, and compares the results.
func exercise(t *testing.T, ctx context.Context, session *mcp.ClientSession, frames []tap.Frame) {
	t.Helper()
	answers := map[string]string{}
	for i := range frames {
		if m := jsonrpc.PeekFrame(&frames[i]); frames[i].Lane == tap.ToClient && m.Kind == jsonrpc.Response {
			answers[string(m.ID)] = string(m.Result)
		}
	}
	listed := map[string]bool{}
	for i := range frames {
		m := jsonrpc.PeekFrame(&frames[i])
		if frames[i].Lane != tap.ToServer || m.Kind != jsonrpc.Request {
			continue
		}
		if strings.HasSuffix(m.Method, "/list") && strings.Contains(string(m.Params), "protocolVersion") {
			if listed[m.Method] {
				continue // the SDK caches a result with a ttl and does not request it again
			}
			listed[m.Method] = true
		}
		want, answered := answers[string(m.ID)]
		subject := jsonrpc.Subject(m)
		if !answered || strings.Contains(string(m.Params), "inputResponses") || subject == "sweep" {
			continue // part of a chain, which the SDK sends itself, or cancelled
		}
		got, err := call(ctx, session, &m)
		switch {
		case got == nil && err == nil:
		case err != nil:
			t.Errorf("frame %d, %s %s: %v", frames[i].Seq, m.Method, subject, err)
		case subject == "briefing":
			if b, _ := json.Marshal(got); !strings.Contains(string(b), "take an umbrella and a smile") {
				t.Errorf("%s", b)
			}
		default:
			if g, w := canonical(t, got), canonical(t, decodeAs(t, got, want)); g != w {
				t.Errorf("frame %d, %s %s: got\n%s\nwant\n%s", frames[i].Seq, m.Method, subject, g, w)
			}
		}
	}
}

// call makes the SDK send a request as recorded. It returns nil for a request that the SDK sends
// itself.
func call(ctx context.Context, s *mcp.ClientSession, m *jsonrpc.Message) (any, error) {
	switch m.Method {
	case "tools/list":
		return send(m, func(p *mcp.ListToolsParams) (*mcp.ListToolsResult, error) { return s.ListTools(ctx, p) })
	case "resources/list":
		return send(m, func(p *mcp.ListResourcesParams) (*mcp.ListResourcesResult, error) { return s.ListResources(ctx, p) })
	case "prompts/get":
		return send(m, func(p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) { return s.GetPrompt(ctx, p) })
	case "resources/read":
		return send(m, func(p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) { return s.ReadResource(ctx, p) })
	case "completion/complete":
		return send(m, func(p *mcp.CompleteParams) (*mcp.CompleteResult, error) { return s.Complete(ctx, p) })
	case "tools/call":
		return send(m, func(p *mcp.CallToolParams) (*mcp.CallToolResult, error) { return s.CallTool(ctx, p) })
	}
	return nil, nil
}

func send[P, R any](m *jsonrpc.Message, do func(*P) (*R, error)) (any, error) {
	var p P
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return nil, err
	}
	r, err := do(&p)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// decodeAs reads a recorded result as the SDK does.
func decodeAs(t *testing.T, like any, result string) any {
	t.Helper()
	switch like.(type) {
	case *mcp.ListToolsResult:
		return decoded[mcp.ListToolsResult](t, result)
	case *mcp.ListResourcesResult:
		return decoded[mcp.ListResourcesResult](t, result)
	case *mcp.GetPromptResult:
		return decoded[mcp.GetPromptResult](t, result)
	case *mcp.ReadResourceResult:
		return decoded[mcp.ReadResourceResult](t, result)
	case *mcp.CompleteResult:
		return decoded[mcp.CompleteResult](t, result)
	case *mcp.CallToolResult:
		return decoded[mcp.CallToolResult](t, result)
	}
	t.Fatalf("no recorded %T", like)
	return nil
}

func decoded[R any](t *testing.T, result string) *R {
	t.Helper()
	var r R
	if err := json.Unmarshal([]byte(result), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

func canonical(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
