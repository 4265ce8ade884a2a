package redact

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// A Rule is one that a person gives beside the built-in ones.
type Rule struct {
	// text is the rule as it was written, which names it in a [Finding].
	text string
	// Exactly one of these is set.
	key, header string // patterns as of path.Match, plain
	pattern     *regexp.Regexp
	path        []step
}

// ParseRule reads a rule:
//
//	key:NAME       the values of members, parameters and variables of that name,
//	               without case; * stands for any characters
//	header:NAME    the values of header fields of that name, likewise
//	path:$.a[*].b  the values at a path in a message; .. stands for any number of
//	               steps, * for any one, [0] for the first element
//	pattern:REGEX  what a regular expression (RE2) matches, or its first group
func ParseRule(s string) (Rule, error) {
	kind, rest, ok := strings.Cut(s, ":")
	if !ok || rest == "" {
		return Rule{}, fmt.Errorf("%q is no rule", s)
	}
	r := Rule{text: s}
	var err error
	switch kind {
	case "key", "header":
		name := strings.ToLower(rest)
		_, err = path.Match(name, "")
		if r.key = name; kind == "header" {
			r.key, r.header = "", name
		}
	case "pattern":
		r.pattern, err = regexp.Compile(rest)
	case "path":
		r.path, err = parsePath(rest)
	default:
		err = fmt.Errorf("there are no rules of the kind %q", kind)
	}
	if err != nil {
		return Rule{}, fmt.Errorf("%q is no rule: %w", s, err)
	}
	return r, nil
}

// A step is a part of a path.
type step struct {
	name string // of a member, or an index
	// any says that every name fits, deep that there may be steps before.
	any, deep bool
}

func parsePath(s string) ([]step, error) {
	rest, ok := strings.CutPrefix(s, "$")
	if !ok {
		return nil, fmt.Errorf("a path begins with $")
	}
	var steps []step
	for rest != "" {
		var st step
		switch {
		case strings.HasPrefix(rest, ".."):
			st.deep, rest = true, rest[1:]
			if strings.HasPrefix(rest, ".[") {
				rest = rest[1:]
			}
		case rest[0] != '.' && rest[0] != '[':
			return nil, fmt.Errorf(". or [ is missing before %q", rest)
		}
		if rest[0] == '[' {
			inside, after, ok := strings.Cut(rest[1:], "]")
			if !ok {
				return nil, fmt.Errorf("] is missing")
			}
			st.name, rest = strings.Trim(inside, `'"`), after
		} else {
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			st.name, rest = rest[1:1+end], rest[1+end:]
		}
		if st.name == "" {
			return nil, fmt.Errorf("a step is empty")
		}
		st.any = st.name == "*"
		steps = append(steps, st)
	}
	if len(steps) == 0 || len(steps) > 32 {
		return nil, fmt.Errorf("a path has 1 to 32 steps")
	}
	return steps, nil
}

// fits reports whether a path leads to a place, whose names are below $. It takes
// time in proportion to the product of their lengths.
func fits(steps []step, place []crumb) bool {
	// at holds which numbers of steps may have been taken so far.
	at := uint64(1)
	for _, c := range place {
		next := uint64(0)
		for i, s := range steps {
			if at>>i&1 == 0 {
				continue
			}
			if s.any || s.name == c.name {
				next |= 1 << (i + 1)
			}
			if s.deep {
				next |= 1 << i
			}
		}
		at = next
	}
	return at>>len(steps)&1 == 1
}

// matchName reports whether a name fits a pattern of a rule.
func matchName(pattern, name string) bool {
	ok, _ := path.Match(pattern, strings.ToLower(name))
	return ok
}

// matches calls fn with what the pattern of a rule matches, or with the first group
// of that.
func (r *Rule) matches(text []byte, fn func(start, end int, rule string)) {
	for _, m := range r.pattern.FindAllSubmatchIndex(text, -1) {
		if len(m) > 2 && m[2] >= 0 {
			m = m[2:]
		}
		fn(m[0], m[1], r.text)
	}
}
