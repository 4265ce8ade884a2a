package peertest

import (
	"context"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// newPollHandler returns the Go SDK's server with two additional tools that close the event stream of
// their call, so that the client resumes it (2025-11-25
// basic/transports#sending-messages-to-the-server). poll does so after each progress, or else once,
// because clients give up on a stream that is closed twice without an event. question sends a server
// request on the resumed stream. clients/poller.mjs is the equivalent with the TypeScript SDK.
func newPollHandler() http.Handler {
	server := newGoServer()
	leave := func(req *mcp.CallToolRequest) {
		if req.Extra != nil && req.Extra.CloseSSEStream != nil {
			req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 20 * time.Millisecond})
		}
		time.Sleep(100 * time.Millisecond) // enough for clients to come back
	}
	mcp.AddTool(server, &mcp.Tool{Name: "poll"},
		func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			token := req.Params.GetProgressToken()
			if token == nil {
				leave(req)
			}
			for i := 1; i <= 3 && token != nil; i++ {
				if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(i)}); err != nil {
					return nil, nil, err
				}
				if i < 3 {
					leave(req)
				}
			}
			return textResult("polled"), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "question"},
		func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			leave(req)
			r, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Mode: "form", Message: "Still there?", RequestedSchema: map[string]any{
				"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
			}})
			if err != nil {
				return nil, nil, err
			}
			return textResult("%s %v", r.Action, r.Content["name"]), nil, nil
		})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
}
