package diff

import (
	"fmt"
	"strings"

	"github.com/mcptap/mcptap/internal/jsonpath"
)

// A Rule is about differences that are not reported. Make one with [ParseRule].
type Rule struct {
	method, name string
	path         jsonpath.Pattern
	preset       *preset
	matched      *bool
}

// Matched reports whether the rule, or a copy of it, has left out any difference.
func (r Rule) Matched() bool { return r.matched != nil && *r.matched }

// ParseRule reads what is to be ignored: a path as package jsonpath has it, for all
// calls, or after a method and perhaps a tool, prompt or resource, and a colon:
//
//	$.result.structuredContent.generatedAt
//	tools/call: $.result..etag
//	tools/call now: $.result.content[*].text
//	notifications/message: $.params.data
//	@timestamps
//	tools/call now: @durations
//
// What is below the path is ignored too. A method or name of * is any. In place of
// a path may stand the name of a preset, see [Presets]: it is ignored when only such
// parts of a text differ.
func ParseRule(text string) (Rule, error) {
	r := Rule{matched: new(bool)}
	path := text
	if head, after, ok := cutColon(text); ok {
		path = strings.TrimSpace(after)
		r.method, r.name, _ = strings.Cut(strings.TrimSpace(head), " ")
		r.name = strings.TrimSpace(r.name)
		if r.method == "" {
			return r, fmt.Errorf("%q: there is no method before the colon", text)
		}
	}
	if name, ok := strings.CutPrefix(path, "@"); ok {
		if r.preset = presetNamed(name); r.preset == nil {
			return r, fmt.Errorf("there is no preset %q (there are %s)", path, strings.Join(Presets(), ", "))
		}
		return r, nil
	}
	var err error
	if r.path, err = jsonpath.Parse(path); err != nil {
		return r, fmt.Errorf("%q: %w", text, err)
	}
	return r, nil
}

// cutColon cuts at the last colon that is not within brackets: names of
// resources have colons.
func cutColon(text string) (before, after string, ok bool) {
	end := len(text)
	if i := strings.IndexByte(text, '['); i >= 0 {
		end = i
	}
	i := strings.LastIndexByte(text[:end], ':')
	if i < 0 {
		return "", "", false
	}
	return text[:i], text[i+1:], true
}

// ignored reports whether one of the rules is about a finding, or all that differs
// in it is known to one preset or another. Presets are tried in one order,
// whichever they are given in: what one of them knows may hold what looks like
// another's.
func ignored(rules []Rule, f *finding) bool {
	var but [presetCount]*preset
	some, out := false, false
	for i := range rules {
		switch r := &rules[i]; {
		case !r.about(f):
		case r.preset == nil && r.path.Matches(f.path):
			out, *r.matched = true, true
		case r.preset != nil:
			but[r.preset.order], some = r.preset, true
		}
	}
	if out || !some || f.kind != Changed || !sameBut(&but, f.a, f.b) {
		return out
	}
	for i := range rules {
		if r := &rules[i]; r.preset != nil && r.about(f) {
			*r.matched = true
		}
	}
	return true
}

// about reports whether the rule is about the call of a finding.
func (r *Rule) about(f *finding) bool {
	call := f.at.call()
	return (fits(r.method, call.method) || fits(r.method, f.at.message)) && fits(r.name, call.name)
}

func fits(want, is string) bool { return want == "" || want == "*" || want == is }
