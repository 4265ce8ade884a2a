package tree

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

const (
	// MaxDepth is how many arrays and objects may stand inside one another,
	// which is the line that package tap draws as well.
	MaxDepth = 10000
	// MaxNodes is how many values of one text are kept apart. Where a text has
	// more, the array or object in which they become too many is opaque: it is
	// compared as a whole.
	MaxNodes = 1 << 21
)

// What Parse fails with.
var (
	ErrSyntax = errors.New("not JSON")
	ErrDeep   = fmt.Errorf("JSON deeper than %d levels", MaxDepth)
	ErrLarge  = errors.New("JSON text above 4 GB")
)

// A Doc is a JSON text that was read. It holds on to the text.
type Doc struct {
	raw   []byte
	nodes []node
	// repeats has the members whose names occurred before in their objects.
	repeats map[int]repeats
}

// repeats are the members of an object that a later one of the same name hides: how
// many they are, and a hash of their values.
type repeats struct {
	n   int
	sum uint64
}

// A node is one value. Those of its children follow it, each with its own
// children behind it: next is the place behind the last of them.
type node struct {
	sums
	// name is the hash of its name in the object that it stands in.
	name uint64
	// from and to are where it stands, nameFrom and nameTo where its name does,
	// quotes included.
	from, to         uint32
	nameFrom, nameTo uint32
	next             uint32
	// n is how many elements or members it has, also where they were not kept.
	n    uint32
	kind Kind
	// hidden says that a later member has the same name, and so counts instead;
	// opaque that the children were not kept.
	hidden, opaque bool
}

// sums are the hashes of a value. Value is the same for equal values; spelled
// also differs where numbers are written in different ways.
type sums struct{ value, spelled uint64 }

// Parse reads a JSON text. Of members with one name the last counts, see
// [Value.Repeats] for the others. Bytes that
// are no UTF-8 are taken as they are. The error is [ErrSyntax], [ErrDeep] or
// [ErrLarge].
func Parse(raw []byte) (*Doc, error) { return parse(raw, MaxDepth+1, MaxNodes) }

// A Reader reads one text after the other and uses its memory again. The zero
// Reader is ready.
type Reader struct {
	p   parser
	doc Doc
}

// Outline reads a JSON text as [Parse] does, but keeps apart only the values down
// to a depth: 0 for the value itself, 1 for its members too. Those below count in
// the hashes of what they stand in. What it returns is valid until the next call.
func (r *Reader) Outline(raw []byte, depth int) (*Doc, error) {
	r.p = parser{nodes: r.p.nodes[:0], names: r.p.names[:0], buf: r.p.buf[:0]}
	if cap(r.p.nodes) > maxReused || cap(r.p.names) > maxReused || cap(r.p.buf) > maxReused {
		r.p = parser{}
	}
	err := r.p.read(raw, depth, MaxNodes)
	r.doc = Doc{raw: raw, nodes: r.p.nodes, repeats: r.p.repeats}
	return &r.doc, err
}

// maxReused bounds what a Reader holds on to.
const maxReused = 1 << 16

func parse(raw []byte, keep, limit int) (*Doc, error) {
	p := parser{nodes: make([]node, 0, min(len(raw)/16, 64)+2)}
	if err := p.read(raw, keep, limit); err != nil {
		return nil, err
	}
	return &Doc{raw: raw, nodes: p.nodes, repeats: p.repeats}, nil
}

// read reads a whole text.
func (p *parser) read(raw []byte, keep, limit int) error {
	if len(raw) > math.MaxUint32 {
		return ErrLarge
	}
	p.raw, p.keep, p.limit = raw, keep, limit
	p.space()
	if p.value(0, true); p.err == nil {
		if p.space(); p.i < len(raw) {
			p.err = ErrSyntax
		}
	}
	return p.err
}

// A parser reads one text.
type parser struct {
	raw   []byte
	i     int
	nodes []node
	// keep is down to which depth values are kept, limit how many of them.
	keep, limit int
	// names are the members of the objects that are open, outermost first.
	names   []member
	repeats map[int]repeats
	buf     []byte
	err     error
}

// A member is what is remembered of a member until its object ends.
type member struct {
	name uint64
	sums
	at      int // its node, -1 for none
	repeats repeats
}

