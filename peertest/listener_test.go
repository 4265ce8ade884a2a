package peertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// listener is an HTTP server of one of the Go libraries: KIND [ORIGIN]. It prints its URL. ORIGIN is
// the one that clients use for it.
//
//	gosdk             the Go SDK, with sessions
//	gosdk-stateless   the same without, which makes it speak 2026-07-28
//	gosdk-polling     the same with sessions, which closes event streams early
//	gosdk-sse         the same over HTTP+SSE
//	mcpgo             mcp-go, Streamable HTTP
//	mcpgo-sse         mcp-go over HTTP+SSE; its endpoint event has an absolute URL
func listener(args []string) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return complain(err)
	}
	origin, known, path := "http://"+l.Addr().String(), "", "/mcp"
	if known = origin; len(args) > 1 {
		known = args[1]
	}
	var h http.Handler
	server := newGoServer()
	get := func(*http.Request) *mcp.Server { return server }
	switch kind := args[0]; kind {
	case "gosdk", "gosdk-stateless":
		h = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: kind == "gosdk-stateless"})
	case "gosdk-polling":
		h = newPollHandler()
	case "gosdk-sse":
		h, path = mcp.NewSSEHandler(get, nil), "/sse"
	case "mcpgo":
		h = mcpgoserver.NewStreamableHTTPServer(newMCPGoServer(), mcpgoserver.WithStateful(true))
	case "mcpgo-sse":
		h, path = mcpgoserver.NewSSEServer(newMCPGoServer(), mcpgoserver.WithBaseURL(known)), "/sse"
	default:
		return complain(fmt.Errorf("unknown server %s", kind))
	}
	fmt.Println(origin + path)
	return complain(http.Serve(l, h))
}

// newMCPGoServer returns a server of mcp-go that is equivalent to that of newGoServer.
func newMCPGoServer() *mcpgoserver.MCPServer {
	s := mcpgoserver.NewMCPServer("peertest-mcp-go", "1.0.0", mcpgoserver.WithElicitation(), mcpgoserver.WithLogging(),
		mcpgoserver.WithToolCapabilities(true), mcpgoserver.WithResourceCapabilities(false, false), mcpgoserver.WithPromptCapabilities(false))
	s.EnableSampling()
	type handler = mcpgoserver.ToolHandlerFunc
	text := func(format string, args ...any) (*mcpgo.CallToolResult, error) {
		return mcpgo.NewToolResultText(fmt.Sprintf(format, args...)), nil
	}
	for name, do := range map[string]handler{
		"echo": func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			return text("%s", r.GetString("text", ""))
		},
		"fail": func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			return mcpgo.NewToolResultError("it failed: ✗"), nil
		},
		"steps": func(ctx context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			for i := 1; i <= 4; i++ {
				time.Sleep(50 * time.Millisecond)
				if r.Params.Meta != nil && r.Params.Meta.ProgressToken != nil {
					err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
						"progressToken": r.Params.Meta.ProgressToken, "progress": i, "total": 4, "message": "step " + strconv.Itoa(i),
					})
					if err != nil {
						return nil, err
					}
				}
			}
			return text("done")
		},
		"ask": func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			name, err := s.RequestElicitation(ctx, mcpgo.ElicitationRequest{Params: mcpgo.ElicitationParams{
				Message: "Who?", RequestedSchema: map[string]any{
					"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
				},
			}})
			if err != nil {
				return nil, err
			}
			content, err := json.Marshal(name.Content)
			if err != nil {
				return nil, err
			}
			draft, err := s.RequestSampling(ctx, mcpgo.CreateMessageRequest{CreateMessageParams: mcpgo.CreateMessageParams{
				MaxTokens: 9, Messages: []mcpgo.SamplingMessage{{Role: "user", Content: mcpgo.NewTextContent("draft")}},
			}})
			if err != nil {
				return nil, err
			}
			return text("%s %s, %s", name.Action, content, draft.Model)
		},
	} {
		s.AddTool(mcpgo.NewTool(name, mcpgo.WithString("text")), do)
	}
	s.AddResource(mcpgo.NewResource("test://größe", "größe", mcpgo.WithMIMEType("text/plain")),
		func(_ context.Context, r mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
			return []mcpgo.ResourceContents{mcpgo.BlobResourceContents{URI: r.Params.URI, MIMEType: "application/octet-stream", Blob: "AAH/"}}, nil
		})
	s.AddPrompt(mcpgo.NewPrompt("greet", mcpgo.WithArgument("who", mcpgo.RequiredArgument())),
		func(_ context.Context, r mcpgo.GetPromptRequest) (*mcpgo.GetPromptResult, error) {
			return mcpgo.NewGetPromptResult("", []mcpgo.PromptMessage{
				mcpgo.NewPromptMessage(mcpgo.RoleUser, mcpgo.NewTextContent("Grüß "+r.Params.Arguments["who"])),
			}), nil
		})
	return s
}
