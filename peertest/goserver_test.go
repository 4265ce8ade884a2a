package peertest

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type text struct {
	Text string `json:"text"`
}

func textResult(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// goServer is a server of the Go SDK. On stdio it speaks both the revisions up to 2025-11-25 and
// 2026-07-28, depending on how the client opens the session.
func goServer([]string) int {
	if err := newGoServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return complain(err)
	}
	return 0
}

type wait struct {
	Milliseconds int `json:"milliseconds"`
}

func newGoServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "peertest-go", Version: "1.0.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it again."},
		func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
			return textResult("%s", in.Text), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, fmt.Errorf("it failed: ✗")
		})
	mcp.AddTool(s, &mcp.Tool{Name: "wait", Description: "Answers after some milliseconds."},
		func(_ context.Context, _ *mcp.CallToolRequest, in wait) (*mcp.CallToolResult, any, error) {
			time.Sleep(time.Duration(in.Milliseconds) * time.Millisecond)
			return textResult("after %d ms", in.Milliseconds), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "steps"},
		func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			for i := 1; i <= 4; i++ {
				time.Sleep(50 * time.Millisecond)
				if token := req.Params.GetProgressToken(); token != nil {
					err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
						ProgressToken: token, Progress: float64(i), Total: 4, Message: "step " + strconv.Itoa(i),
					})
					if err != nil {
						return nil, nil, err
					}
				}
			}
			return textResult("done"), nil, nil
		})
	// In 2026-07-28 the three requests are in an input_required result and
	// the call is repeated; before that they are requests of the server.
	mcp.AddTool(s, &mcp.Tool{Name: "ask"},
		func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			r := req.Params.InputResponses
			if len(r) == 0 {
				return &mcp.CallToolResult{
					RequestState: "state/ü+=",
					InputRequests: mcp.InputRequestMap{
						"name": &mcp.ElicitParams{Mode: "form", Message: "Who?", RequestedSchema: map[string]any{
							"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
						}},
						"roots": &mcp.ListRootsParams{},
						"draft": &mcp.CreateMessageParams{MaxTokens: 9, Messages: []*mcp.SamplingMessage{
							{Role: "user", Content: &mcp.TextContent{Text: "draft"}},
						}},
					},
				}, nil, nil
			}
			name, roots, draft := r["name"].(*mcp.ElicitResult), r["roots"].(*mcp.ListRootsResult), "?"
			switch d := r["draft"].(type) {
			case *mcp.CreateMessageResult:
				draft = d.Model
			case *mcp.CreateMessageWithToolsResult:
				draft = d.Model
			}
			return textResult("%s %v, %d roots, %s, state %q", name.Action, name.Content["name"], len(roots.Roots),
				draft, req.Params.RequestState), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "grow"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			mcp.AddTool(s, &mcp.Tool{Name: "grown"},
				func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
					return textResult("grown"), nil, nil
				})
			return textResult("one more tool"), nil, nil
		})
	s.AddResource(&mcp.Resource{URI: "test://größe", Name: "größe", MIMEType: "text/plain"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
				{URI: req.Params.URI, MIMEType: "application/octet-stream", Blob: []byte{0, 1, 0xff}},
			}}, nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.TextContent{Text: "Grüß " + req.Params.Arguments["who"]}},
			}}, nil
		})
	return s
}
