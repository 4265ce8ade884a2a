package filter

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// compileText compiles a value of a key of text.
func compileText(p *parser, k *key, v *value) (func(*Item) bool, *Error) {
	match, err := p.textMatch(v)
	if err != nil {
		return nil, err
	}
	get := k.text
	return func(it *Item) bool {
		s := get(it)
		return s != "" && match(s)
	}, nil
}

// textMatch compiles what the whole of a text has to be.
func (p *parser) textMatch(v *value) (func(string) bool, *Error) {
	switch {
	case v.form == pattern:
		re, _, err := p.regexp(v, "")
		if err != nil {
			return nil, err
		}
		return re.MatchString, nil
	case v.form == bare && strings.Contains(v.text, "*"):
		return newGlob(v.text).match, nil
	}
	want := v.text
	return func(s string) bool { return strings.EqualFold(s, want) }, nil
}

// compileID compiles a value of id:. A quoted value is a string; a bare one is
// a number or null if it can be, a string otherwise.
func compileID(p *parser, _ *key, v *value) (func(*Item) bool, *Error) {
	want := []byte(v.text)
	if v.form == bare && (v.text == "null" || isNumber(v.text)) {
		return func(it *Item) bool { return bytes.Equal(it.ID, want) }, nil
	}
	f := p.f
	switch {
	case v.form == pattern:
		re, _, err := p.regexp(v, "")
		if err != nil {
			return nil, err
		}
		return func(it *Item) bool {
			id, _ := f.idText(it.ID)
			return len(it.ID) > 0 && re.Match(id)
		}, nil
	case v.form == bare && strings.Contains(v.text, "*"):
		g := newGlob(v.text)
		return func(it *Item) bool {
			id, _ := f.idText(it.ID)
			return len(it.ID) > 0 && g.match(string(id))
		}, nil
	}
	return func(it *Item) bool {
		id, isString := f.idText(it.ID)
		return isString && bytes.EqualFold(id, want)
	}, nil
}

// isNumber reports whether s is how JSON writes a number.
func isNumber(s string) bool {
	return (s[0] == '-' || '0' <= s[0] && s[0] <= '9') && json.Valid([]byte(s))
}

// idText returns an id without its quotes and escapes.
func (f *Filter) idText(id []byte) (text []byte, isString bool) {
	if len(id) < 2 || id[0] != '"' {
		return id, false
	}
	text = id[1:]
	if text[len(text)-1] == '"' { // else it was cut
		text = text[:len(text)-1]
	}
	if bytes.IndexByte(text, '\\') < 0 {
		return text, true
	}
	var u unescaper
	f.buf[0] = u.end(u.write(f.buf[0][:0], text))
	return f.buf[0], true
}

// regexp compiles a regular expression, with flags before it. It also returns
// texts one of which every match contains; none if that is not known.
func (p *parser) regexp(v *value, flags string) (*regexp.Regexp, []string, *Error) {
	tree, err := parseRegexp(v.text)
	if err != nil {
		return nil, nil, p.badRegexp(v, err)
	}
	re, err := regexp.Compile(flags + v.text)
	if err != nil {
		return nil, nil, p.badRegexp(v, err)
	}
	return re, required(tree.Simplify()), nil
}
