package peertest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// mcpGo plays with the client of mcp-go.
func (p *goPlayer) mcpGo(mode, url, kind string, steps []step) error {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var t transport.Interface
	var err error
	switch {
	case kind == "sse":
		t, err = transport.NewSSE(url)
	case mode == "auto": // it does not speak 2026-07-28 if it must open a GET stream
		t, err = transport.NewStreamableHTTP(url)
	default:
		t, err = transport.NewStreamableHTTP(url, transport.WithContinuousListening())
	}
	if err != nil {
		return err
	}
	opts := []client.ClientOption{
		client.WithSamplingHandler(mcpGoAnswers{p}), client.WithElicitationHandler(mcpGoAnswers{p}), client.WithRootsHandler(mcpGoAnswers{p}),
	}
	if mode != "auto" {
		opts = append(opts, client.WithProtocolVersion(mode))
	}
	c := client.NewClient(t, opts...)
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		p.note(map[string]any{"kind": "message", "method": n.Method, "params": n.Params})
	})
	if err := c.Start(ctx); err != nil {
		return err
	}
	var request mcp.InitializeRequest
	request.Params.ClientInfo = mcp.Implementation{Name: "peertest", Version: "1.0.0"}
	if mode != "auto" {
		request.Params.ProtocolVersion = mode
	}
	result, err := c.Initialize(ctx, request)
	if err != nil {
		return err
	}
	p.note(map[string]any{"kind": "connected", "result": result})
	p.act = mcpGoActs{c, p}.act
	err = p.play(ctx, steps)
	if closed := c.Close(); closed != nil {
		p.note(map[string]any{"kind": "closed", "error": closed.Error()})
	}
	return err
}

// mcpGoAnswers answers server requests, and records them.
type mcpGoAnswers struct{ p *goPlayer }

func (a mcpGoAnswers) note(method string, params any) {
	a.p.note(map[string]any{"kind": "message", "method": method, "params": params})
}

func (a mcpGoAnswers) CreateMessage(_ context.Context, r mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	a.note("sampling/createMessage", r.CreateMessageParams)
	return &mcp.CreateMessageResult{Model: "peertest", StopReason: "endTurn",
		SamplingMessage: mcp.SamplingMessage{Role: "assistant", Content: mcp.NewTextContent("réponse 🙂")}}, nil
}

func (a mcpGoAnswers) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	a.note("elicitation/create", r.Params)
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"name": "Ünïcode ✓"},
	}}, nil
}

func (a mcpGoAnswers) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	a.note("roots/list", nil)
	return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///srv/größe", Name: "größe"}, {URI: "file:///srv/two"}}}, nil
}

// mcpGoActs plays steps.
type mcpGoActs struct {
	c *client.Client
	p *goPlayer
}

func (a mcpGoActs) act(ctx context.Context, s step) (any, error) {
	c := a.c
	call := mcp.CallToolRequest{Params: mcp.CallToolParams{Name: s.Tool, Arguments: s.Args}}
	switch s.Do {
	case "ping":
		return nil, c.Ping(ctx)
	case "tools":
		return c.ListTools(ctx, mcp.ListToolsRequest{})
	case "call":
		return c.CallTool(ctx, call)
	case "progress":
		a.p.mu.Lock()
		a.p.token++
		call.Params.Meta = &mcp.Meta{ProgressToken: fmt.Sprint("token-", a.p.token)}
		a.p.mu.Unlock()
		return c.CallTool(ctx, call)
	case "cancel":
		ctx, cancel := context.WithTimeout(ctx, time.Duration(s.AfterMS)*time.Millisecond)
		defer cancel()
		result, err := c.CallTool(ctx, call)
		if err != nil && (ctx.Err() != nil || strings.Contains(err.Error(), "timeout waiting for")) {
			err = context.DeadlineExceeded // it has several errors for this
		}
		return result, err
	case "resources":
		return c.ListResources(ctx, mcp.ListResourcesRequest{})
	case "templates":
		return c.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
	case "read":
		return c.ReadResource(ctx, mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: s.URI}})
	case "prompts":
		return c.ListPrompts(ctx, mcp.ListPromptsRequest{})
	case "prompt":
		var args map[string]string
		b, err := json.Marshal(s.Args)
		if err == nil {
			err = json.Unmarshal(b, &args)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %v", errScenario, err)
		}
		return c.GetPrompt(ctx, mcp.GetPromptRequest{Params: mcp.GetPromptParams{Name: s.Prompt, Arguments: args}})
	case "complete":
		return c.Complete(ctx, mcp.CompleteRequest{Params: mcp.CompleteParams{
			Ref: s.Ref, Argument: mcp.CompleteArgument{Name: s.Argument.Name, Value: s.Argument.Value},
		}})
	case "subscribe":
		return nil, c.Subscribe(ctx, mcp.SubscribeRequest{Params: mcp.SubscribeParams{URI: s.URI}})
	case "unsubscribe":
		return nil, c.Unsubscribe(ctx, mcp.UnsubscribeRequest{Params: mcp.UnsubscribeParams{URI: s.URI}})
	case "listen":
		go func() { _ = c.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true}) }() // until the end
		return a.p.await(step{Method: "notifications/subscriptions/acknowledged", Count: 1})
	case "roots_changed":
		return nil, c.RootListChanges(ctx)
	case "level":
		return nil, c.SetLevel(ctx, mcp.SetLevelRequest{Params: mcp.SetLevelParams{Level: mcp.LoggingLevel(s.Level)}})
	case "await":
		return a.p.await(s)
	}
	return nil, fmt.Errorf("%w: unknown step %s", errScenario, s.Do)
}
