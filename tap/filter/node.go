package filter

import "strings"

// A node is a part of a query.
type node struct {
	op   op
	kids []*node // of all, any and not
	// Of a term:
	test  func(*Item) bool
	heavy bool   // it reads the payload
	src   string // how it is written
}

type op uint8

const (
	opTerm op = iota
	opNot
	opAll
	opAny
)

// join makes a node of one or more.
func join(o op, kids []*node) *node {
	if len(kids) == 1 {
		return kids[0]
	}
	n := &node{op: o, kids: kids}
	for _, k := range kids {
		n.heavy = n.heavy || k.heavy
	}
	return n
}

func not(n *node) *node {
	if n.op == opNot {
		return n.kids[0]
	}
	return &node{op: opNot, kids: []*node{n}, heavy: n.heavy}
}

// match asks what is cheap before what reads the payload.
func (n *node) match(it *Item) bool {
	switch n.op {
	case opTerm:
		return n.test(it)
	case opNot:
		return !n.kids[0].match(it)
	}
	decides := n.op == opAny
	for _, heavy := range [...]bool{false, true} {
		for _, k := range n.kids {
			if k.heavy == heavy && k.match(it) == decides {
				return decides
			}
		}
	}
	return !decides
}

// String writes the node so that it is read as it is.
func (n *node) String() string {
	switch n.op {
	case opTerm:
		return n.src
	case opNot:
		if kid := n.kids[0]; kid.op != opTerm {
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
