package redact

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// A Rule is an additional rule of the user.
type Rule struct {
	// text is the source of the rule, its name in a [Finding].
	text string
	// Exactly one of these is set.
	key, header string // lower-case patterns of path.Match
	pattern     *regexp.Regexp
	path        []step
}

// ParseRule parses a rule:
//
//	key:NAME       the values of members, parameters and variables of that name,
//	               ignoring case; * matches any characters
//	header:NAME    the values of header fields of that name, likewise
//	path:$.a[*].b  the values at a path in a message; .. matches any number of
//	               steps, * any single one, [0] the first element
//	pattern:REGEX  the matches of a regular expression (RE2), or of its first group
func ParseRule(s string) (Rule, error) {
	kind, rest, ok := strings.Cut(s, ":")
	if !ok || rest == "" {
		return Rule{}, fmt.Errorf("invalid rule %q", s)
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
		err = fmt.Errorf("unknown kind %q", kind)
	}
	if err != nil {
		return Rule{}, fmt.Errorf("invalid rule %q: %w", s, err)
	}
	return r, nil
}

// A step is a part of a path.
type step struct {
	name string // of a member, or an index
	// any matches every name, deep any number of steps before.
	any, deep bool
}

func parsePath(s string) ([]step, error) {
	rest, ok := strings.CutPrefix(s, "$")
	if !ok {
		return nil, fmt.Errorf("path does not begin with $")
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
			return nil, fmt.Errorf("missing . or [ before %q", rest)
		}
		if rest[0] == '[' {
			inside, after, ok := strings.Cut(rest[1:], "]")
			if !ok {
				return nil, fmt.Errorf("missing ]")
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
			return nil, fmt.Errorf("empty step in path")
		}
		st.any = st.name == "*"
		steps = append(steps, st)
	}
	if len(steps) == 0 || len(steps) > 32 {
		return nil, fmt.Errorf("path must have 1 to 32 steps")
	}
	return steps, nil
}

// fits reports whether a path matches a place, in time proportional to the product of their
// lengths.
func fits(steps []step, place []crumb) bool {
	// at is the set of the numbers of steps that may have been matched.
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

// matchName reports whether a pattern of a rule matches a name.
func matchName(pattern, name string) bool {
	ok, _ := path.Match(pattern, strings.ToLower(name))
	return ok
}

// matches calls fn with the matches of the pattern of a rule, or of its first group.
func (r *Rule) matches(text []byte, fn func(start, end int, rule string)) {
	for _, m := range r.pattern.FindAllSubmatchIndex(text, -1) {
		if len(m) > 2 && m[2] >= 0 {
			m = m[2:]
		}
		fn(m[0], m[1], r.text)
	}
}
