package client

import (
	"io"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// endless is a stream that repeats a text and counts the bytes that were read.
type endless struct {
	text string
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text)
	e.read += n
	return n, nil
}

// TestEndlessEvent: a server that writes an endless event does not exhaust memory.
func TestEndlessEvent(t *testing.T) {
	from := &endless{text: "data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"}
	const most = 1 << 20
	err := readEvents(most, from, func(tap.ServerSentEvent) { t.Error("an unterminated event was reported") })
	if err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("ended with %v", err)
	}
	if from.read > 2*most {
		t.Errorf("%d bytes were read", from.read)
	}
}

// TestEventsUpToTheLimit: the limit applies to each event, not to all events together.
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
