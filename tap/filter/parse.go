package filter

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// MaxQuery is how many bytes a query may have.
	MaxQuery = 4 << 10
	// MaxDepth is how many groups may stand inside one another.
	MaxDepth = 100
)

// A parser makes a filter of a query.
type parser struct {
	lexer
	f *Filter
}

func (p *parser) parse() (*node, *Error) {
	if len(p.q) > MaxQuery {
		return nil, p.wrong(MaxQuery, len(p.q), fmt.Sprintf("the query is longer than %d KiB", MaxQuery>>10), "")
	}
	if !utf8.ValidString(p.q) {
		i := len(p.q) - len(strings.TrimLeftFunc(p.q, func(r rune) bool { return r != utf8.RuneError }))
		return nil, p.wrong(i, i+1, "the query is not UTF-8", "")
	}
	if p.skipSpace(); p.i == len(p.q) {
		return nil, nil
	}
	return p.any()
}

// any reads alternatives, up to the end of the query or of the group.
func (p *parser) any() (*node, *Error) {
	var kids []*node
	for {
		n, err := p.all()
		if err != nil {
			return nil, err
		}
		kids = append(kids, n)
		if p.operator() != "OR" {
			return join(opAny, kids), nil
		}
		p.i += len("OR")
	}
}

// all reads terms up to an OR, or the end.
func (p *parser) all() (*node, *Error) {
	var kids []*node
	for {
		n, err := p.one()
		if err != nil {
			return nil, err
		}
		kids = append(kids, n)
		p.skipSpace()
		if p.operator() == "AND" {
			p.i += len("AND")
			continue
		}
		if p.i == len(p.q) || p.q[p.i] == ')' && p.open > 0 || p.operator() == "OR" {
			return join(opAll, kids), nil
		}
	}
}

// one reads one term or group, and what negates it.
func (p *parser) one() (*node, *Error) {
	p.skipSpace()
	negated := false
	for p.operator() == "NOT" {
		p.i += len("NOT")
		negated = !negated
		p.skipSpace()
	}
	if rest := p.q[p.i:]; strings.HasPrefix(rest, "-") {
		switch {
		case p.over(p.i + 1):
			return nil, p.wrong(p.i, p.i+1, "a minus alone", `put it right before what it negates, as in -is:error; as text: "-"`)
		case rest[1] == '-':
			return nil, p.wrong(p.i, p.i+2, "two minus signs", "one negates; as text: "+toQuote(p.word(p.i)))
		}
		p.i++
		negated = !negated
	}
	if err := p.misplaced(); err != nil {
		return nil, err
	}
	n, err := p.termOrGroup()
	if err != nil {
		return nil, err
	}
	if negated {
		return not(n), nil
	}
	return n, nil
}

// misplaced is the error for what cannot begin a term.
func (p *parser) misplaced() *Error {
	if op := p.operator(); op != "" {
		return p.wrong(p.i, p.i+len(op), op+" without a term before it", `as text: "`+strings.ToLower(op)+`"`)
	}
	if p.i == len(p.q) || p.q[p.i] == ')' && p.open > 0 {
		last := strings.TrimRight(p.q[:p.i], " \t\n\v\f\r")
		for _, op := range operators {
			if strings.HasSuffix(last, op) {
				return p.wrong(len(last)-len(op), len(last), op+" without a term after it", `as text: "`+strings.ToLower(op)+`"`)
			}
		}
		if p.i == len(p.q) {
			return p.unclosed(len(last) - 1)
		}
		return p.wrong(len(last)-1, p.i+1, "empty group", `put terms between ( and ); as text: "()"`)
	}
	switch w := p.word(p.i); w {
	case "|", "||":
		return p.wrong(p.i, p.i+len(w), w+" is no operator", "write OR, or foo,bar; as text: "+toQuote(w))
	case "&", "&&":
		return p.wrong(p.i, p.i+len(w), w+" is no operator", "terms side by side have to match both; as text: "+toQuote(w))
	}
	if p.q[p.i] == ')' {
		return p.wrong(p.i, p.i+1, ") without a ( before it", `as text: ")"`)
	}
	return nil
}

func (p *parser) termOrGroup() (*node, *Error) {
	if p.q[p.i] != '(' {
		t, err := p.term()
		if err != nil {
			return nil, err
		}
		return p.compile(&t)
	}
	from := p.i
	if p.open == MaxDepth {
		return nil, p.wrong(from, from+1, fmt.Sprintf("more than %d groups inside one another", MaxDepth), "")
	}
	p.i++
	p.open++
	n, err := p.any()
	if err != nil {
		return nil, err
	}
	p.open--
	if p.i == len(p.q) {
		return nil, p.unclosed(from)
	}
	p.i++ // the parenthesis, as any stops at nothing else
	return n, nil
}

func (p *parser) unclosed(from int) *Error {
	return p.wrong(from, from+1, "unclosed (", "end the group with ); as text: "+toQuote(p.word(from)))
}

// compile gives a term its meaning.
func (p *parser) compile(t *term) (*node, *Error) {
	if t.key == nil {
		return p.compilePayload(t)
	}
	tests := make([]func(*Item) bool, len(t.values))
	for i := range t.values {
		var err *Error
		if tests[i], err = t.key.compile(p, t.key, &t.values[i]); err != nil {
			return nil, err
		}
	}
	p.f.needs |= t.key.needs
	return &node{src: p.source(t), test: anyOf(tests)}, nil
}

// source is how a term is written: as it was, which is read the same wherever
// it stands, with the key in lower case.
func (p *parser) source(t *term) string {
	var b strings.Builder
	if t.key != nil {
		b.WriteString(t.key.name + ":")
	}
	for i, v := range t.values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(p.q[v.from:v.to])
	}
	return b.String()
}

func anyOf(tests []func(*Item) bool) func(*Item) bool {
	if len(tests) == 1 {
		return tests[0]
	}
	return func(it *Item) bool {
		for _, test := range tests {
			if test(it) {
				return true
			}
		}
		return false
	}
}
