package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// This file holds what only 2025-11-25 has, and what the client answers when
// it is asked something, which is the same in both revisions.

// initialize opens a session, sets the level of the log, pings, and tells of a
// second root.
func (d *driver) initialize(ctx context.Context) (string, error) {
	if err := d.connect(ctx); err != nil {
		return "", err
	}
	if err := d.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
		return "", err
	}
	if err := d.session.Ping(ctx, nil); err != nil {
		return "", err
	}
	d.addDrafts()
	seen := d.watch.since(0)
	if seen[0].method != "initialize" || len(of(seen, true, "notifications/roots/list_changed")) != 1 {
		return "", fmt.Errorf("the session opened with %v", seen)
	}
	return "initialized a session with " + ServerName, nil
}

// addDrafts gives the client a second root.
func (d *driver) addDrafts() {
	d.client.AddRoots(&mcp.Root{URI: "file:///home/demo/drafts", Name: "drafts"})
}

// subscribe asks for the updates of a resource. Stop takes that back.
func (d *driver) subscribe(ctx context.Context, uri string) (stop func(context.Context) error, err error) {
	if d.revision >= Stateless {
		return d.listen(ctx, uri)
	}
	stop = func(ctx context.Context) error {
		return d.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri})
	}
	return stop, d.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
}

// nestedBriefing is asked three times while its call is open.
func (d *driver) nestedBriefing(ctx context.Context) (string, error) {
	mark := d.watch.mark()
	res, err := d.session.CallTool(ctx, d.withToken(&mcp.CallToolParams{Name: toolBriefing}, "briefing"))
	if err != nil {
		return "", err
	}
	if err := isBriefing(res); err != nil {
		return "", err
	}
	seen := d.watch.since(mark)
	_, end, _ := answerTo(seen, of(seen, true, "tools/call")[0])
	for _, method := range []string{"roots/list", "elicitation/create", "sampling/createMessage"} {
		asked := of(seen[:end], false, method)
		if len(asked) != 1 {
			return "", fmt.Errorf("the server asked %d times for %s", len(asked), method)
		}
		if _, _, ok := answerTo(seen[:end], asked[0]); !ok {
			return "", fmt.Errorf("%v was not answered in time", asked[0])
		}
	}
	return "answered the server's requests for roots, the user and a model", nil
}

func isBriefing(res *mcp.CallToolResult) error {
	const want = "file:///home/demo/briefings/briefing.txt: Oslo wakes up to rain, so take an umbrella and a smile."
	if len(res.Content) != 1 || res.IsError || textOf(res.Content[0]) != want {
		return errors.New("the briefing is not the one that was written")
	}
	return nil
}

// answerUser stands for the user in front of a form.
func answerUser(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	if req.Params.Mode != "form" {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"city": "oslo", "tone": "cheerful"}}, nil
}

// answerModel stands for the client's model.
func answerModel(_ context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	if len(req.Params.Messages) != 1 || !strings.Contains(textOf(req.Params.Messages[0].Content), "cheerful briefing for Oslo") {
		return nil, errors.New("the demo's model has nothing to say about this")
	}
	return &mcp.CreateMessageResult{
		Role: "assistant", Model: "demo-model", StopReason: "endTurn",
		Content: &mcp.TextContent{Text: "Oslo wakes up to rain, so take an umbrella and a smile."},
	}, nil
}
