// Package jsonpath implements the dialect of paths with which users name parts of
// messages, such as $.result.items[*].id. It is pure.
//
//	$             the message
//	.name         a member, or a key of a list whose elements have keys
//	["a name"]    the same, for names with other characters; ["a na…"] matches a prefix
//	[3]           an element, from 0
//	[*] .*        any member or element
//	..name ..[3]  the same after any number of steps
//
// The step (json), which leads from a string to the JSON in it, may be left out.
package jsonpath

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// A Pattern matches paths. Make one with [Parse].
type Pattern []step

// A step matches one step of a path.
type step struct {
	name    string
	quoted  bool
	index   int
	isIndex bool
	any     bool
	deep    bool // after any number of steps
}

// Parse reads a pattern. The error for a path that does not begin with $ suggests one
// that does, if possible.
func Parse(text string) (Pattern, error) {
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		err := errors.New("a path begins with $, such as $.result.items[*].id")
		if now := respelled(text); now != "" {
			err = fmt.Errorf("a path begins with $: write %s", now)
		}
		return nil, err
	}
	var p Pattern
	for rest != "" {
		s, after, err := parseStep(rest)
		if err != nil {
			return nil, err
		}
		if rest = after; s != (step{name: inside}) {
			p = append(p, s)
		}
	}
	if len(p) == 0 {
		return nil, errors.New("the path has no steps: write, for example, $.result.items[*].id")
	}
	return p, nil
}

// inside is the step from a string to the JSON in it.
const inside = "(json)"

// Must is Parse for patterns in the source. It panics if the pattern is not valid.
func Must(text string) Pattern {
	p, err := Parse(text)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return p
}

// respelled returns a path without $ in this dialect, "" if that is impossible.
func respelled(text string) string {
	text = strings.TrimPrefix(text, ".")
	if text == "" {
		return ""
	}
	if text[0] != '[' {
		text = "." + text
	}
	if before, ok := strings.CutSuffix(text, ".**"); ok {
		text = before + "..*"
	}
	text = "$" + strings.NewReplacer(".**.", "..", ".**[", "..[").Replace(text)
	if _, err := Parse(text); err != nil {
		return ""
	}
	return text
}

// parseStep reads the first step of a text that is not empty.
func parseStep(text string) (s step, rest string, err error) {
	rest = text
	if s.deep = strings.HasPrefix(rest, ".."); s.deep {
		rest = rest[1:]
		if strings.HasPrefix(rest, ".[") {
			rest = rest[1:]
		}
	}
	switch {
	case rest[0] == '[':
		return bracket(s, rest)
	case rest[0] != '.':
		return s, "", fmt.Errorf("no . or [ before %q", rest)
	}
	end := strings.IndexAny(rest[1:], ".[")
	if end < 0 {
		end = len(rest) - 1
	}
	s.name, rest = rest[1:1+end], rest[1+end:]
	switch s.name {
	case "":
		return s, "", errors.New("the path has an empty step")
	case "**":
		return s, "", errors.New("write .. for any number of steps, as in $..id")
	}
	if s.any = s.name == "*"; s.any {
		s.name = ""
	}
	return s, rest, nil
}

// bracket reads the rest of a step in brackets.
func bracket(s step, text string) (_ step, rest string, err error) {
	if s.quoted = strings.HasPrefix(text, `["`); s.quoted {
		dec := json.NewDecoder(strings.NewReader(text[1:]))
		if err := dec.Decode(&s.name); err != nil {
			return s, "", fmt.Errorf("the quoted name in %q does not end", text)
		}
		rest = text[1+dec.InputOffset():]
		if !strings.HasPrefix(rest, "]") {
			return s, "", fmt.Errorf("missing ] in %q", text)
		}
		return s, rest[1:], nil
	}
	index, rest, ok := strings.Cut(text[1:], "]")
	if !ok {
		return s, "", fmt.Errorf("missing ] in %q", text)
	}
	if s.any = index == "*"; s.any {
		return s, rest, nil
	}
	s.isIndex = true
	if s.index, err = strconv.Atoi(index); err != nil || s.index < 0 {
		return s, "", fmt.Errorf("[%s] must hold a number, * or a quoted name", index)
	}
	return s, rest, nil
}

