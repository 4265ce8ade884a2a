package client

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// TestCancelledCallsGetTheirTime: a call that the recorded client gave up is cancelled as late as
// it was, so that a server that no longer hangs can respond.
func TestCancelledCallsGetTheirTime(t *testing.T) {
	frames := lines(opening + `
>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}
>{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
`)
	frames[len(frames)-1].At = frames[len(frames)-2].At + 2*time.Second
	serve := func(in io.Reader, out io.Writer) {
		answering(func(method, id, _ string) (string, error) {
			switch {
			case id == "":
				return "", nil
			case method == "tools/call":
				time.Sleep(50 * time.Millisecond)
			}
			return result(id), nil
		})(in, out)
	}
	var order []string
	for _, f := range play(t, planned(frames, nil), patient(), serve) {
		switch raw := string(f.Raw); {
		case strings.Contains(raw, "cancelled"):
			order = append(order, "cancelled")
		case strings.TrimSpace(raw) == strings.TrimSpace(result("2")):
			order = append(order, "response")
		}
	}
	if got, want := fmt.Sprint(order), "[response cancelled]"; got != want {
		t.Errorf("it saw %s, want %s", got, want)
	}
}
