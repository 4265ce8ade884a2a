package client

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// TestAnyCorpus plays every session of the corpus, including the broken ones, in other revisions to
// a server that answers everything with almost nothing. Every replay ends.
func TestAnyCorpus(t *testing.T) {
	names, err := filepath.Glob("../../testdata/sessions/*.txtar")
	if err != nil || len(names) < 40 {
		t.Fatalf("%d sessions, %v", len(names), err)
	}
	for _, name := range names {
		name = strings.TrimSuffix(filepath.Base(name), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			frames := recorded(t, name)
			plan := planned(frames, nil)
			others := []jsonrpc.Revision{jsonrpc.Rev20260728, jsonrpc.Rev20250326}
			if plan.facts.Era == jsonrpc.Modern {
				others = []jsonrpc.Revision{jsonrpc.Rev20251125}
			}
			for _, to := range others {
				opt := patient()
				opt.Timeout, opt.Patience, opt.Revision = 10*time.Millisecond, time.Millisecond, to
				answered := 0
				err := Play(t.Context(), plan, &wire{serve: answering(func(method, id, _ string) (string, error) {
					if id == "" || method == "" {
						return "", nil
					}
					answered++
					return result(id), nil
				})}, opt)
				if err != nil && err != errRevision {
					t.Errorf("in %q: %v", to, err)
				}
				if err == nil && answered == 0 && !strings.Contains(name, "probe") {
					t.Errorf("in %q: no request was sent", to)
				}
			}
		})
	}
}

// TestBrokenCorpus plays the broken sessions against a mock of the same recording: the replay does
// not wait for responses that were not recorded.
func TestBrokenCorpus(t *testing.T) {
	names, err := filepath.Glob("../../testdata/sessions/*-broken.txtar")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d sessions, %v", len(names), err)
	}
	for _, name := range names {
		name = strings.TrimSuffix(filepath.Base(name), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			frames := recorded(t, name)
			opt := patient()
			opt.Timeout, opt.Patience = 200*time.Millisecond, 50*time.Millisecond
			got := play(t, planned(frames, nil), opt, mocked(t, frames))
			if len(got) == 0 {
				t.Error("there were no notes")
			}
		})
	}
}

// TestCarried: replacing values of a request does not change its other bytes.
func TestCarried(t *testing.T) {
	live := liveValues{kindCursor + "c": "new", kindTask + "t": "<&>", kindState + "s": gone}
	for _, c := range []struct{ raw, want, lacks string }{
		{`{ "b":1.50, "cursor":"\u0063", "n":12345678901234567890 }`, `{ "b":1.50, "cursor":"new", "n":12345678901234567890 }`, ""},
		{`{"cursor":"x","cursor":"c"}`, `{"cursor":"x","cursor":"new"}`, ""},
		{`{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}`, `{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"<&>"}}}`, ""},
		{`{"cursor":7,"taskId":["t"]}`, `{"cursor":7,"taskId":["t"]}`, ""},
		{`{"requestState":"s"}`, `{"requestState":"s"}`, "state"},
		{strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000), strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000), ""},
	} {
		got, lacks := live.carry([]byte(c.raw))
		if string(got) != c.want || lacks != c.lacks {
			t.Errorf("%.80s: %.80s, want %.80s; lacks %q", c.raw, got, c.want, lacks)
		}
	}
}
