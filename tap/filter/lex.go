package filter

import (
	"strings"
	"unicode/utf8"
)

// form is how a value is written.
type form uint8

const (
	bare form = iota
	quoted
	pattern // a regular expression
)

// A value is one of a term's values.
type value struct {
	from, to int // in the query
	form     form
	cmp      string // the comparison before it, such as ">="
	text     string // without quotes or slashes
}

// A term is what a query is made of, before anybody knows what it means.
type term struct {
	from, to int    // in the query
	name     string // the key as it is written, "" without one
	key      *key   // nil without one, or when it is not known
	values   []value
}

// A lexer cuts a query into terms. Each method reads at i, and moves it.
type lexer struct {
	q    string
	i    int
	open int // groups that are open
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func (l *lexer) skipSpace() {
	for l.i < len(l.q) && isSpace(l.q[l.i]) {
		l.i++
	}
}

// over reports whether a term is over at i.
func (l *lexer) over(i int) bool {
	return i >= len(l.q) || isSpace(l.q[i]) || l.q[i] == ')' && l.open > 0
}

// ends reports whether a value is over at i.
func (l *lexer) ends(i int) bool { return l.over(i) || l.q[i] == ',' }

// word returns what stands up to the next space.
func (l *lexer) word(from int) string {
	for i := from; ; i++ {
		if l.over(i) {
			return l.q[from:i]
		}
	}
}

// operators are read where a term would begin.
var operators = []string{"AND", "OR", "NOT"}

// operator returns the operator at i, "" if there is none.
func (l *lexer) operator() string {
	for _, w := range operators {
		if rest, ok := strings.CutPrefix(l.q[l.i:], w); ok && (rest == "" || isSpace(rest[0]) || rest[0] == '(' || rest[0] == ')') {
			return w
		}
	}
	return ""
}

// term reads a term. If it is wrong, what could be read of it is returned too.
func (l *lexer) term() (t term, err *Error) {
	t.from = l.i
	defer func() { t.to = l.i }()
	if name := keyName(l.q[l.i:]); name != "" {
		t.name, t.key = name, lookupKey(name)
		l.i += len(name) + 1
		if t.key == nil {
			return t, l.unknownKey(t.from, name)
		}
	}
	for {
		v, err := l.value(&t)
		t.values = append(t.values, v)
		if err != nil {
			return t, err
		}
		if l.i >= len(l.q) || l.q[l.i] != ',' {
			return t, nil
		}
		l.i++
	}
}

// keyName returns the letters before a colon, if s begins with a key. What is
// plainly no key is none.
func keyName(s string) string {
	n := 0
	for n < len(s) && (isLetter(s[n]) || s[n] == '_') {
		n++
	}
	if n == 0 || n == len(s) || s[n] != ':' {
		return ""
	}
	name, rest := s[:n], s[n+1:]
	if lookupKey(name) != nil {
		return name
	}
	switch {
	case strings.HasPrefix(rest, "//"), // http://host
		strings.HasPrefix(rest, ":"),                                // std::string
		n == 1 && rest != "" && (rest[0] == '\\' || rest[0] == '/'): // C:\path
		return ""
	}
	return name
}

// value reads one value of t.
func (l *lexer) value(t *term) (v value, err *Error) {
	v.from = l.i
	defer func() { v.to = l.i }()
	if t.key != nil && t.key.compares() {
		for l.i < len(l.q) && strings.IndexByte("<>=", l.q[l.i]) >= 0 {
			l.i++
		}
		v.cmp = l.q[v.from:l.i]
	}
	switch {
	case l.i < len(l.q) && l.q[l.i] == '"':
		return v, l.quoted(&v)
	case l.i < len(l.q) && l.q[l.i] == '/' && l.pattern():
		v.form, v.text = pattern, l.q[v.from+len(v.cmp)+1:l.i-1]
		return v, l.ambiguous(&v)
	}
	l.bare(&v)
	if v.text == "" {
		return v, l.noValue(t, &v)
	}
	return v, nil
}

// bare reads up to where the value ends. Parentheses inside it are its own.
func (l *lexer) bare(v *value) {
	from, depth := l.i, 0
	for ; l.i < len(l.q); l.i++ {
		if c := l.q[l.i]; c == '(' {
			depth++
		} else if c == ')' && depth > 0 {
			depth--
		} else if l.ends(l.i) {
			break
		}
	}
	v.text = l.q[from:l.i]
}

// quoted reads a quoted value.
func (l *lexer) quoted(v *value) *Error {
	from := l.i
	v.form = quoted
	var b strings.Builder
	for l.i++; l.i < len(l.q); l.i++ {
		switch c := l.q[l.i]; {
		case c == '\\' && l.i+1 < len(l.q) && (l.q[l.i+1] == '"' || l.q[l.i+1] == '\\'):
			l.i++
			b.WriteByte(l.q[l.i])
		case c == '"':
			l.i++
			v.text = b.String()
			return l.afterQuote(v, from)
		default:
			b.WriteByte(c)
		}
	}
	v.text = b.String()
	return l.wrong(from, len(l.q), "unclosed quote", `end it with "; inside, \" is a quote and \\ a backslash`)
}

func (l *lexer) afterQuote(v *value, from int) *Error {
	switch {
	case v.text == "":
		return l.wrong(from, l.i, "empty text", "-tool:* finds what has no tool, and the empty query matches everything")
	case !l.ends(l.i):
		return l.wrong(l.i, l.i+len(l.word(l.i)), "text right after a closing quote",
			"leave a space between, or quote it all: "+toQuote(l.word(v.from)))
	}
	return nil
}

// pattern moves behind the regular expression at i, if there is one.
func (l *lexer) pattern() bool {
	if strings.HasPrefix(l.q[l.i:], "//") {
		return false
	}
	for i := l.i + 1; i < len(l.q); i++ {
		switch {
		case l.q[i] == '\\':
			i++
		// A parenthesis ends it in a group or not, so that a query says the same
		// when a needless pair is left out.
		case l.q[i] == '/' && (l.ends(i+1) || l.q[i+1] == ')'):
			l.i = i + 1
			return true
		}
	}
	return false
}

// ambiguous refuses a value that could be a path and more words as well as a
// regular expression.
func (l *lexer) ambiguous(v *value) *Error {
	if !strings.ContainsFunc(v.text, func(r rune) bool { return r < utf8.RuneSelf && isSpace(byte(r)) }) {
		return nil
	}
	for i := 0; i < len(v.text); i++ {
		switch v.text[i] {
		case '\\':
			i++
		case '/':
			return l.wrong(v.from, l.i, "this could be a regular expression or a path",
				`write \/ for a slash inside a regular expression, and quote a path: `+toQuote(l.word(v.from)))
		}
	}
	return nil
}