// Matches reports whether the pattern matches a path, or one above it.
func (p Pattern) Matches(path jsontree.Path) bool { return p.match(path, false) }

// Exactly reports whether the pattern matches a path itself.
func (p Pattern) Exactly(path jsontree.Path) bool { return p.match(path, true) }

// maxMatched is the maximum number of steps of a path that are compared.
const maxMatched = 256

// match walks pattern and path together. Only the last deep step needs to be tried at other
// positions: the first match of the earlier ones leaves the most to the steps that follow.
func (p Pattern) match(path jsontree.Path, whole bool) bool {
	path = path[:min(len(path), maxMatched)]
	i, k, deep, from := 0, 0, -1, 0
	for {
		for k < len(path) && path[k].Kind == jsontree.Inside {
			k++
		}
		if i < len(p) && p[i].deep && i != deep {
			deep, from = i, k
		}
		switch {
		case i == len(p) && (!whole || k == len(path)):
			return true
		case k == len(path):
			return false
		case i < len(p) && p[i].matches(path[k]):
			i++
			k++
			continue
		case deep < 0:
			return false
		}
		from++
		i, k = deep, from
	}
}

func (s step) matches(at jsontree.Step) bool {
	switch {
	case s.any:
		return true
	case s.isIndex != (at.Kind == jsontree.Element):
		return false
	case s.isIndex:
		return s.index == at.Index
	}
	begin, cut := strings.CutSuffix(s.name, "…")
	return s.name == at.Name || cut && s.quoted && strings.HasPrefix(at.Name, begin)
}

// String returns the pattern as [Parse] reads it.
func (p Pattern) String() string {
	text := "$"
	for _, s := range p {
		step := ""
		switch {
		case s.any:
			step = "[*]"
		case s.isIndex:
			step = "[" + strconv.Itoa(s.index) + "]"
		case s.quoted || s.name == "":
			name, _ := json.Marshal(s.name) // cannot fail
			step = "[" + string(name) + "]"
		default:
			step = "." + s.name
		}
		if s.deep {
			text += ".." + strings.TrimPrefix(step, ".")
		} else {
			text += step
		}
	}
	return text
}

// ErrSeveral is returned by [Pattern.Set] for a pattern that may match more than one place.
var ErrSeveral = errors.New("a path with * or .. may lead to several places")

// Set returns the JSON text with the value at the one place of the pattern replaced by value,
// which must be JSON. Missing members and objects are added. Everything else is unchanged.
func (p Pattern) Set(text, value []byte) ([]byte, error) {
	at, err := p.place(":")
	if err != nil {
		return nil, err
	}
	return sjson.SetRawBytes(text, at, value)
}

// In reports whether a JSON text has a value at the one place of a pattern.
func (p Pattern) In(text []byte) bool {
	at, err := p.place("")
	return err == nil && gjson.GetBytes(text, at).Exists()
}

// place returns the pattern in the syntax of sjson and gjson. Sjson needs a colon before a name
// that could be an index.
func (p Pattern) place(colon string) (string, error) {
	at := make([]string, len(p))
	for i, s := range p {
		switch {
		case s.any || s.deep:
			return "", ErrSeveral
		case s.isIndex:
			at[i] = strconv.Itoa(s.index)
		default:
			at[i] = member(s.name, colon)
		}
	}
	return strings.Join(at, "."), nil
}

// member returns the path that matches a name literally.
func member(name, colon string) string {
	escaped := strings.NewReplacer(`\`, `\\`, ".", `\.`, "*", `\*`, "?", `\?`, "|", `\|`, "#", `\#`, "@", `\@`).Replace(name)
	if name != "" && strings.Trim(name, "0123456789") == "" || strings.HasPrefix(name, ":") {
		return colon + escaped
	}
	return escaped
}
