package session

import (
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// A signal that the client sent to the server is not a failure of the server.
func TestExit(t *testing.T) {
	code := func(n int) *int { return &n }
	signal, killed := tap.Event{Name: tap.EventSignal, Signal: "SIGTERM"}, tap.Event{Name: tap.EventExit, Signal: "SIGTERM", Code: code(143)}
	for _, x := range []struct {
		events []tap.Event
		failed bool
		want   string
	}{
		{nil, false, ""},
		{[]tap.Event{{Name: tap.EventExit, Code: code(0)}}, false, ""},
		{[]tap.Event{{Name: tap.EventExit, Code: code(1)}}, true, "the server exited with code 1"},
		{[]tap.Event{killed}, true, "the server was ended by SIGTERM"},
		{[]tap.Event{signal, killed}, false, "the client ended the server with SIGTERM"},
		{[]tap.Event{{Name: tap.EventSignal, Signal: "SIGINT"}, killed}, true, "the server was ended by SIGTERM"},
		{[]tap.Event{{Name: tap.EventSpawnFailed, Command: []string{"nosuch", "-x"}, Error: "no such file"}}, true,
			"the server could not be started: nosuch: no such file"},
	} {
		var exit Exit
		for i := range x.events {
			exit.Add(&x.events[i])
		}
		if got := exit.Words(); got != x.want || exit.Failed() != x.failed {
			t.Errorf("%q, failed %v; want %q, %v", got, exit.Failed(), x.want, x.failed)
		}
	}
}
