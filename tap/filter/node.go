package filter

import "strings"

// A node is a part of a query.
type node struct {
	op   op
	kids []*node          // of opAll, opAny and opNot
	test func(*Item) bool // of opTerm
	term int              // of opPayload: its bit in a Found
	src  string           // the source of a term
}

type op uint8

const (
	opTerm op = iota
	opPayload
	opNot
	opAll
	opAny
)

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

// An answer is a truth value of three-valued logic: not is minus, and is the
// minimum, or the maximum.
type answer int8

const (
	no      answer = -1
	unknown answer = 0
	yes     answer = 1
)

func answerOf(ok bool) answer {
	if ok {
		return yes
	}
	return no
}

// eval evaluates a node. If the payload has not been searched, what it decides
// is unknown.
func (n *node) eval(it *Item, found Found, searched bool) answer {
	switch n.op {
	case opTerm:
		return answerOf(n.test(it))
	case opPayload:
		if !searched {
			return unknown
		}
		return answerOf(found.has(n.term))
	case opNot:
		return -n.kids[0].eval(it, found, searched)
	case opAll:
		a := yes
		for i := 0; i < len(n.kids) && a != no; i++ {
			a = min(a, n.kids[i].eval(it, found, searched))
		}
		return a
	default:
		a := no
		for i := 0; i < len(n.kids) && a != yes; i++ {
			a = max(a, n.kids[i].eval(it, found, searched))
		}
		return a
	}
}

// String writes the node so that it is read as it is.
func (n *node) String() string {
	switch n.op {
	case opTerm, opPayload:
		return n.src
	case opNot:
		if kid := n.kids[0]; len(kid.kids) > 0 {
			return "-(" + kid.String() + ")"
		}
		return "-" + n.kids[0].src
	}
	var parts []string
	for _, k := range n.kids {
		s := k.String()
		if n.op == opAll && k.op == opAny {
			s = "(" + s + ")"
		}
		parts = append(parts, s)
	}
	if n.op == opAny {
		return strings.Join(parts, " OR ")
	}
	return strings.Join(parts, " ")
}
