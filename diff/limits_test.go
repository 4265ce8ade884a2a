package diff

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
)

// An excerpt is a value without white space between tokens. It has at most MaxExcerpt bytes, and
// does not end within a character or an escape.
func TestExcerpts(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`{ "a" : [ 1 ,  "b c\" d" ] }`, `{"a":[1,"b c\" d"]}`},
		{`"` + strings.Repeat("x", MaxExcerpt-2) + `"`, `"` + strings.Repeat("x", MaxExcerpt-2) + `"`},
		{`"` + strings.Repeat("x", MaxExcerpt-1) + `"`, `"` + strings.Repeat("x", MaxExcerpt-1) + "…"},
		{`"` + strings.Repeat("x", MaxExcerpt-2) + `é"`, `"` + strings.Repeat("x", MaxExcerpt-2) + "…"},
		{`"` + strings.Repeat("x", MaxExcerpt-4) + `\u00e9"`, `"` + strings.Repeat("x", MaxExcerpt-4) + "…"},
		{`"` + strings.Repeat("x", 5*MaxExcerpt) + `"`, `"` + strings.Repeat("x", MaxExcerpt-1) + "…"},
	} {
		d, err := jsontree.Parse([]byte(c.raw))
		if err != nil {
			t.Fatal(err)
		}
		got, size := excerpt(d)
		if got != c.want || size != len(c.raw) || !utf8.ValidString(got) {
			t.Errorf("%.30s… of %d: %q of %d, want %q", c.raw, len(c.raw), got, size, c.want)
		}
	}
}

// The usual duration of a call is the range of the durations in all baselines.
func TestUsualTimes(t *testing.T) {
	took := func(all ...time.Duration) *timing {
		g := &timedGroup{key: 7}
		for _, d := range all {
			g.pairs = append(g.pairs, &pair{b: &call{own: d}})
		}
		return &timing{order: []*timedGroup{g}}
	}
	var x timing
	for _, step := range []struct {
		took []time.Duration
		want timeRange
	}{
		{[]time.Duration{5, 9, 7}, timeRange{5, 9}}, {[]time.Duration{6}, timeRange{5, 9}}, {[]time.Duration{2, 11, 3}, timeRange{2, 11}},
	} {
		x.learn(took(step.took...))
		if got := x.usual[7]; got != step.want {
			t.Errorf("after %v: %v, want %v", step.took, got, step.want)
		}
	}
}

// A new header field is attributed to the side that sends it.
func TestNewHeaderField(t *testing.T) {
	side := func(of string) []tap.Frame {
		c := &carrier{frames: exchanged(t, "2025-11-25"), last: 9}
		sent, answered := [][2]string{{"Mcp-Old", "1"}}, [][2]string{{"Mcp-Old", "1"}}
		switch of {
		case "request":
			sent = append(sent, [2]string{"Mcp-New", "1"})
		case "response":
			answered = append(answered, [2]string{"Mcp-New", "1"})
		}
		c.event(9, tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/mcp", Header: sent})
		c.event(9, tap.Event{Name: tap.EventResponse, Status: 200, Header: answered})
		c.event(9, tap.Event{Name: tap.EventEnd, By: "server"})
		return c.frames
	}
	for of, by := range map[string]string{"request": "client", "response": "server"} {
		r := compare(t, side(""), side(of), Options{})
		if len(r.Differences) != 1 || r.Differences[0].By != by || !strings.Contains(r.Differences[0].Path, "mcp-new") {
			t.Errorf("%s: %+v", of, r.Differences)
		}
	}
}

// The blank after the colon of a rule is optional.
func TestRulesWithoutABlank(t *testing.T) {
	text := "\nrev 2025-11-25\n> tools/call {\"name\":\"now\"}\na< {\"content\":[],\"structuredContent\":{\"at\":1}}\nb< {\"content\":[],\"structuredContent\":{\"at\":2}}"
	for written, ignored := range map[string]uint64{
		"tools/call:$.result.structuredContent.at": 1, "tools/call: $.result.structuredContent.at": 1,
		"tools/call now:$.result.structuredContent.at": 1, "prompts/get:$.result.structuredContent.at": 0,
	} {
		rule, err := ParseRule(written)
		if err != nil {
			t.Fatal(err)
		}
		r, _ := compareScript(t, text, Options{Ignore: []Rule{rule}})
		if r.Ignored != ignored || len(r.Differences) != 1-int(ignored) {
			t.Errorf("%s: %d ignored\n%s", written, r.Ignored, reportLines(r))
		}
	}
}

// If all notes changed, they are compared in order.
func TestChangedNotes(t *testing.T) {
	r, _ := compareScript(t, `
		rev 2025-11-25
		> tools/call {"name":"f","_meta":{"progressToken":1}}
		a<~ notifications/progress {"progressToken":1,"progress":1,"message":"a"}
		a<~ notifications/progress {"progressToken":1,"progress":2,"message":"b"}
		b<~ notifications/progress {"progressToken":1,"progress":1,"message":"c"}
		b<~ notifications/progress {"progressToken":1,"progress":2,"message":"d"}
		< {"content":[]}`, Options{})
	changed := uint64(0)
	for i := range r.Differences {
		if d := &r.Differences[i]; d.Kind != Changed || !strings.HasSuffix(d.Path, "message") {
			t.Errorf("%s %s", d.Kind, d.Path)
		} else {
			changed += max(d.Times, 1)
		}
	}
	if changed != 2 {
		t.Errorf("%d changed\n%s", changed, reportLines(r))
	}
}
