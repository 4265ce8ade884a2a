package diff

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/internal/jsonpath"
	"github.com/mcptap/mcptap/internal/jsontree"
)

// A Rule excludes differences from a report. Create it with [ParseRule].
type Rule struct {
	method, name string
	path         jsonpath.Pattern
	preset       *preset
	matched      *bool
}

// Matched reports whether the rule, or a copy of it, has excluded a difference.
func (r Rule) Matched() bool { return r.matched != nil && *r.matched }

// ParseRule parses a rule: a path in the syntax of package jsonpath, optionally preceded by a
// method, a tool, prompt or resource, and a colon:
//
//	$.result.structuredContent.generatedAt
//	tools/call: $.result..etag
//	tools/call now: $.result.content[*].text
//	notifications/message: $.params.data
//	@timestamps
//	tools/call now: @durations
//
// A path includes everything below it. A method or name of * matches any. Instead of a path, the
// rule may have a preset (see [Presets]), which excludes texts and numbers that differ only in
// values of that kind.
func ParseRule(text string) (Rule, error) {
	r := Rule{matched: new(bool)}
	path := text
	if head, after, ok := cutColon(text); ok {
		path = strings.TrimSpace(after)
		r.method, r.name, _ = strings.Cut(strings.TrimSpace(head), " ")
		r.name = strings.TrimSpace(r.name)
		if r.method == "" {
			return r, fmt.Errorf("%q: no method before the colon", text)
		}
	}
	if name, ok := strings.CutPrefix(path, "@"); ok {
		if r.preset = presetNamed(name); r.preset == nil {
			return r, fmt.Errorf("unknown preset %q (want %s)", path, strings.Join(Presets(), ", "))
		}
		return r, nil
	}
	var err error
	if r.path, err = jsonpath.Parse(path); err != nil {
		return r, fmt.Errorf("%q: %w", text, err)
	}
	return r, nil
}

// cutColon cuts a text at the last colon before the first bracket, since URIs contain colons.
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

// ignored reports whether a rule excludes a finding. Presets are applied in a fixed order,
// because a match of one may contain a match of another.
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

// about reports whether the rule applies to the call of a finding.
func (r *Rule) about(f *finding) bool {
	call := f.at.call()
	return (fits(r.method, call.method) || fits(r.method, f.at.message)) && fits(r.name, call.name)
}

func fits(want, is string) bool { return want == "" || want == "*" || want == is }

// A preset matches one kind of volatile values.
type preset struct {
	order       int // its index in presets
	name        string
	replacement string              // replaces a match
	pattern     string              // the regular expression for matches in a text
	text        *regexp.Regexp      // pattern, compiled if the preset is used
	number      func(s string) bool // matches a number; nil if no number matches
}

const presetCount = 3

var presets = [presetCount]preset{
	{
		order: 0, name: "timestamps", replacement: "\x00t",
		pattern: `\d{4}-[01]\d-[0-3]\d(?:[T ][0-2]\d:[0-5]\d(?::[0-6]\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?)?` +
			`|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (?:\d{1,2} )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*(?: \d{1,2})?(?: \d{4})?` +
			`(?: [0-2]?\d:[0-5]\d:[0-5]\d)?(?: (?:GMT|UTC|[A-Z]{3,4}|[+-]\d{4}))?(?: \d{4})?` +
			`|\b[0-2]?\d:[0-5]\d:[0-5]\d(?:[.,]\d+)?(?: ?[AaPp][Mm])?` +
			`|\b1[0-9]{9}(?:[0-9]{3}){0,3}(?:\.\d+)?\b`,
		number: isEpoch,
	},
	{
		order: 1, name: "uuids", replacement: "\x00u",
		pattern: `(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b`,
	},
	{
		order: 2, name: "durations", replacement: "\x00d",
		pattern: `\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|secs|seconds?|milliseconds?|minutes?|min|m|h|hours?)\b(?: ?\d+(?:\.\d+)? ?(?:ms|s|m|sec)\b)*`,
	},
}

// Presets returns the names of the presets that [ParseRule] accepts instead of a path.
func Presets() []string {
	var names []string
	for _, p := range presets {
		names = append(names, "@"+p.name)
	}
	return names
}

// Suggest returns the presets that together would exclude all differences of class [Behaviour].
// It returns nil if presets cannot exclude all of them.
func (r *Report) Suggest() (names []string) {
	if r.Counts[Behaviour] == 0 || r.Left[Behaviour] > 0 {
		return nil
	}
	var all [presetCount]*preset
	for i := range presets {
		all[i] = presetNamed(presets[i].name)
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		if d.Class != Behaviour {
			continue
		}
		of := d.presets(&all)
		if of == nil {
			return nil
		}
		for _, name := range of {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// fewestFirst are the sets of presets as bits, the smallest first.
var fewestFirst = [...]int{1, 2, 4, 3, 5, 6, 7}

// presets returns the names of the smallest set of presets that would exclude a difference, nil
// for none.
func (d *Difference) presets(all *[presetCount]*preset) []string {
	a, errA := jsontree.Parse([]byte(d.Old))
	b, errB := jsontree.Parse([]byte(d.New))
	if d.Kind != Changed || (d.In == InSession && d.Path == "$.revision" || strings.Contains(d.Path, "protocolVersion")) || errA != nil || errB != nil || d.OldSize > len(d.Old) || d.NewSize > len(d.New) {
		return nil
	}
	for _, set := range fewestFirst {
		var but [presetCount]*preset
		var names []string
		for i, p := range all {
			if set&(1<<i) != 0 {
				but[i], names = p, append(names, "@"+p.name)
			}
		}
		if sameBut(&but, a, b) {
			return names
		}
	}
	return nil
}

// presetNamed returns a preset with its expression compiled, nil if there is none.
func presetNamed(name string) *preset {
	for _, p := range presets {
		if p.name == name {
			p.text = regexp.MustCompile(p.pattern)
			return &p
		}
	}
	return nil
}

// sameBut reports whether two texts or numbers differ only in matches of presets.
func sameBut(but *[presetCount]*preset, a, b jsontree.Value) bool {
	if a.Kind() != b.Kind() || a.Kind() != jsontree.Number && a.Kind() != jsontree.String {
		return false
	}
	x, y := a.Text(), b.Text()
	for _, p := range but {
		switch {
		case p == nil:
		case a.Kind() == jsontree.String:
			x, y = p.text.ReplaceAllLiteralString(x, p.replacement), p.text.ReplaceAllLiteralString(y, p.replacement)
		case p.number != nil && p.number(string(a.Raw())) && p.number(string(b.Raw())):
			return true
		}
	}
	return a.Kind() == jsontree.String && x == y
}

// isEpoch reports whether a number may be a Unix time between 2001 and 2033 in seconds,
// milliseconds, microseconds or nanoseconds.
func isEpoch(s string) bool {
	whole, _, _ := strings.Cut(s, ".")
	n, err := strconv.ParseUint(whole, 10, 64)
	if err != nil {
		return false
	}
	for _, unit := range []uint64{1, 1e3, 1e6, 1e9} {
		if n >= 1e9*unit && n < 2e9*unit {
			return true
		}
	}
	return false
}
