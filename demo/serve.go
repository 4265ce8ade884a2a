package demo

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve runs the built-in server on in and out until the client closes in,
// which is not an error, or ctx ends. What a server would print for its
// operator goes to log, one write a line. Serve closes in and out.
func Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser, log io.Writer) error {
	s := &server{
		weather: newWeather(), turns: newTurns(), stop: ctx.Done(),
		log: log, leaving: map[string]chan struct{}{},
	}
	s.sdk = mcp.NewServer(&mcp.Implementation{
		Name: ServerName, Title: "Weather stations", Version: version,
	}, s.options())
	s.sdk.AddSendingMiddleware(s.noteLeaving)
	s.addResources()
	s.addPrompts()
	s.addQuickTools()
	s.addLongTools()
	s.addBriefing()

	s.say("ready, %d stations", len(s.weather.all()))
	err := s.sdk.Run(ctx, &mcp.IOTransport{Reader: in, Writer: turnWriter{out, s.turns}})
	if err != nil {
		return fmt.Errorf("%s: %w", ServerName, err)
	}
	s.say("the client has left, bye")
	return nil
}

// A server is the weather behind the SDK's server.
type server struct {
	sdk     *mcp.Server
	weather *weather
	turns   *turns
	// stop ends what a handler waits for when Serve's context does. The SDK
	// keeps that context from the handlers and waits for them instead.
	stop <-chan struct{}

	mu      sync.Mutex
	log     io.Writer
	leaving map[string]chan struct{} // by method: closed when the next one has left
}

func (s *server) options() *mcp.ServerOptions {
	return &mcp.ServerOptions{
		Instructions: "Ask for a forecast by the key of a station. " +
			"The keys are in " + uriStations + ".",
		// Small enough that the tools need a second page.
		PageSize:          5,
		CompletionHandler: s.complete,
		// The SDK keeps the book of subscriptions. It takes a server for one
		// without them unless both handlers are set.
		SubscribeHandler: func(_ context.Context, req *mcp.SubscribeRequest) error {
			s.say("subscribed: %s", req.Params.URI)
			return nil
		},
		UnsubscribeHandler: func(_ context.Context, req *mcp.UnsubscribeRequest) error {
			s.say("unsubscribed: %s", req.Params.URI)
			return nil
		},
		RootsListChangedHandler: func(context.Context, *mcp.RootsListChangedRequest) {
			s.say("the client has other roots now")
		},
		SetCacheable: setCacheable,
	}
}

// setCacheable lets lists live for a minute and readings not at all.
func setCacheable(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
	if _, isRead := req.(*mcp.ReadResourceRequest); !isRead {
		c.TTLMs = 60_000
	}
}

// say prints one line for the operator.
func (s *server) say(format string, args ...any) {
	line := fmt.Sprintf(ServerName+": "+format+"\n", args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.log, line) // an operator who is gone must not end the service
}

// pause waits for d, or returns why not to: the client cancelled the request,
// or the server is to stop.
func (s *server) pause(ctx context.Context, d time.Duration) error { return s.wait(ctx, d, nil) }

// wait is pause that ends early, and well, when ready is closed.
func (s *server) wait(ctx context.Context, d time.Duration, ready <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.stop:
		return context.Canceled
	}
}

// addTool is [mcp.AddTool] for a handler that needs the arguments only.
func addTool[In, Out any](s *server, t *mcp.Tool, h func(context.Context, In) (Out, error)) {
	mcp.AddTool(s.sdk, t, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := h(ctx, in)
		return nil, out, err
	})
}

// readOnly are the hints of a tool that changes nothing and asks nobody.
func readOnly() *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no}
}

func textResult(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: fmt.Sprintf(format, args...)},
	}}
}

// progress reports how far the call req is, if its client wants to know.
func progress(ctx context.Context, req *mcp.CallToolRequest, done, total float64, message string) error {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: done, Total: total, Message: message,
	})
}
