package filter

import (
	"encoding/json"
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

// compilePayload compiles a term without a key.
func (p *parser) compilePayload(t *term) (*node, *Error) {
	var out payloadTerm
	always := false
	for i := range t.values {
		v := &t.values[i]
		switch {
		case v.form == pattern:
			re, err := p.regexp(v, "(?m)")
			if err != nil {
				return nil, err
			}
			out.regexps = append(out.regexps, re)
		case v.form == bare && strings.Trim(v.text, "*") == "":
			always = true
		default:
			out.globs = append(out.globs, p.f.newGlob(v))
		}
	}
	if always {
		return &node{src: p.source(t), test: func(*Item) bool { return true }}, nil
	}
	p.f.needs |= NeedPayload
	p.f.terms = append(p.f.terms, out)
	return &node{op: opPayload, src: p.source(t), term: len(p.f.terms) - 1}, nil
}

// compileText compiles a value of a key of text.
func compileText(p *parser, k *key, v *value) (func(*Item) bool, *Error) {
	f := p.f
	if v.form == pattern {
		re, err := p.regexp(v, "")
		return func(it *Item) bool {
			s := k.text(it)
			return s != "" && re.MatchString(s)
		}, err
	}
	g := f.newGlob(v)
	return func(it *Item) bool {
		s := k.text(it)
		f.folded = append(f.folded[:0], s...)
		return s != "" && g.is(f.letters.fold(f.folded[:0], f.folded))
	}, nil
}

// compileID compiles a value of id:. A quoted value is a string; a bare one is
// a number or null if it can be, and otherwise a string. Patterns match both.
func compileID(p *parser, _ *key, v *value) (func(*Item) bool, *Error) {
	f := p.f
	switch {
	case v.form == pattern:
		re, err := p.regexp(v, "")
		return func(it *Item) bool {
			id, _ := f.idText(it.ID)
			return len(it.ID) > 0 && re.Match(id)
		}, err
	case v.form == bare && (v.text == "null" || isNumber(v.text)):
		return func(it *Item) bool { return string(it.ID) == v.text }, nil
	}
	g := f.newGlob(v)
	return func(it *Item) bool {
		id, isString := f.idText(it.ID)
		f.folded = f.letters.fold(f.folded[:0], id)
		return len(it.ID) > 0 && (isString || len(g) > 1) && g.is(f.folded)
	}, nil
}

// isNumber reports whether s is a JSON number.
func isNumber(s string) bool {
	return (s[0] == '-' || '0' <= s[0] && s[0] <= '9') && json.Valid([]byte(s))
}

// idText returns an id without its quotes and escapes.
func (f *Filter) idText(id []byte) (text []byte, isString bool) {
	if len(id) < 2 || id[0] != '"' {
		return id, false
	}
	text = id[1:]
	if text[len(text)-1] == '"' { // not of an id that was cut
		text = text[:len(text)-1]
	}
	f.unescaped = unescape(f.unescaped[:0], text)
	return f.unescaped, true
}

// regexp compiles a regular expression, with flags before it.
func (p *parser) regexp(v *value, flags string) (*regexp.Regexp, *Error) {
	// Without the flags, so that an error does not name them.
	if _, err := syntax.Parse(v.text, syntax.Perl); err != nil {
		return nil, p.badRegexp(v, err)
	}
	re, err := regexp.Compile(flags + v.text)
	if err != nil {
		return nil, p.badRegexp(v, err)
	}
	return re, nil
}

// badRegexp returns the error for a regular expression, at the part of it that is
// wrong if package regexp names one.
func (p *parser) badRegexp(v *value, err error) *Error {
	from, to := v.from+strings.IndexByte(p.q[v.from:v.to], '/')+1, v.to-1
	problem, help := "bad regular expression", `a backslash before a character makes it literal, and "…" a whole text`
	var bad *syntax.Error
	if errors.As(err, &bad) {
		problem += ": " + bad.Code.String()
		if i := strings.Index(p.q[from:to], bad.Expr); i >= 0 && bad.Expr != "" {
			from, to = from+i, from+i+len(bad.Expr)
		}
		switch bad.Code {
		case syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape:
			help = "RE2 has no look-around and no references back, see https://golang.org/s/re2syntax"
		case syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrNestingDepth:
			help = "repeat less: 1000 times is the most"
		}
	}
	return p.wrong(from, to, problem, help)
}
