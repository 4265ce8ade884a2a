package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// This file holds what only 2026-07-28 has.

// discover opens with server/discover. The SDK then listens for changes of the
// lists, as it was given handlers for them. The second root is there from now on,
// as it is in the other revision, but nobody is told of it.
func (d *driver) discover(ctx context.Context) (string, error) {
	if err := d.connect(ctx); err != nil {
		return "", err
	}
	if err := d.acknowledged(ctx, 1); err != nil {
		return "", err
	}
	if first := d.watch.since(0)[0]; first.method != "server/discover" {
		return "", fmt.Errorf("the session opened with %v", first)
	}
	d.addDrafts()
	return "discovered " + ServerName + ", no session needed", nil
}

// acknowledged waits for the nth subscription to be in force.
func (d *driver) acknowledged(ctx context.Context, n int) error {
	return d.watch.untilHandled(ctx, "notifications/subscriptions/acknowledged", n)
}

// listen is how one subscribes here: a request that stays open.
func (d *driver) listen(ctx context.Context, uri string) (stop func(context.Context) error, err error) {
	mark := d.watch.mark()
	if err := d.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
		return nil, err
	}
	if err := d.acknowledged(ctx, 2); err != nil {
		return nil, err
	}
	listen := of(d.watch.since(mark), true, "subscriptions/listen")[0]
	return func(ctx context.Context) error {
		if err := d.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}); err != nil {
			return err
		}
		return d.ended(ctx, mark, listen)
	}, nil
}

// endListening ends the subscription from the beginning, then the session.
func (d *driver) endListening(ctx context.Context) (string, error) {
	listen := of(d.watch.since(0), true, "subscriptions/listen")[0]
	d.stopListening[0]()
	if err := d.ended(ctx, 0, listen); err != nil {
		return "", err
	}
	if err := errors.Join(d.checkSubscriptions(), d.checkStateless()); err != nil {
		return "", err
	}
	return d.close(ctx)
}

// chainedBriefing takes three rounds. The SDK answers what is asked and calls
// again; what crossed tells whether each round carried on from the one before.
func (d *driver) chainedBriefing(ctx context.Context) (string, error) {
	mark := d.watch.mark()
	res, err := d.session.CallTool(ctx, d.withToken(&mcp.CallToolParams{Name: toolBriefing}, "briefing"))
	if err != nil {
		return "", err
	}
	if err := isBriefing(res); err != nil {
		return "", err
	}
	seen := d.watch.since(mark)
	calls := of(seen, true, "tools/call")
	if len(calls) != 3 {
		return "", fmt.Errorf("the briefing took %d calls", len(calls))
	}
	asked := [][]string{{askFolder, askWishes}, {askText}}
	for round, keys := range asked {
		answer, _, _ := answerTo(seen, calls[round])
		if string(answer.field("resultType")) != `"input_required"` {
			return "", fmt.Errorf("round %d ended with %s", round+1, answer.body)
		}
		next := calls[round+1]
		for _, key := range keys {
			if answer.field("inputRequests", key) == nil || next.field("inputResponses", key) == nil {
				return "", fmt.Errorf("round %d: %q was not asked or not answered", round+1, key)
			}
		}
		if !slices.Equal(next.field("requestState"), answer.field("requestState")) {
			return "", fmt.Errorf("round %d: requestState came back changed", round+1)
		}
	}
	if calls[2].field("requestState") == nil {
		return "", errors.New("the last round carried no requestState")
	}
	return "called a tool in 3 rounds, with roots, the user and a model in between", nil
}

// checkSubscriptions checks that every notification on a subscription names it
// and comes after its acknowledgement.
func (d *driver) checkSubscriptions() error {
	inForce := map[string]bool{}
	for _, c := range d.watch.since(0) {
		if c.out || !c.isNotification() {
			continue
		}
		id := string(c.field("_meta", mcp.MetaKeySubscriptionID))
		switch c.method {
		case "notifications/subscriptions/acknowledged":
			inForce[id] = true
		case toolsChanged, resourcesChanged, resourceUpdated:
			if !inForce[id] {
				return fmt.Errorf("%s belongs to no subscription (%q)", c.method, id)
			}
		}
	}
	if len(inForce) != 2 {
		return fmt.Errorf("there were %d subscriptions", len(inForce))
	}
	return nil
}

// checkStateless checks what makes a request complete in itself, and that the
// server sent none.
func (d *driver) checkStateless() error {
	for _, c := range d.watch.since(0) {
		switch {
		case !c.out && c.isRequest():
			return fmt.Errorf("the server sent the request %s", c.method)
		case c.out && c.isRequest():
			if string(c.field("_meta", mcp.MetaKeyProtocolVersion)) != `"`+Stateless+`"` ||
				c.field("_meta", mcp.MetaKeyClientCapabilities) == nil {
				return fmt.Errorf("%v does not say what it must in _meta", c)
			}
		case c.isResponse() && c.err == nil && c.field("resultType") == nil:
			return fmt.Errorf("%v has no resultType", c)
		}
	}
	return nil
}
