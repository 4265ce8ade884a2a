package client

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/streamable"
)

// A memory is a recorder that keeps HTTP traffic in memory.
type memory struct {
	tap.Discard // HTTP traffic has no chunks

	mu     sync.Mutex
	began  time.Time
	frames []tap.Frame
	open   map[[2]uint64]*tap.Frame
}

func newMemory() *memory {
	return &memory{began: time.Now(), open: map[[2]uint64]*tap.Frame{}}
}

func (m *memory) add(f tap.Frame) {
	f.Seq, f.At, f.Size = uint64(len(m.frames)+1), time.Since(m.began), int64(len(f.Raw))
	m.frames = append(m.frames, f)
}

func (m *memory) Piece(exchange uint64, lane tap.Lane, form tap.Form, p []byte, end bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := [2]uint64{exchange, uint64(lane)}
	f := m.open[key]
	if f == nil {
		f = &tap.Frame{Exchange: exchange, Lane: lane, Form: form}
		m.open[key] = f
	}
	if f.Raw = append(f.Raw, p...); end {
		delete(m.open, key)
		m.add(*f)
	}
}

func (m *memory) Event(exchange uint64, e tap.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(tap.Frame{Exchange: exchange, Lane: tap.Lifecycle, Raw: e.Encode()})
}

// tapped plays a plan to an HTTP server through a tap and returns the recorded frames.
func tapped(t *testing.T, plan *Plan, opt Options, server string, conn func(url string, tap *Watcher) Conn) []tap.Frame {
	t.Helper()
	frames, err := throughTap(t, plan, opt, server, conn)
	if err != nil {
		t.Fatal(err)
	}
	return frames
}

// throughTap is like tapped but returns an error.
func throughTap(t *testing.T, plan *Plan, opt Options, server string, conn func(url string, tap *Watcher) Conn) ([]tap.Frame, error) {
	t.Helper()
	upstream, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	rec := newMemory()
	watcher := &Watcher{Recorder: rec}
	x, err := streamable.New(streamable.Config{Upstream: upstream, Recorder: watcher, KeepSecrets: true})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- x.Serve() }()
	err = Play(t.Context(), plan, conn(x.URL(), watcher), opt)
	if closed := x.Close(); closed != nil {
		t.Error(closed)
	}
	if s := <-served; s != nil {
		t.Error(s)
	}
	return rec.frames, err
}

type nameArgs struct {
	Name string `json:"name"`
}

// newServer returns a server of the official SDK. change is the way in which it differs from the
// recorded one.
func newServer(change string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "subject", Version: "1.0.0"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		PageSize:           3,
	})
	greet := "greet"
	if change == "renamed tool" {
		greet = "welcome"
	}
	mcp.AddTool(s, &mcp.Tool{Name: greet, Description: "Says hello."}, func(_ context.Context, _ *mcp.CallToolRequest, in nameArgs) (*mcp.CallToolResult, any, error) {
		text := "Hello, " + in.Name + "!"
		if change == "changed text" {
			text = "Goodbye, " + in.Name + "!"
		}
		content := []mcp.Content{&mcp.TextContent{Text: text}, &mcp.TextContent{Text: "How do you do?"}}
		if change == "reordered content" {
			content[0], content[1] = content[1], content[0]
		}
		return &mcp.CallToolResult{Content: content}, nil, nil
	})
	addMore(s, change)
	return s
}

// addMore adds the tools that do more than respond.
func addMore(s *mcp.Server, change string) {
	type none struct{}
	if change == "required argument" {
		type more struct {
			Name string `json:"name"`
			From string `json:"from"`
		}
		mcp.AddTool(s, &mcp.Tool{Name: "greet", Description: "Says hello."}, func(_ context.Context, _ *mcp.CallToolRequest, in more) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name + "!"}, &mcp.TextContent{Text: "How do you do?"}}}, nil, nil
		})
	}
	mcp.AddTool(s, &mcp.Tool{Name: "count", Description: "Counts with progress."}, func(ctx context.Context, req *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		for i := 1; i <= 3; i++ {
			if change == "dropped notification" && i == 2 {
				continue
			}
			if token := req.Params.GetProgressToken(); token != nil {
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(i), Total: 3})
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "counted"}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "poem", Description: "Has the client's model write one."}, func(ctx context.Context, req *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		topic := "the sea"
		if change == "other question" {
			topic = "the mountains"
		}
		return poem(ctx, req, topic)
	})
	mcp.AddTool(s, &mcp.Tool{Name: "grow", Description: "Adds a tool."}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		s.AddTool(&mcp.Tool{Name: "grown", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "grown"}}}, nil, nil
	})
	s.AddResource(&mcp.Resource{URI: "file:///a", Name: "a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "file:///a", Text: "A"}}}, nil
	})
}

