package client

import (
	"testing"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/tap"
)

// TestTransports records the same session on each transport, and plays each recording on each
// transport.
func TestTransports(t *testing.T) {
	on := map[string]func(t *testing.T, plan *Plan, opt Options) []tap.Frame{
		"streamable": func(t *testing.T, plan *Plan, opt Options) []tap.Frame {
			return tapped(t, plan, opt, streamableServer(t, newServer(""), false), HTTP)
		},
		"sse": func(t *testing.T, plan *Plan, opt Options) []tap.Frame {
			return tapped(t, plan, opt, sseServer(t, newServer("")), SSE)
		},
		"websocket": func(t *testing.T, plan *Plan, opt Options) []tap.Frame {
			return tapped(t, plan, opt, webSocketServer(t, newServer("")), func(url string, _ *Watcher) Conn { return WebSocket("ws" + url[len("http"):]) })
		},
	}
	for name, record := range on {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opt := patient()
			noted := notes(&opt)
			first := record(t, planned(conversation, nil), opt)
			for to, play := range on {
				second := play(t, planned(first, nil), opt)
				if text := differences(compared(t, first, second), diff.Timing); text != "" || len(*noted) > 0 {
					t.Errorf("to %s:\n%s\nnotes %q\n%s", to, text, *noted, bodies(second))
				}
			}
		})
	}
}
