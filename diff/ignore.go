package diff

import (
	"fmt"
	"strings"

	"github.com/mcptap/mcptap/diff/tree"
)

// A Rule says what is not to be told of. Make one with [ParseRule].
type Rule struct {
	text         string
	method, name string
	path         pattern
	preset       *preset
}

// ParseRule reads what is to be ignored: a path such as result.content[*].text,
// for all calls, or after a method and perhaps a tool, prompt or resource, and a
// colon:
//
//	result.structuredContent.generatedAt
//	tools/call: result.**.etag
//	tools/call now: result.content[*].text
//	notifications/message: params.data
//
// What is below the path is ignored too. A method or name of * is any. @ begins
// the name of a preset, see [Presets]: it is ignored when only such parts of a
// text differ.
func ParseRule(text string) (Rule, error) {
	r := Rule{text: text}
	if name, ok := strings.CutPrefix(text, "@"); ok {
		if r.preset = presetNamed(name); r.preset == nil {
			return r, fmt.Errorf("there is no preset %q (there are %s)", text, strings.Join(Presets(), ", "))
		}
		return r, nil
	}
	path := text
	if head, after, ok := cutColon(text); ok {
		path = strings.TrimSpace(after)
		r.method, r.name, _ = strings.Cut(strings.TrimSpace(head), " ")
		r.name = strings.TrimSpace(r.name)
		if r.method == "" {
			return r, fmt.Errorf("%q: there is no method before the colon", text)
		}
	}
	var err error
	if r.path, err = parsePattern(strings.TrimPrefix(path, ".")); err != nil {
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

// String returns the rule as it was written.
func (r Rule) String() string { return r.text }

// ignores reports whether the rule is about a finding.
func (r *Rule) ignores(f *finding) bool {
	if r.preset != nil {
		return f.kind == Changed && r.preset.same(f.a, f.b)
	}
	call := f.at.call()
	return (fits(r.method, call.method) || fits(r.method, f.at.message)) && fits(r.name, call.name) && r.path.matches(f.path)
}

func fits(want, is string) bool { return want == "" || want == "*" || want == is }

// same reports whether two texts, or numbers, are the same but for what the
// preset is about.
func (p *preset) same(a, b tree.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case tree.Number:
		return p.number != nil && p.number(string(a.Raw())) && p.number(string(b.Raw()))
	case tree.String:
		x, y := a.Text(), b.Text()
		return p.text.ReplaceAllLiteralString(x, "\x00") == p.text.ReplaceAllLiteralString(y, "\x00")
	}
	return false
}
