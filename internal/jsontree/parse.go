package jsontree

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

const (
	// MaxDepth is how many arrays and objects may stand inside one another, as in
	// package tap.
	MaxDepth = 10000
	// MaxNodes is how many values of one text are kept apart. Where a text has more,
	// the array or object in which they become too many is opaque: it is compared as
	// a whole.
	MaxNodes = 1 << 21
)

// The errors of Parse.
var (
	ErrSyntax = errors.New("not JSON")
	ErrDeep   = fmt.Errorf("JSON deeper than %d levels", MaxDepth)
	ErrLarge  = errors.New("JSON text above 4 GB")
)

// A doc is a text that was read.
type doc struct {
	raw   []byte
	nodes []node
	// repeats has the members whose names occurred before in their objects, nil if
	// there are none.
	repeats map[int]repeats
	path    Path // memory for Remove
}

// A node is one value. Its children follow it, each with its own children behind it:
// next is the place behind the last of them.
type node struct {
	sums
	name             uint64 // the hash of its name in the object that it stands in
	from, to         uint32 // where it stands
	nameFrom, nameTo uint32 // where its name does, with quotes
	next             uint32
	n                uint32 // elements or members, also if they are not kept
	kind             Kind
	hidden           bool // a later member has the same name
	opaque           bool // its children are not kept
}

// sums are the hashes of a value, see [Value.Hash] and [Value.Spelled].
type sums struct{ value, spelled uint64 }

// repeats are the members that a later one of the same name hides.
type repeats struct {
	n    int
	hash uint64 // of their values
}

// Parse reads a JSON text. Of members with one name the last counts, see
// [Value.Repeats] for the others. Bytes that are not UTF-8 are taken as they are. The
// error is [ErrSyntax], [ErrDeep] or [ErrLarge].
func Parse(raw []byte) (Value, error) {
	var b builder
	return b.parse(raw, MaxDepth+1, MaxNodes)
}

// A Reader reads one text after the other with the same memory. The zero Reader is
// ready.
type Reader struct {
	// Checked reports that the texts are known to be JSON not deeper than [MaxDepth]: parts
	// of a message that was checked as a whole. They are not checked again.
	Checked bool
	b       builder
}

// ParseTop reads a JSON text as [Parse] does, but keeps only the values down to a
// depth: with 0 the value itself, with 1 its members too. Those below count in the
// hashes of what they stand in. The value is valid until the next call.
func (r *Reader) ParseTop(raw []byte, depth int) (Value, error) {
	r.b.checked = r.Checked
	return r.b.parse(raw, depth, MaxNodes)
}

// maxReused bounds the memory that a Reader keeps, in nodes.
const maxReused = 1 << 12

func (b *builder) parse(raw []byte, keep, limit int) (Value, error) {
	switch {
	case len(raw) > math.MaxUint32:
		return Value{}, ErrLarge
	case b.checked:
	case len(raw) > MaxDepth && deep(raw):
		return Value{}, ErrDeep
	case !gjson.ValidBytes(raw):
		return Value{}, ErrSyntax
	}
	if b.doc == nil || cap(b.nodes)+cap(b.members)+cap(b.buf) > maxReused {
		*b = builder{checked: b.checked, doc: &doc{nodes: make([]node, 0, min(len(raw)/16, 16)+2)}}
	}
	*b.doc = doc{raw: raw, nodes: b.nodes[:0], path: b.path}
	b.i, b.keep, b.limit = 0, keep, limit
	b.space()
	b.build(0, true)
	return Value{doc: b.doc}, nil
}

