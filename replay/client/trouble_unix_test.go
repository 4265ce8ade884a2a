//go:build unix

package client

import (
	"context"
	"strings"
	"testing"
)

// The replay gives up on a server that writes an endless line.
func TestEndlessLine(t *testing.T) {
	defer func(n int) { maxLine = n }(maxLine)
	maxLine = 1 << 20
	c := Stdio([]string{"sh", "-c", "cat /dev/zero"}, nil)
	events := make(chan Event, 1)
	if err := c.Open(context.Background(), events); err != nil {
		t.Fatal(err)
	}
	e := <-events
	if !e.Gone || e.Err == nil || !strings.Contains(e.Err.Error(), "a line of more than 1 MiB") {
		t.Errorf("%+v", e)
	}
	c.Close()
}
