package filter

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

var seen = Seen{
	Methods:   []string{"initialize", "tools/call", "tools/list"},
	Tools:     []string{"forecast", "my tool", "a,b", "evil\x1b[2J", "hidden\u202e", "get_forecast", `"q"`, "/x/", "Forest"},
	URIs:      []string{"file:///a.md", "http://x/(1)"},
	Sessions:  []string{"1", "2"},
	Revisions: []string{"2025-06-18"},
}

// TestComplete is a table of queries, with the cursor at the bar, and their
// completions.
func TestComplete(t *testing.T) {
	for _, c := range []struct{ at, want string }{
		{"me|", "method:|"},
		{"|", "method:| tool:| prompt:| uri:| id:| dir:| kind:| is:| session:| rev:| exchange:| status:| latency:| size:| at:| rule:| seq:|"},
		{"foo S|", "foo session:| foo status:| foo size:| foo seq:|"},
		{"-me|", "-method:|"},
		{"(is:error OR ki|", "(is:error OR kind:|"},
		{"me|thod:x", "method:|x"},
		{"is:error met|:tools/call x", "is:error method:|tools/call x"},
		{"xyz|", ""},
		{`"me|`, ""},
		{"foo,me|", ""},
		{"/me|", ""},

		{"method:|", "method:initialize| method:tools/call| method:tools/list|"},
		{"METHOD:Tools|", "METHOD:tools/call| METHOD:tools/list|"},
		{"method:call|", "method:tools/call|"},
		{"method:tools/list,ini|", "method:tools/list,initialize|"},
		{"method:to|ols/call is:error", "method:tools/call| is:error method:tools/list| is:error"},
		{"nosuch:x bad:( method:ini|", "nosuch:x bad:( method:initialize|"},
		{"is:bogus,, method:ini|", "is:bogus,, method:initialize|"},
		{"nosuch:|", ""},
		{"tool:|", `tool:forecast| tool:"my tool"| tool:"a,b"| tool:get_forecast| tool:"\"q\""| tool:"/x/"| tool:Forest|`},
		{"tool:fore|", "tool:forecast| tool:Forest| tool:get_forecast|"},
		{`tool:"my|`, `tool:"my tool"|`},
		{`tool:"my|" is:error`, `tool:"my tool"| is:error`},
		{`tool:"my tool"|`, `tool:"my tool"|`},
		{"tool:/fore|", ""},
		{"tool:/fore/|", ""},
		{"(uri:http|)", `(uri:"http://x/(1)"|)`},
		{"prompt:|", ""},
		{"session:|", "session:1| session:2|"},
		{"rev:20|", "rev:2025-06-18|"},

		{"is:|", "is:error| is:slow| is:pending| is:orphan| is:unmatched| is:cancelled| is:cancel| is:late| is:retry| is:interim| is:progress| is:log| is:invalid| is:nested| is:duplicate| is:unsolicited| is:batch| is:finding| is:truncated|"},
		{"is:P|", "is:pending| is:progress|"},
		{"-is:error,s|", "-is:error,slow|"},
		{"dir:to|", "dir:to_server| dir:to_client|"},
		{"kind:p|", "kind:ping| kind:pong| kind:priming|"},
		{"kind:sse|", "kind:event| kind:priming| kind:comment| kind:endpoint|"},
		{"kind:http_req|", "kind:http_request|"},
		{`kind:"no|`, "kind:notification|"},
		{"kind:no_|", "kind:spawn_failed|"},
		{"kind:s|", "kind:stderr| kind:start| kind:spawn_failed| kind:signal|"},

		{"latency:|", "latency:>500ms| latency:100ms..2s|"},
		{"latency:>|", "latency:>500ms|"},
		{"status:4|", "status:404| status:4xx,5xx|"},
		{"id:|", ""},
		{"天気 me|", "天気 method:|"},
		{"x )me|", "x )method:|"},
	} {
		cursor := strings.IndexByte(c.at, '|')
		q := c.at[:cursor] + c.at[cursor+1:]
		var got []string
		for _, o := range Complete(q, cursor, seen) {
			got = append(got, q[:o.From]+o.Text+"|"+q[o.To:])
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.at, s, c.want)
		}
	}
}

// TestCompleteWithoutRecording completes words of the protocol.
func TestCompleteWithoutRecording(t *testing.T) {
	for q, want := range map[string]string{"method:resources/te": "resources/templates/list", "rev:2026": "2026-07-28"} {
		if got := Complete(q, len(q), Seen{}); len(got) != 1 || got[0].Text != want {
			t.Errorf("%s: %v", q, got)
		}
	}
	for _, c := range Complete("", 0, Seen{}) {
		if c.Help == "" {
			t.Errorf("%s has no help", c.Text)
		}
	}
}

// TestCompletionsAreQueries checks that a completion matches the completed value.
func TestCompletionsAreQueries(t *testing.T) {
	for _, o := range Complete("tool:", 5, seen) {
		f := mustParse(t, "tool:"+o.Text)
		for _, s := range seen.Tools {
			it := items(t)[0]
			it.Tool = s
			if want := asValue(s) == o.Text; matches(t, f, it) != want {
				t.Errorf("tool:%s on %q: want %v", o.Text, s, want)
			}
		}
	}
	if _, err := Parse("tool:" + asValue("")); err == nil {
		t.Error("an empty value is a query")
	}
}

func TestCompleteIsBounded(t *testing.T) {
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprint("t", i))
	}
	if got := Complete("tool:t", 6, Seen{Tools: many}); len(got) != MaxCompletions {
		t.Errorf("%d completions", len(got))
	}
	for _, cursor := range []int{-5, 99} {
		if len(Complete("is:", cursor, Seen{})) == 0 {
			t.Errorf("nothing at %d", cursor)
		}
	}
}

func TestSuggest(t *testing.T) {
	seen := Seen{Tools: []string{"forecast", "getWeather", "esc\x1b"}, Methods: []string{"tools/call"}, Rules: []string{"cap-07", "rpc-07"}}
	for query, want := range map[string]string{
		"tool:forcast":                           "tool:forecast",
		"is:error (tool:echo,getweathr OR x)":    "tool:getWeather",
		`-foo "tool:forcast" method:tools/calll`: "method:tools/call",
		"tool:forecast":                          "",
		"tool:fore* forcast":                     "",
		"tool:esc":                               "",
		"tool:":                                  "",
		"rule:rcp-07":                            "rule:rpc-07",
		"":                                       "",
	} {
		if got := Suggest(query, seen); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func TestValues(t *testing.T) {
	if got := Values(`-rule:RPC-07 (tool:x rule:a,b*,"c d" OR rule:/e/) rule:`, "rule"); !slices.Equal(got, []string{"RPC-07", "a", "c d"}) {
		t.Errorf("got %q", got)
	}
}
