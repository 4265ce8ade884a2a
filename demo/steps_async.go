package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// This file holds the steps in which more crosses than a request and its
// answer.

// withToken asks for progress under a fixed token. In 2026-07-28 it asks for
// log messages too, which is said per request there.
func (d *driver) withToken(p *mcp.CallToolParams, token string) *mcp.CallToolParams {
	p.Meta = mcp.Meta{"progressToken": token}
	if d.revision >= Stateless {
		p.Meta[mcp.MetaKeyLogLevel] = "info"
	}
	return p
}

func (d *driver) survey(ctx context.Context) (string, error) {
	mark := d.watch.mark()
	res, err := d.session.CallTool(ctx, d.withToken(&mcp.CallToolParams{Name: toolSurvey}, "survey"))
	if err != nil {
		return "", err
	}
	if res.IsError {
		return "", errors.New(textOf(res.Content[0]))
	}
	seen := d.watch.since(mark)
	_, end, _ := answerTo(seen, of(seen, true, "tools/call")[0])
	before := seen[:end]
	reports := of(before, false, "notifications/progress")
	if len(reports) != 4 {
		return "", fmt.Errorf("%d progress notifications came before the answer", len(reports))
	}
	for i, p := range reports {
		if string(p.field("progressToken")) != `"survey"` || string(p.field("progress")) != fmt.Sprint(i+1) {
			return "", fmt.Errorf("progress %d is %s", i+1, p.body)
		}
	}
	logs := of(before, false, "notifications/message")
	if len(logs) != 2 || string(logs[0].field("level")) != `"info"` || string(logs[1].field("level")) != `"warning"` {
		return "", fmt.Errorf("the log is %v", logs)
	}
	return "a survey with 4 progress notifications and 2 log messages", nil
}

// An outcome is what became of a call.
type outcome struct {
	res *mcp.CallToolResult
	err error
}

// begin calls a tool and returns once the request is on its way, so that the
// calls of one step go out in a fixed order.
func (d *driver) begin(ctx context.Context, p *mcp.CallToolParams) (<-chan outcome, error) {
	mark := d.watch.mark()
	end := make(chan outcome, 1)
	go func() {
		res, err := d.session.CallTool(ctx, p)
		end <- outcome{res, err}
	}()
	return end, d.watch.until(ctx, p.Name+" on the wire", func(seen []crossing) bool {
		return len(of(seen[mark:], true, "tools/call")) > 0
	})
}

// overtaking has three calls open at once. The slowest is sent first.
func (d *driver) overtaking(ctx context.Context) (string, error) {
	mark := d.watch.mark()
	slow, err := d.begin(ctx, &mcp.CallToolParams{Name: toolCalibrate, Arguments: cityArgs{"lima"}})
	if err != nil {
		return "", err
	}
	middle, err := d.begin(ctx, forecastFor("oslo", 3))
	if err != nil {
		return "", err
	}
	fast, err := d.begin(ctx, forecastFor("lima", 1))
	if err != nil {
		return "", err
	}
	a, b, c := <-slow, <-middle, <-fast
	if err := errors.Join(a.err, b.err, c.err); err != nil {
		return "", err
	}
	// Each must be the answer to its own question.
	if !strings.Contains(textOf(a.res.Content[0]), "Lima is off by") {
		return "", fmt.Errorf("%s returned %q", toolCalibrate, textOf(a.res.Content[0]))
	}
	if err := errors.Join(isForecast(b.res, "Oslo", 3), isForecast(c.res, "Lima", 1)); err != nil {
		return "", err
	}
	seen := d.watch.since(mark)
	calls := of(seen, true, "tools/call")
	_, first, _ := answerTo(seen, calls[2])
	_, second, _ := answerTo(seen, calls[1])
	_, third, _ := answerTo(seen, calls[0])
	if first > second || second > third {
		return "", errors.New("the answers came in another order than they were given")
	}
	return "3 calls at once, answered in reverse order", nil
}

