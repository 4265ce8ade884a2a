package filter

import (
	"encoding/json"
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

// payload compiles a value of a term without a key.
func (p *parser) payload(v *value) (*node, *Error) {
	text := payloadText{}
	switch {
	case v.form == pattern:
		var err *Error
		if text.re, err = p.regexp(v, "(?m)"); err != nil {
			return nil, err
		}
	case v.form == bare && strings.Trim(v.text, "*") == "":
		return testNode(func(*Item) bool { return true }), nil
	default:
		text.glob = p.f.glob(v)
	}
	p.f.needs |= NeedPayload
	p.f.texts = append(p.f.texts, text)
	return &node{op: opPayload, bit: len(p.f.texts) - 1}, nil
}

// text compiles a value of a key of text.
func (p *parser) text(k *key, v *value) (*node, *Error) {
	f := p.f
	if v.form == pattern {
		re, err := p.regexp(v, "")
		return testNode(func(it *Item) bool {
			s := k.text(it)
			return s != "" && re.MatchString(s)
		}), err
	}
	g := f.glob(v)
	return testNode(func(it *Item) bool {
		s := k.text(it)
		f.folded = append(f.folded[:0], s...)
		return s != "" && g.is(f.letters.fold(f.folded[:0], f.folded))
	}), nil
}

// id compiles a value of id:. A quoted value is a string. A bare one is a number
// or null if it can be, and a string otherwise. Patterns match all of them.
func (p *parser) id(v *value) (*node, *Error) {
	f := p.f
	if v.form == pattern {
		re, err := p.regexp(v, "")
		return testNode(func(it *Item) bool {
			id, _ := f.idText(it.ID)
			return len(it.ID) > 0 && re.Match(id)
		}), err
	}
	if v.form == bare && (v.text == "null" || isNumber(v.text)) {
		return testNode(func(it *Item) bool { return string(it.ID) == v.text }), nil
	}
	g := f.glob(v)
	return testNode(func(it *Item) bool {
		id, isString := f.idText(it.ID)
		f.folded = f.letters.fold(f.folded[:0], id)
		return len(it.ID) > 0 && (isString || len(g) > 1) && g.is(f.folded)
	}), nil
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
	if text[len(text)-1] == '"' { // it has none if it was cut
		text = text[:len(text)-1]
	}
	f.unescaped = unescape(f.unescaped[:0], text)
	return f.unescaped, true
}

// regexp compiles a regular expression, with flags before it.
func (p *parser) regexp(v *value, flags string) (*regexp.Regexp, *Error) {
	_, err := syntax.Parse(v.text, syntax.Perl) // without the flags, as errors quote it
	if err == nil {
		var re *regexp.Regexp
		if re, err = regexp.Compile(flags + v.text); err == nil {
			return re, nil
		}
	}
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
			help = "RE2 has no look-around and no backreferences, see https://golang.org/s/re2syntax"
		case syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrNestingDepth:
			help = "at most 1000 repetitions are allowed"
		}
	}
	return nil, p.wrong(from, to, problem, help)
}