func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.i < len(p.raw) {
		return p.raw[p.i]
	}
	return 0
}

func (p *parser) space() {
	for p.i < len(p.raw) {
		switch p.raw[p.i] {
		case ' ', '\n', '\t', '\r':
			p.i++
		default:
			return
		}
	}
}

// value reads one value and returns its hashes. With kept it becomes a node.
func (p *parser) value(depth int, kept bool) sums {
	if p.err != nil {
		return sums{}
	}
	n := node{from: uint32(p.i)}
	at := len(p.nodes)
	if kept {
		if at == cap(p.nodes) {
			p.grow()
		}
		p.nodes = append(p.nodes, n)
	}
	switch c := p.peek(); {
	case depth == MaxDepth && (c == '{' || c == '['):
		p.fail(ErrDeep)
	case c == '{':
		p.object(&n, depth, kept)
	case c == '[':
		p.array(&n, depth, kept)
	case c == '"':
		n.kind = String
		n.value = p.str(tagString)
		n.spelled = n.value
	case c == '-' || c-'0' < 10:
		n.kind = Number
		n.sums = p.number()
	default:
		n.kind, n.value = p.word()
		n.spelled = n.value
	}
	if kept && p.err == nil {
		n.to, n.next = uint32(p.i), uint32(len(p.nodes))
		p.nodes[at] = n
	}
	return n.sums
}

// grow makes room for as many nodes as there will be if the rest of the text is as
// dense as what was read, up to eight times of what there are.
func (p *parser) grow() {
	n := len(p.nodes)
	more := n * (len(p.raw) - p.i) / (p.i + 1)
	more += more/8 + 8
	p.nodes = slices.Grow(p.nodes, min(max(more, n/4), 7*n, p.limit+1))
}

// inside says whether the children of a value at a depth are kept. Those of an
// opaque one are not, and what was kept of them is given up.
func (p *parser) inside(n *node, at, depth int, kept bool) bool {
	switch {
	case !kept:
		return false
	case depth >= p.keep:
		n.opaque = true
		return false
	case len(p.nodes) >= p.limit:
		p.nodes = p.nodes[:at+1]
		n.opaque = true
		return false
	}
	return true
}

func (p *parser) array(n *node, depth int, kept bool) {
	at := len(p.nodes) - 1
	n.kind = Array
	n.sums = sums{seeds.array, seeds.array}
	p.i++
	p.space()
	if p.peek() == ']' {
		p.i++
		n.sums = n.end(0)
		return
	}
	for p.err == nil {
		kept = p.inside(n, at, depth, kept)
		n.n++
		s := p.value(depth+1, kept)
		n.value, n.spelled = chain(n.value, s.value), chain(n.spelled, s.spelled)
		p.space()
		switch p.peek() {
		case ',':
			p.i++
			p.space()
		case ']':
			p.i++
			n.sums = n.end(1)
			return
		default:
			p.fail(ErrSyntax)
		}
	}
}

func (p *parser) object(n *node, depth int, kept bool) {
	at, first := len(p.nodes)-1, len(p.names)
	n.kind = Object
	n.sums = sums{seeds.object, seeds.object}
	p.i++
	p.space()
	if p.peek() == '}' {
		p.i++
		n.sums = n.end(0)
		return
	}
	for p.err == nil {
		kept = p.inside(n, at, depth, kept)
		p.member(depth, kept)
		switch p.peek() {
		case ',':
			p.i++
			p.space()
		case '}':
			p.i++
			p.finish(n, first)
			return
		default:
			p.fail(ErrSyntax)
		}
	}
}

// member reads a name and its value.
func (p *parser) member(depth int, kept bool) {
	if p.peek() != '"' {
		p.fail(ErrSyntax)
		return
	}
	from := p.i
	m := member{name: p.str(tagName), at: -1}
	to := p.i
	p.space()
	if p.peek() != ':' {
		p.fail(ErrSyntax)
		return
	}
	p.i++
	p.space()
	if kept {
		m.at = len(p.nodes)
	}
	m.sums = p.value(depth+1, kept)
	p.space()
	if kept && p.err == nil {
		c := &p.nodes[m.at]
		c.name, c.nameFrom, c.nameTo = m.name, uint32(from), uint32(to)
	}
	p.names = append(p.names, m)
}