func (d *driver) cancellation(ctx context.Context) (string, error) {
	mark := d.watch.mark()
	callCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	end, err := d.begin(callCtx, d.withToken(&mcp.CallToolParams{Name: toolSweep}, "sweep"))
	if err != nil {
		return "", err
	}
	if err := d.watch.until(ctx, "the first progress of "+toolSweep, func(seen []crossing) bool {
		return len(of(seen[mark:], false, "notifications/progress")) > 0
	}); err != nil {
		return "", err
	}
	cancel()
	if o := <-end; !errors.Is(o.err, context.Canceled) {
		return "", fmt.Errorf("the cancelled call returned %w", o.err)
	}
	call := of(d.watch.since(mark), true, "tools/call")[0]
	if err := d.ended(ctx, mark, call); err != nil {
		return "", err
	}
	return "cancelled a call", nil
}

// ended waits until a request has been cancelled and the server has given it
// up, which the SDK's servers show by an answer after all.
func (d *driver) ended(ctx context.Context, mark int, req crossing) error {
	return d.watch.until(ctx, "the end of "+req.String(), func(seen []crossing) bool {
		seen = seen[mark:]
		_, _, answered := answerTo(seen, req)
		for _, c := range of(seen, true, "notifications/cancelled") {
			if string(c.field("requestId")) == req.id {
				return answered
			}
		}
		return false
	})
}

// listChanged opens and closes a station. Both change the list of the tools
// and that of the resources.
func (d *driver) listChanged(ctx context.Context) (string, error) {
	for round, p := range []*mcp.CallToolParams{
		{Name: toolOpen, Arguments: stationArgs{"nairobi", "Nairobi"}},
		{Name: toolClose},
	} {
		mark := d.watch.mark()
		res, err := d.session.CallTool(ctx, p)
		if err != nil {
			return "", err
		}
		if res.IsError {
			return "", errors.New(textOf(res.Content[0]))
		}
		for _, method := range []string{toolsChanged, resourcesChanged} {
			if err := d.watch.untilHandled(ctx, method, round+1); err != nil {
				return "", err
			}
			if got := len(of(d.watch.since(mark), false, method)); got != 1 {
				return "", fmt.Errorf("%s: got %d %s", p.Name, got, method)
			}
		}
		// Both lists are fetched again, from the server: the SDK has forgotten
		// what it cached.
		mark = d.watch.mark()
		tools, resources := 0, 0
		for _, err := range d.session.Tools(ctx, nil) {
			if err != nil {
				return "", err
			}
			tools++
		}
		for _, err := range d.session.Resources(ctx, nil) {
			if err != nil {
				return "", err
			}
			resources++
		}
		if tools != 9-round || resources != 6-round || len(of(d.watch.since(mark), true, "tools/list")) != 2 {
			return "", fmt.Errorf("after %s there are %d tools and %d resources", p.Name, tools, resources)
		}
	}
	return "was told 4 times that a list had changed, and listed again", nil
}

// subscription hears of one change and not of the next, after it has
// unsubscribed.
func (d *driver) subscription(ctx context.Context) (string, error) {
	uri := uriStation("oslo")
	stop, err := d.subscribe(ctx, uri)
	if err != nil {
		return "", err
	}
	heard := d.watch.howOften(resourceUpdated)
	mark := d.watch.mark()
	if _, err := d.session.CallTool(ctx, &mcp.CallToolParams{Name: toolRecord, Arguments: readingArgs{"oslo", 15.5}}); err != nil {
		return "", err
	}
	if err := d.watch.untilHandled(ctx, resourceUpdated, heard+1); err != nil {
		return "", err
	}
	if got := of(d.watch.since(mark), false, resourceUpdated); len(got) != 1 || string(got[0].field("uri")) != `"`+uri+`"` {
		return "", fmt.Errorf("heard of %v", got)
	}
	if err := d.reads(ctx, uri, `"celsius": 15.5`); err != nil {
		return "", err
	}
	if err := stop(ctx); err != nil {
		return "", err
	}
	mark = d.watch.mark()
	if _, err := d.session.CallTool(ctx, &mcp.CallToolParams{Name: toolRecord, Arguments: readingArgs{"oslo", 16}}); err != nil {
		return "", err
	}
	if got := of(d.watch.since(mark), false, resourceUpdated); len(got) != 0 {
		return "", errors.New("heard of a change without a subscription")
	}
	return "subscribed to a resource, heard of its change, and unsubscribed", nil
}
