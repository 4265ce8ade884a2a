package filter

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// MaxQuery is the maximum length of a query in bytes.
	MaxQuery = 4 << 10
	// MaxDepth is the maximum nesting of groups.
	MaxDepth = 100
)

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

// any reads alternatives, to the end of the query or of the group.
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

// all reads terms, to an OR or the end.
func (p *parser) all() (*node, *Error) {
	var kids []*node
	for {
		n, err := p.one()
		if err != nil {
			return nil, err
		}
		kids = append(kids, n)
		p.skipSpace()
		switch {
		case p.operator() == "AND":
			p.i += len("AND")
		case p.i == len(p.q) || p.q[p.i] == ')' && p.open > 0 || p.operator() == "OR":
			return join(opAll, kids), nil
		}
	}
}

// one reads a term or a group with its negations.
func (p *parser) one() (*node, *Error) {
	negated := false
	for p.skipSpace(); p.operator() == "NOT"; p.skipSpace() {
		p.i += len("NOT")
		negated = !negated
	}
	if rest := p.q[p.i:]; strings.HasPrefix(rest, "-") {
		switch {
		case p.over(p.i + 1):
			return nil, p.wrong(p.i, p.i+1, "minus without a term", `put it right before the term that it negates, as in -is:error; as text: "-"`)
		case rest[1] == '-':
			return nil, p.wrong(p.i, p.i+2, "two minus signs", "use one; as text: "+toQuote(p.word(p.i)))
		}
		p.i++
		negated = !negated
	}
	if err := p.misplaced(); err != nil {
		return nil, err
	}
	n, err := p.termOrGroup()
	if err == nil && negated {
		n = not(n)
	}
	return n, err
}

// misplaced returns the error for text that cannot begin a term.
func (p *parser) misplaced() *Error {
	asText := func(op string) string { return `as text: "` + strings.ToLower(op) + `"` }
	if op := p.operator(); op != "" {
		return p.wrong(p.i, p.i+len(op), op+" without a term before it", asText(op))
	}
	if p.over(p.i) {
		last := strings.TrimRight(p.q[:p.i], spaces)
		for _, op := range operators {
			if strings.HasSuffix(last, op) {
				return p.wrong(len(last)-len(op), len(last), op+" without a term after it", asText(op))
			}
		}
		if p.i == len(p.q) {
			return p.unclosed(len(last) - 1)
		}
		return p.wrong(len(last)-1, p.i+1, "empty group", `put terms between ( and ); as text: "()"`)
	}
	switch w := p.word(p.i); w {
	case "|", "||":
		return p.wrong(p.i, p.i+len(w), w+" is not an operator", "write OR, or foo,bar; as text: "+toQuote(w))
	case "&", "&&":
		return p.wrong(p.i, p.i+len(w), w+" is not an operator", "terms side by side must all match; as text: "+toQuote(w))
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
	p.i++ // the parenthesis: any stops at nothing else
	return n, nil
}

func (p *parser) unclosed(from int) *Error {
	return p.wrong(from, from+1, "unclosed (", "close the group with ); as text: "+toQuote(p.word(from)))
}

// compile returns the node of a term. Its source is as it was written, with the
// key in lower case; it has the same meaning anywhere in a query.
func (p *parser) compile(t *term) (*node, *Error) {
	src := p.q[t.values[0].from:p.i]
	if t.key != nil {
		src = t.key.name + ":" + src
		p.f.needs |= t.key.needs
	}
	kids := make([]*node, len(t.values))
	for i := range t.values {
		var err *Error
		if kids[i], err = p.compileValue(t.key, &t.values[i]); err != nil {
			return nil, err
		}
	}
	n := join(opAny, kids)
	n.src = src
	return n, nil
}

func (p *parser) compileValue(k *key, v *value) (*node, *Error) {
	switch {
	case k == nil:
		return p.payload(v)
	case k.text != nil, k.texts != nil:
		return p.text(k, v)
	case k.number != nil:
		return p.number(k, v)
	case k.words != nil:
		return p.words(k, v)
	}
	return p.id(v)
}

// A node is a part of a query.
type node struct {
	op   op
	kids []*node          // of opAny, opAll and opNot
	test func(*Item) bool // of opTest
	bit  int              // of opPayload, in a Found
	src  string           // the source of a term, "" of other nodes
}

type op uint8

const (
	opTest op = iota
	opPayload
	opNot
	opAll
	opAny
)

func testNode(test func(*Item) bool) *node { return &node{test: test} }

// join returns a node of one or more others.
func join(o op, kids []*node) *node {
	if len(kids) == 1 {
		return kids[0]
	}
	return &node{op: o, kids: kids}
}

func not(n *node) *node {
	if n.op == opNot {
		return n.kids[0]
	}
	return &node{op: opNot, kids: []*node{n}}
}

// An answer is a value of three-valued logic: "not" is its negative, "and" the
// minimum, "or" the maximum.
type answer int8

const (
	no      answer = -1
	unknown answer = 0
	yes     answer = 1
)

// eval evaluates a node. Nodes that the payload decides are unknown unless searched is
// set.
func (n *node) eval(it *Item, found Found, searched bool) answer {
	ok := false
	switch n.op {
	case opTest:
		ok = n.test(it)
	case opPayload:
		if !searched {
			return unknown
		}
		ok = found.has(n.bit)
	case opNot:
		return -n.kids[0].eval(it, found, searched)
	case opAll:
		a := yes
		for i := 0; i < len(n.kids) && a != no; i++ {
			a = min(a, n.kids[i].eval(it, found, searched))
		}
		return a
	case opAny:
		a := no
		for i := 0; i < len(n.kids) && a != yes; i++ {
			a = max(a, n.kids[i].eval(it, found, searched))
		}
		return a
	}
	if ok {
		return yes
	}
	return no
}

// String returns the source of the node.
func (n *node) String() string {
	if n.src != "" {
		return n.src
	}
	parts := make([]string, len(n.kids))
	for i, k := range n.kids {
		parts[i] = k.String()
		if k.src == "" && (n.op == opNot || n.op == opAll && k.op == opAny) {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	switch n.op {
	case opNot:
		return "-" + parts[0]
	case opAny:
		return strings.Join(parts, " OR ")
	}
	return strings.Join(parts, " ")
}
