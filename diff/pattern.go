package diff

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// A pattern matches paths. What is below a path that it matches, it matches too.
type pattern []patternStep

// A patternStep matches one step: a member or a key by its name, an element by
// its place, any step, or any number of steps.
type patternStep struct {
	name      string
	index     int
	isIndex   bool
	any, many bool
}

// parsePattern reads a pattern such as result.content[*].text. Steps are names,
// [3] for the element at a place, * and [*] for any step, ** for any number of
// steps, and ["a name"] for one with other characters than letters, digits, _,
// - and $. The step (json), from a text to the JSON in it, may be left out.
func parsePattern(text string) (pattern, error) {
	var p pattern
	rest := text
	for rest != "" {
		var (
			s   patternStep
			err error
		)
		switch {
		case strings.HasPrefix(rest, "(json)"):
			rest = strings.TrimPrefix(rest[len("(json)"):], ".")
			continue
		case rest[0] == '[':
			s, rest, err = bracketStep(rest)
		default:
			s, rest, err = nameStep(rest)
		}
		if err != nil {
			return nil, err
		}
		p = append(p, s)
	}
	if len(p) == 0 {
		return nil, fmt.Errorf("the path is empty (want one such as result.content[*].text)")
	}
	return p, nil
}

func nameStep(rest string) (s patternStep, after string, err error) {
	end := strings.IndexAny(rest, ".[")
	if end < 0 {
		end = len(rest)
	}
	s.name, after = rest[:end], rest[end:]
	if strings.HasPrefix(after, ".") {
		if after = after[1:]; after == "" {
			return s, "", fmt.Errorf("the path ends in a dot")
		}
	}
	switch s.name {
	case "":
		return s, "", fmt.Errorf("the path has an empty step")
	case "*":
		s.any = true
	case "**":
		s.many = true
	}
	return s, after, nil
}

func bracketStep(rest string) (s patternStep, after string, err error) {
	if strings.HasPrefix(rest, `["`) {
		dec := json.NewDecoder(strings.NewReader(rest[1:]))
		if err := dec.Decode(&s.name); err != nil {
			return s, "", fmt.Errorf("the quoted name in %q does not end", rest)
		}
		after = rest[1+dec.InputOffset():]
	} else {
		end := strings.IndexByte(rest, ']')
		if end < 0 {
			return s, "", fmt.Errorf("a bracket is open in %q", rest)
		}
		inside := rest[1:end]
		after = rest[end:]
		if s.any = inside == "*"; !s.any {
			s.isIndex = true
			if s.index, err = strconv.Atoi(inside); err != nil || s.index < 0 {
				return s, "", fmt.Errorf("%q is no place: want a number, * or a name in quotes", inside)
			}
		}
	}
	if !strings.HasPrefix(after, "]") {
		return s, "", fmt.Errorf("a bracket is open in %q", rest)
	}
	after = after[1:]
	if strings.HasPrefix(after, ".") && len(after) > 1 {
		after = after[1:]
	}
	return s, after, nil
}

// mustPattern is parsePattern for those in the source.
func mustPattern(text string) pattern {
	p, err := parsePattern(text)
	if err != nil {
		panic(err)
	}
	return p
}

// matches reports whether the pattern matches a path, or one above it.
func (p pattern) matches(path jsontree.Path) bool { return p.match(path, false) }

// exactly reports whether the pattern matches a path itself.
func (p pattern) exactly(path jsontree.Path) bool { return p.match(path, true) }

// maxMatched is how many steps of a path are looked at.
const maxMatched = 256

// match walks both at once. Only the last ** needs to be tried in other ways, as
// the first match of what stands before it leaves the most to what follows.
func (p pattern) match(path jsontree.Path, whole bool) bool {
	if len(path) > maxMatched {
		path = path[:maxMatched]
	}
	i, star, from := 0, -1, 0
	for k := 0; ; {
		for k < len(path) && path[k].Kind == jsontree.Inside {
			k++
		}
		switch {
		case i < len(p) && p[i].many:
			star, from = i, k
			i++
			continue
		case i == len(p) && (!whole || k == len(path)):
			return true
		case k == len(path):
			return false
		case i < len(p) && p[i].matches(path[k]):
			i++
			k++
			continue
		case star < 0:
			return false
		}
		from++
		i, k = star+1, from
	}
}

func (s patternStep) matches(step jsontree.Step) bool {
	switch {
	case s.any:
		return true
	case step.Kind == jsontree.Element:
		return s.isIndex && s.index == step.Index
	}
	return !s.isIndex && s.name == step.Name
}
