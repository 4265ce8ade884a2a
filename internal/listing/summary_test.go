package listing

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// Requests without a response beyond the limit are counted.
func noFrame(uint64) (tap.Frame, error) { return tap.Frame{}, errors.New("no frame") }

func TestSummaryCountsWhatIsNotListed(t *testing.T) {
	s := &Summary{Summary: view.Summary{Unanswered: make([]session.Request, 11), Beyond: 5}, Frame: noFrame}
	var text, json bytes.Buffer
	s.requests(&term.Printer{W: &text, Width: 1000})
	if err := writeJSONSummary(&json, s, ""); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "and 6 more") || !strings.Contains(json.String(), `"unanswered_more":5`) {
		t.Errorf("%s\n%s", &text, &json)
	}
}

// The reason for a missing response is recorded text, and is escaped.
func TestSummaryEscapesReasons(t *testing.T) {
	lost := session.Request{Lost: true, StreamEnd: session.StreamEnd{By: "server", Error: "\x1b[2J\u202e"}}
	var text bytes.Buffer
	(&Summary{Summary: view.Summary{Unanswered: []session.Request{lost}}, Frame: noFrame}).requests(&term.Printer{W: &text, Width: 1000})
	if !strings.Contains(text.String(), `(\x1b[2J\u202e after `) {
		t.Errorf("%q", text.String())
	}
}
