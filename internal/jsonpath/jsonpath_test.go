package jsonpath

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/jsontree"
)

func TestMatches(t *testing.T) {
	to := jsontree.To
	path := jsontree.Path{
		to("result"), to("content"), {Kind: jsontree.Element, Index: 3}, to("text"), {Kind: jsontree.Inside}, to("a.b"),
		{Kind: jsontree.Keyed, Name: "x"}, to("id"),
	}
	for _, c := range []struct {
		pattern        string
		matches, exact bool
	}{
		{"$.result", true, false},
		{"$.content", false, false},
		{"$.result.content[3]", true, false},
		{"$.result.content[2]", false, false},
		{"$.result.content[*].text", true, false},
		{"$.result.content.*.text", true, false},
		{`$.result.content[*].text["a.b"]["x"].id`, true, true},
		{`$.result.content[*].text.(json)["a.b"].x.id`, true, true},
		{"$..id", true, true},
		{"$..content", true, false},
		{"$..content..id", true, true},
		{"$..x.y", false, false},
		{"$..[3].text", true, false},
		{"$..*.id", true, true},
		{"$..*", true, true},
		{"$.*", true, false},
		{"$.result..x.*", true, true},
		{"$.result..result", false, false},
		{"$..text..text", false, false},
		{`$..["a.b"].*.id`, true, true},
		{`$["\u003c\""][""]`, false, false},
	} {
		p, err := Parse(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if again, err := Parse(p.String()); err != nil || !slices.Equal(again, p) {
			t.Errorf("%s is written as %s, which is %v, %v", c.pattern, p, again, err)
		}
		if got := p.Matches(path); got != c.matches {
			t.Errorf("%s matches %v: %v", c.pattern, path, got)
		}
		if got := p.Exactly(path); got != c.exact {
			t.Errorf("%s matches %v exactly: %v", c.pattern, path, got)
		}
	}
}

// TestPathsAreTheirOwnPatterns checks that a printed path is a pattern that matches it.
func TestPathsAreTheirOwnPatterns(t *testing.T) {
	to := jsontree.To
	deep := jsontree.Path{}
	for i := range 100 {
		deep = append(deep, jsontree.Step{Kind: jsontree.Element, Index: i}, to("m"), to("a.b"))
	}
	for _, path := range []jsontree.Path{
		{to("result"), {Kind: jsontree.Element, Index: 3}, {Kind: jsontree.Inside}, {Kind: jsontree.Keyed, Name: "x"}},
		{to("(json)"), to("*"), to("**"), to("a"), to(""), to("0"), to("$/-_")},
		{to("\x1b\u202e\"]\\"), to("é"), {Kind: jsontree.Keyed, Name: "[*]"}, {Kind: jsontree.Keyed, Name: "0"}},
		{to(strings.Repeat("x", 1000)), to(strings.Repeat("€", 1000)), to("x")},
		deep[:64], deep[:65], deep[:66], deep[:67], deep[:200],
	} {
		for _, p := range []jsontree.Path{path, path[1:], path[:len(path)-1]} {
			pattern, err := Parse(p.String())
			if err != nil || !pattern.Exactly(p) {
				t.Errorf("%s does not match itself: %v", p, err)
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "a path begins with $, such as",
		"$":                       "no steps",
		"$a":                      `no . or [ before "a"`,
		"$.":                      "empty step",
		"$.a.":                    "empty step",
		"$...a":                   "empty step",
		"$.a[":                    "missing ]",
		"$.a[]":                   "must hold a number",
		"$.a[x]":                  "must hold a number",
		"$.a[-1]":                 "must hold a number",
		`$.a["b`:                  "does not end",
		`$.a["b"`:                 "missing ]",
		"$.**.a":                  "write .. for any number of steps",
		"result.tools":            "write $.result.tools",
		".result":                 "write $.result",
		"[0].a":                   "write $[0].a",
		"**.etag":                 "write $..etag",
		"result.**.etag":          "write $.result..etag",
		"a.**[1]":                 "write $.a..[1]",
		"a.**":                    "write $.a..*",
		`a["b c"].(json).d`:       `write $.a["b c"].(json).d`,
		"a..b":                    "write $.a..b",
		"a.":                      "a path begins with $, such as",
		strings.Repeat("a", 1000): "write $.aaa",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"$.result.content[*].text", `$.a["b\"c"].d`, "$..*", "result", "$[0][*]"} {
		f.Add(s)
	}
	path := jsontree.Path{jsontree.To("result"), {Kind: jsontree.Element, Index: 3}, {Kind: jsontree.Inside}, {Kind: jsontree.Keyed, Name: "x"}}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Parse(s)
		if err != nil {
			return
		}
		if p.Exactly(path) && !p.Matches(path) {
			t.Errorf("%q matches a path, but not those below it", s)
		}
		if p.Matches(path) && !p.Matches(path.With(jsontree.To("below"))) {
			t.Errorf("%q does not match the paths below one that it matches", s)
		}
	})
}
