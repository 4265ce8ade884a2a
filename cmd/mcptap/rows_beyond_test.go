package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap/session"
)

// Requests without a response that nobody remembers one by one are counted.
func TestSummaryCountsWhatIsNotListed(t *testing.T) {
	s := &summary{unanswered: make([]session.Request, 11), beyond: 5}
	var text, json bytes.Buffer
	s.waiting(&lines{w: &text}, palette{}, 1000)
	if err := writeJSONSummary(&json, s, ""); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "and 6 more") || !strings.Contains(json.String(), `"unanswered_more":5`) {
		t.Errorf("%s\n%s", &text, &json)
	}
}