// deep reports whether a text goes deeper than MaxDepth, be it JSON or not.
func deep(raw []byte) bool {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			if i = stringEnd(raw, i); i < 0 {
				return false // not JSON
			}
		case '{', '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// stringEnd returns the place of the quote that ends the string that begins at i, -1 if
// there is none.
func stringEnd(raw []byte, i int) int {
	for from := i + 1; ; from++ {
		n := bytes.IndexByte(raw[from:], '"')
		if n < 0 {
			return -1
		}
		from += n
		escapes := from
		for raw[escapes-1] == '\\' {
			escapes--
		}
		if (from-escapes)%2 == 0 {
			return from
		}
	}
}

// A builder makes the nodes of a text that is valid.
type builder struct {
	*doc
	i int
	// keep is down to which depth values are kept, limit how many of them.
	keep, limit int
	checked     bool
	members     []member // of the objects that are open, outermost first
	buf         []byte
}

// A member is what is remembered of a member until its object ends.
type member struct {
	name uint64
	sums
	at int // its node, -1 for none
}

func (b *builder) space() {
	for b.i < len(b.raw) && b.raw[b.i] <= ' ' {
		b.i++
	}
}

// build reads the next value and returns its hashes. With kept it becomes a node.
func (b *builder) build(depth int, kept bool) sums {
	n := node{from: uint32(b.i)}
	at := len(b.nodes)
	if kept {
		if at == cap(b.nodes) {
			b.grow()
		}
		b.nodes = append(b.nodes, n)
	}
	switch b.raw[b.i] {
	case '{':
		b.object(&n, depth, kept)
	case '[':
		b.array(&n, depth, kept)
	case '"':
		n.kind = String
		n.value = hashText('"', b.text())
		n.spelled = n.value
	case 't':
		n.kind, n.sums = Bool, sums{seeds.yes, seeds.yes}
		b.i += len("true")
	case 'f':
		n.kind, n.sums = Bool, sums{seeds.no, seeds.no}
		b.i += len("false")
	case 'n':
		n.kind, n.sums = Null, sums{seeds.null, seeds.null}
		b.i += len("null")
	default:
		n.kind = Number
		n.sums = b.number()
	}
	if kept {
		n.to, n.next = uint32(b.i), uint32(len(b.nodes))
		b.nodes[at] = n
	}
	return n.sums
}

// grow makes room for the nodes of the rest of the text, if it is as dense as what was
// read, at most for seven times as many as there are.
func (b *builder) grow() {
	n := len(b.nodes)
	b.nodes = slices.Grow(b.nodes, min(n*(len(b.raw)-b.i)/(b.i+1)+n/8+8, 7*n, b.limit+1))
}

// inside reports whether the next child of a value is kept. Those of an opaque one are
// not, and those that were are dropped.
func (b *builder) inside(n *node, at, depth int, kept bool) bool {
	switch {
	case !kept:
	case depth >= b.keep:
		n.opaque = true
	case len(b.nodes) >= b.limit:
		b.nodes = b.nodes[:at+1]
		n.opaque = true
	default:
		return true
	}
	return false
}

// next goes on behind a child, and reports whether there is another.
func (b *builder) next() bool {
	b.space()
	c := b.raw[b.i]
	if b.i++; c == ',' {
		b.space()
	}
	return c == ','
}

// open goes into an array or an object, and reports whether it has a child.
func (b *builder) open(end byte) bool {
	b.i++
	b.space()
	if b.raw[b.i] != end {
		return true
	}
	b.i++
	return false
}

func (b *builder) array(n *node, depth int, kept bool) {
	at := len(b.nodes) - 1
	n.kind, n.sums = Array, sums{seeds.array, seeds.array}
	for more := b.open(']'); more; more = b.next() {
		kept = b.inside(n, at, depth, kept)
		n.n++
		s := b.build(depth+1, kept)
		n.value, n.spelled = chain(n.value, s.value), chain(n.spelled, s.spelled)
	}
	n.sums = n.end(n.n)
}

func (b *builder) object(n *node, depth int, kept bool) {
	at, first := len(b.nodes)-1, len(b.members)
	n.kind, n.sums = Object, sums{seeds.object, seeds.object}
	for more := b.open('}'); more; more = b.next() {
		kept = b.inside(n, at, depth, kept)
		from := b.i
		m := member{name: hashText(':', b.text()), at: -1}
		to := b.i
		b.space()
		b.i++ // the colon
		b.space()
		if kept {
			m.at = len(b.nodes)
		}
		m.sums = b.build(depth+1, kept)
		if kept {
			c := &b.nodes[m.at]
			c.name, c.nameFrom, c.nameTo = m.name, uint32(from), uint32(to)
		}
		b.members = append(b.members, m)
	}
	last, hidden := b.last(b.members[first:])
	for _, m := range last {
		n.n++
		r, ok := hidden[m.name]
		if ok {
			b.hide(m.at, r)
		}
		n.sums = n.member(m.name, m.sums, r)
	}
	n.sums = n.end(n.n)
	b.members = b.members[:first]
}

// hide notes the repeats of a member, unless its object is opaque and has dropped it.
func (b *builder) hide(at int, r repeats) {
	if b.repeats == nil {
		b.repeats = map[int]repeats{}
	}
	if at < len(b.nodes) {
		b.repeats[at] = r
	}
}

// fewMembers is up to how many members are compared with one another to find those of
// the same name.
const fewMembers = 16

// last returns the last member of each name, in any order, and by their names what those
// hide.
func (b *builder) last(all []member) (kept []member, hidden map[uint64]repeats) {
	var places map[uint64]int
	if len(all) > fewMembers {
		places = make(map[uint64]int, len(all))
	}
	kept = all[:0]
	for _, m := range all {
		at, known := places[m.name]
		if places == nil {
			at = slices.IndexFunc(kept, func(o member) bool { return o.name == m.name })
			known = at >= 0
		}
		if !known {
			if places != nil {
				places[m.name] = len(kept)
			}
			kept = append(kept, m)
			continue
		}
		old := kept[at]
		if old.at >= 0 && old.at < len(b.nodes) {
			b.nodes[old.at].hidden = true
		}
		if hidden == nil {
			hidden = map[uint64]repeats{}
		}
		r := hidden[m.name]
		hidden[m.name] = repeats{r.n + 1, chain(r.hash, old.spelled)}
		kept[at] = m
	}
	return kept, hidden
}

// text reads a string and returns its content, which is valid until the next one.
func (b *builder) text() []byte {
	from := b.i + 1
	end := stringEnd(b.raw, b.i)
	b.i = end + 1
	body := b.raw[from:end]
	if bytes.IndexByte(body, '\\') < 0 {
		return body
	}
	b.buf = appendUnescaped(b.buf[:0], body)
	return b.buf
}

// number reads a number and returns the hashes of its value and its spelling.
func (b *builder) number() sums {
	from, plain := b.i, true
	for ; b.i < len(b.raw); b.i++ {
		if c := b.raw[b.i]; c-'0' >= 10 {
			if c != '-' && c != '+' && c != '.' && c|0x20 != 'e' {
				break
			}
			plain = false // as -0 is 0
		}
	}
	text := b.raw[from:b.i]
	spelled := hashText('0', text)
	if plain && len(text) <= longInteger {
		return sums{spelled, spelled}
	}
	b.buf = AppendDecimal(b.buf[:0], text)
	return sums{hashText('0', b.buf), spelled}
}

var unescape = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// appendUnescaped appends the content of a valid string. A lone surrogate becomes three
// bytes that are not UTF-8, so that it differs from U+FFFD.
func appendUnescaped(dst, body []byte) []byte {
	for {
		i := bytes.IndexByte(body, '\\')
		if i < 0 {
			return append(dst, body...)
		}
		dst = append(dst, body[:i]...)
		if body[i+1] != 'u' {
			dst = append(dst, unescape[body[i+1]])
			body = body[i+2:]
			continue
		}
		r := hex(body[i+2:])
		body = body[i+6:]
		if !utf16.IsSurrogate(r) {
			dst = utf8.AppendRune(dst, r)
			continue
		}
		if bytes.HasPrefix(body, []byte(`\u`)) {
			if both := utf16.DecodeRune(r, hex(body[2:])); both != utf8.RuneError {
				dst = utf8.AppendRune(dst, both)
				body = body[6:]
				continue
			}
		}
		dst = append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
}

// hex reads four hexadecimal digits.
func hex(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16)
	return rune(n)
}
