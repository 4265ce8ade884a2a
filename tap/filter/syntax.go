package filter

import "strings"

// A form is how a value is written.
type form uint8

const (
	bare form = iota
	quoted
	pattern // a regular expression
)

// A value is one of the values of a term.
type value struct {
	from, to int // in the query
	form     form
	cmp      string // the comparison before it, such as ">="
	text     string // without quotes or slashes
}

// A term is an optional key and one or more values.
type term struct {
	from   int    // in the query
	name   string // the key as it is written, "" if there is none
	key    *key   // nil if there is none, or if it is not known
	values []value
}

// A parser reads a query. Its methods read at i, and move it.
type parser struct {
	q    string
	i    int
	open int // open groups
	f    *Filter
}

// wrong returns the error for a part of the query.
func (p *parser) wrong(from, to int, problem, help string) *Error {
	return &Error{Query: p.q, Pos: from, Len: to - from, Problem: problem, Help: help}
}

const spaces = " \t\n\v\f\r"

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func (p *parser) skipSpace() { p.i = len(p.q) - len(strings.TrimLeft(p.q[p.i:], spaces)) }

// over reports whether a term ends at i.
func (p *parser) over(i int) bool {
	return i >= len(p.q) || strings.IndexByte(spaces, p.q[i]) >= 0 || p.q[i] == ')' && p.open > 0
}

// ends reports whether a value ends at i.
func (p *parser) ends(i int) bool { return p.over(i) || p.q[i] == ',' }

// word returns the query from a place to the end of a term.
func (p *parser) word(from int) string {
	to := from
	for !p.over(to) {
		to++
	}
	return p.q[from:to]
}

// operators are read where a term can begin.
var operators = []string{"AND", "OR", "NOT"}

// operator returns the operator at i, or "".
func (p *parser) operator() string {
	for _, op := range operators {
		if rest, ok := strings.CutPrefix(p.q[p.i:], op); ok && (rest == "" || strings.IndexByte(spaces+"()", rest[0]) >= 0) {
			return op
		}
	}
	return ""
}

// term reads a term. On error it returns the part that it has read.
func (p *parser) term() (t term, err *Error) {
	t.from = p.i
	if t.name = keyName(p.q[p.i:]); t.name != "" {
		p.i += len(t.name) + 1
		if t.key = lookupKey(t.name); t.key == nil {
			return t, p.unknownKey(&t)
		}
	}
	for {
		v, err := p.value(&t)
		t.values = append(t.values, v)
		if err != nil || p.i >= len(p.q) || p.q[p.i] != ',' {
			return t, err
		}
		p.i++
	}
}

// keyName returns the letters before a colon that s begins with, unless they are
// an unknown key in a URL, a Windows path or a qualified name.
func keyName(s string) string {
	name, rest, ok := strings.Cut(s, ":")
	for i := range len(name) {
		ok = ok && (isLetter(name[i]) || name[i] == '_')
	}
	switch {
	case !ok:
		return ""
	case lookupKey(name) != nil:
	case strings.HasPrefix(rest, "//"), // http://host
		strings.HasPrefix(rest, ":"),                                          // std::string
		len(name) == 1 && rest != "" && strings.IndexByte(`\/`, rest[0]) >= 0: // C:\path
		return ""
	}
	return name
}

// value reads one value of a term.
func (p *parser) value(t *term) (v value, err *Error) {
	v.from = p.i
	defer func() { v.to = p.i }()
	if t.key != nil && t.key.number != nil {
		p.i = len(p.q) - len(strings.TrimLeft(p.q[p.i:], "<>="))
		v.cmp = p.q[v.from:p.i]
	}
	if strings.HasPrefix(p.q[p.i:], `"`) {
		return v, p.quoted(&v)
	}
	if found, err := p.pattern(&v); found {
		return v, err
	}
	from, depth := p.i, 0
	for ; p.i < len(p.q); p.i++ { // parentheses inside are text
		if c := p.q[p.i]; c == '(' {
			depth++
		} else if c == ')' && depth > 0 {
			depth--
		} else if p.ends(p.i) {
			break
		}
	}
	if v.text = p.q[from:p.i]; v.text == "" {
		return v, p.noValue(t, &v)
	}
	return v, nil
}

var unquoter = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

// quoted reads a quoted text.
func (p *parser) quoted(v *value) *Error {
	from := p.i
	v.form = quoted
	for p.i++; p.i < len(p.q) && p.q[p.i] != '"'; p.i++ {
		if rest := p.q[p.i:]; strings.HasPrefix(rest, `\"`) || strings.HasPrefix(rest, `\\`) {
			p.i++
		}
	}
	v.text = unquoter.Replace(p.q[from+1 : p.i])
	if p.i == len(p.q) {
		return p.wrong(from, p.i, "unclosed quote", `close it with "; inside, \" is a quote and \\ a backslash`)
	}
	p.i++
	switch {
	case v.text == "":
		return p.wrong(from, p.i, "empty text", "-tool:* matches items without a tool, and the empty query matches everything")
	case !p.ends(p.i):
		return p.wrong(p.i, p.i+len(p.word(p.i)), "text right after a closing quote",
			"leave a space between, or quote it all: "+toQuote(p.word(v.from)))
	}
	return nil
}

// pattern reads a regular expression, if there is one at i.
func (p *parser) pattern(v *value) (found bool, err *Error) {
	rest := p.q[p.i:]
	if !strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, "//") {
		return false, nil
	}
	slash := false
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\\':
			i++
		case c != '/':
		case !p.ends(p.i+i+1) && rest[i+1] != ')':
			slash = true
		default: // also before a parenthesis outside a group, so that String may leave out groups
			p.i += i + 1
			v.form, v.text = pattern, rest[1:i]
			if slash && strings.ContainsAny(v.text, spaces) {
				return true, p.wrong(v.from, p.i, "this could be a regular expression or a path",
					`write \/ for a slash inside a regular expression, and quote a path: `+toQuote(p.word(v.from)))
			}
			return true, nil
		}
	}
	return false, nil
}

// unknownKey returns the error for an unknown key, and moves to the end of the
// term.
func (p *parser) unknownKey(t *term) *Error {
	text := p.word(t.from)
	p.i = t.from + len(text)
	help := "the keys are " + strings.Join(keyNames(), " ")
	if meant := nearestKey(t.name); meant != "" {
		help = "did you mean " + meant + ":?"
	}
	return p.wrong(t.from, t.from+len(t.name)+1, "unknown key "+shown(t.name+":"), help+" (as text: "+toQuote(text)+")")
}

// noValue returns the error for an empty value.
func (p *parser) noValue(t *term, v *value) *Error {
	word := p.word(t.from)
	switch {
	case t.key == nil && word == ",":
		return p.wrong(v.from, v.from+1, "comma without a term", "commas mean or, as in foo,bar; as text: "+toQuote(","))
	case t.key == nil:
		return p.wrong(v.from, v.from, "nothing to search for", "commas mean or, as in foo,bar; as text: "+toQuote(word))
	case v.cmp != "":
		return p.wrong(v.from, p.i, "nothing to compare with", "try "+t.key.examples[0])
	case len(t.values) > 0:
		return p.wrong(v.from, v.from, "empty value for "+t.key.name+":", "commas mean or, as in "+t.key.name+":a,b")
	}
	return p.wrong(t.from, p.i, "empty value for "+t.key.name+":", "try "+t.key.examples[0]+" (as text: "+toQuote(word)+")")
}