// poem asks the client's model: with a server request, or, if there are none, with an
// input_required result.
func poem(ctx context.Context, req *mcp.CallToolRequest, topic string) (*mcp.CallToolResult, any, error) {
	if given, ok := req.Params.InputResponses["poem"].(*mcp.CreateMessageWithToolsResult); ok && len(given.Content) == 1 && req.Params.RequestState != "" {
		return &mcp.CallToolResult{Content: given.Content}, nil, nil
	}
	ask := &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: topic}}}}
	if req.ProtocolVersion() >= string(jsonrpc.Rev20260728) {
		// A different one each time, so that it must be carried over.
		state := fmt.Sprintf("state %d", time.Now().UnixNano())
		return &mcp.CallToolResult{Content: []mcp.Content{}, InputRequests: mcp.InputRequestMap{"poem": ask}, RequestState: state}, nil, nil
	}
	res, err := req.Session.CreateMessage(ctx, ask)
	if err != nil {
		return nil, nil, err
	}
	text, ok := res.Content.(*mcp.TextContent)
	if !ok {
		return nil, nil, fmt.Errorf("the model wrote %T", res.Content)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text.Text}}}, nil, nil
}

// served starts a handler.
func served(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func streamableServer(t *testing.T, s *mcp.Server, stateless bool) string {
	return served(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: stateless}))
}

func sseServer(t *testing.T, s *mcp.Server) string {
	return served(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil))
}

// conversation has the client's messages to the server of newServer, and those messages of the
// server for which the client waits.
var conversation = lines(`
>{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"tester","version":"1"}}}
{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"subject","version":"1.0.0"}}}
>{"jsonrpc":"2.0","method":"notifications/initialized"}
>{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":2,"result":{"tools":[],"nextCursor":"more"}}
>{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"more"}}
{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}
>{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}
{"jsonrpc":"2.0","id":4,"result":{"content":[]}}
>{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"count","arguments":{},"_meta":{"progressToken":"p"}}}
{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":3}}
{"jsonrpc":"2.0","id":5,"result":{"content":[]}}
>{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"poem","arguments":{}}}
{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"maxTokens":10,"messages":[{"role":"user","content":{"type":"text","text":"the sea"}}]}}
>{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"waves"}}}
{"jsonrpc":"2.0","id":6,"result":{"content":[]}}
>{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nothing","arguments":{}}}
{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"unknown"}}
>{"jsonrpc":"2.0","id":8,"method":"resources/read","params":{"uri":"file:///a"}}
>{"jsonrpc":"2.0","id":9,"method":"resources/read","params":{"uri":"file:///b"}}
{"jsonrpc":"2.0","id":9,"error":{"code":-32002,"message":"not found"}}
{"jsonrpc":"2.0","id":8,"result":{"contents":[]}}
>{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"grow","arguments":{}}}
{"jsonrpc":"2.0","id":10,"result":{"content":[]}}
{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
>{"jsonrpc":"2.0","id":11,"method":"ping"}
{"jsonrpc":"2.0","id":11,"result":{}}
`)

// bodies returns the messages of frames, for failure messages.
func bodies(frames []tap.Frame) string {
	var b bytes.Buffer
	for i := range frames {
		if frames[i].Lane == tap.Lifecycle {
			continue
		}
		fmt.Fprintf(&b, "%d %s %d %s\n", frames[i].Seq, frames[i].Lane, frames[i].Exchange, bytes.TrimSpace(frames[i].Raw))
	}
	return b.String()
}
