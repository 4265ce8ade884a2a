package client

import (
	"io"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// endless is a stream that repeats itself and counts what was read of it.
type endless struct {
	text string
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text)
	e.read += n
	return n, nil
}

// TestEndlessEvent: a server that writes an event without an end does not fill the
// memory.
func TestEndlessEvent(t *testing.T) {
	from := &endless{text: "data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"}
	const most = 1 << 20
	err := readEvents(most, from, func(tap.ServerSentEvent) { t.Error("an event was told that has no end") })
	if err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("it ended with %v", err)
	}
	if from.read > 2*most {
		t.Errorf("%d bytes were read", from.read)
	}
}

// TestEventsUpToTheLimit: many events are not one long event.
func TestEventsUpToTheLimit(t *testing.T) {
	const event = "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"
	n := 0
	err := readEvents(len(event), strings.NewReader(strings.Repeat(event, 1000)), func(e tap.ServerSentEvent) {
		if e.Data != nil {
			n++
		}
	})
	if err != nil || n != 1000 {
		t.Errorf("%d events, %v", n, err)
	}
	if err := readEvents(len(event)-1, strings.NewReader(event), func(tap.ServerSentEvent) {}); err == nil || err == io.EOF {
		t.Errorf("one byte too many: %v", err)
	}
}
