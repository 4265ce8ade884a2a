package peertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (p *goPlayer) play(ctx context.Context, steps []step) error {
	for _, s := range steps {
		if len(s.Only) > 0 && !contains(s.Only, p.name) || contains(s.Not, p.name) {
			continue
		}
		batch := []step{s}
		if s.Do == "parallel" {
			batch = slices.DeleteFunc(slices.Clone(s.Steps), func(s step) bool { return contains(s.Not, p.name) })
		}
		lines := make([]map[string]any, len(batch))
		errs := make([]error, len(batch))
		var all sync.WaitGroup
		for i, s := range batch {
			all.Go(func() { lines[i], errs[i] = p.one(ctx, s) })
		}
		all.Wait()
		for i := range lines {
			if errs[i] != nil {
				return errs[i]
			}
			p.note(lines[i])
		}
	}
	return nil
}

func (p *goPlayer) one(ctx context.Context, s step) (map[string]any, error) {
	name := s.Name
	if name == "" {
		name = s.Do
	}
	line := map[string]any{"kind": "step", "step": name, "fails": s.Fails}
	result, err := p.act(ctx, s)
	var wire *jsonrpc.Error
	switch {
	case errors.Is(err, errScenario):
		return nil, err
	case errors.As(err, &wire):
		line["error"] = map[string]any{"code": wire.Code, "message": wire.Message, "data": wire.Data}
	case err != nil:
		line["error"] = map[string]any{"message": err.Error()}
	default:
		line["result"] = result
	}
	return line, nil
}

func (p *goPlayer) perform(ctx context.Context, s step) (any, error) {
	c := p.session
	call := &mcp.CallToolParams{Name: s.Tool, Arguments: s.Args}
	switch s.Do {
	case "ping":
		return nil, c.Ping(ctx, nil)
	case "tools":
		return c.ListTools(ctx, nil)
	case "call":
		return c.CallTool(ctx, call)
	case "progress":
		p.mu.Lock()
		p.token++
		call.SetProgressToken(fmt.Sprint("token-", p.token))
		p.mu.Unlock()
		return c.CallTool(ctx, call)
	case "cancel":
		ctx, cancel := context.WithTimeout(ctx, time.Duration(s.AfterMS)*time.Millisecond)
		defer cancel()
		return c.CallTool(ctx, call)
	case "resources":
		return c.ListResources(ctx, nil)
	case "templates":
		return c.ListResourceTemplates(ctx, nil)
	case "read":
		return c.ReadResource(ctx, &mcp.ReadResourceParams{URI: s.URI})
	case "subscribe":
		return nil, c.Subscribe(ctx, &mcp.SubscribeParams{URI: s.URI})
	case "unsubscribe":
		return nil, c.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: s.URI})
	case "prompts":
		return c.ListPrompts(ctx, nil)
	case "prompt":
		args := map[string]string{}
		if m, ok := s.Args.(map[string]any); ok {
			for k, v := range m {
				args[k] = v.(string)
			}
		}
		return c.GetPrompt(ctx, &mcp.GetPromptParams{Name: s.Prompt, Arguments: args})
	case "complete":
		return c.Complete(ctx, &mcp.CompleteParams{Ref: s.Ref, Argument: s.Argument, Context: s.Context})
	case "level":
		return nil, c.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: s.Level})
	case "roots_changed":
		p.client.AddRoots(&mcp.Root{URI: "file:///srv/three"})
		return nil, nil
	case "await":
		return p.await(s)
	}
	return nil, fmt.Errorf("%w: unknown step %s", errScenario, s.Do)
}

func (p *goPlayer) await(s step) (any, error) {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		seen := p.seen(s.Method)
		if seen >= s.Count {
			return nil, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%w: waited for %d %s, saw %d", errScenario, s.Count, s.Method, seen)
		}
	}
}

func (p *goPlayer) seen(method string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.observed {
		if line["kind"] == "message" && line["method"] == method {
			n++
		}
	}
	return n
}
