package jsontree

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

const (
	// MaxDepth is the maximum depth of nested arrays and objects, as in package tap.
	MaxDepth = 10000
	// maxNodes is the maximum number of values of a text that are kept. If a text has
	// more, the array or object in which the limit is exceeded is opaque.
	maxNodes = 1 << 21
)

var (
	errSyntax = errors.New("not JSON")
	errDeep   = fmt.Errorf("JSON deeper than %d levels", MaxDepth)
	errLarge  = errors.New("JSON text above 4 GB")
)

// A doc is a parsed text.
type doc struct {
	raw     []byte
	nodes   []node
	repeats map[int]repeats // by node, of the members that hide others; nil if there are none
}

// A node is a value. It is followed by its descendants in the order of the text; next is
// the index after the last of them.
type node struct {
	sums
	name             uint64 // the hash of its name
	from, to         uint32 // its offsets
	nameFrom, nameTo uint32 // those of its name, with quotes
	next             uint32
	n                uint32 // number of elements or members, whether kept or not
	kind             Kind
	hidden           bool // a later member has the same name
	opaque           bool // its children are not kept
}

// sums are the hashes of a value, see [Value.Hash] and [Value.Spelled].
type sums struct{ value, spelled uint64 }

// repeats are the members hidden by a later one of the same name.
type repeats struct {
	n    int
	hash uint64 // of their values
}

// Parse parses a JSON text. Of members with the same name the last counts, see
// [Value.Repeats]. Bytes that are not UTF-8 are kept. An error means that the text is not
// JSON, that it is nested deeper than [MaxDepth], or that it is longer than 4 GB.
func Parse(raw []byte) (Value, error) { return new(Reader).ParseTop(raw, MaxDepth+1) }

// A Reader parses parts of JSON texts.
type Reader struct {
	// Checked skips validation: the texts are JSON not deeper than [MaxDepth], such as
	// parts of a message that was validated as a whole.
	Checked bool
}

// ParseTop is like [Parse] but keeps only the values down to a depth: with 0 the value
// itself, with 1 its children too. Deeper values count in the hashes of the values that
// contain them.
func (r *Reader) ParseTop(raw []byte, depth int) (Value, error) {
	return parse(raw, r.Checked, depth, maxNodes)
}

func parse(raw []byte, checked bool, keep, limit int) (Value, error) {
	switch {
	case len(raw) > math.MaxUint32:
		return Value{}, errLarge
	case checked:
	case len(raw) > MaxDepth && deep(raw):
		return Value{}, errDeep
	case !gjson.ValidBytes(raw):
		return Value{}, errSyntax
	}
	b := builder{doc: &doc{raw: raw}, keep: keep, limit: limit}
	b.space()
	b.build(0, true)
	return Value{doc: b.doc}, nil
}

// deep reports whether a text, valid or not, is nested deeper than MaxDepth.
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

// stringEnd returns the index of the closing quote of the string that begins at i, -1 if
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

// A builder builds the nodes of a valid text.
type builder struct {
	*doc
	i           int
	keep, limit int      // the maximum depth and number of nodes
	members     []member // of the objects that are open, the outermost first
	buf         []byte
}

// A member is a member of an object that is being parsed.
type member struct {
	name uint64
	sums
	at int // its node, -1 if it is not kept
}

func (b *builder) space() {
	for b.i < len(b.raw) && b.raw[b.i] <= ' ' {
		b.i++
	}
}

// build parses the next value and returns its hashes. If kept is set, it adds a node.
func (b *builder) build(depth int, kept bool) sums {
	n := node{from: uint32(b.i)}
	at := len(b.nodes)
	if kept {
		if at == cap(b.nodes) { // assume that the rest of the text is as dense
			b.nodes = slices.Grow(b.nodes, min(at*(len(b.raw)-b.i)/(b.i+1)+at/8+8, 7*at+2, b.limit+1))
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

// keeps reports whether the next child of a value is kept. If the limit is reached, the
// value becomes opaque and its children are dropped.
func (b *builder) keeps(n *node, at, depth int, kept bool) bool {
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

// next skips what follows a child, and reports whether there is another.
func (b *builder) next() bool {
	b.space()
	c := b.raw[b.i]
	if b.i++; c == ',' {
		b.space()
	}
	return c == ','
}

// open skips the bracket of an array or an object, and reports whether it has a child.
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
		kept = b.keeps(n, at, depth, kept)
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
		kept = b.keeps(n, at, depth, kept)
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
	members := b.members[first:]
	b.members = b.members[:first]
	slices.SortStableFunc(members, func(m, o member) int { return cmp.Compare(m.name, o.name) })
	var r repeats
	for i, m := range members {
		kept = m.at >= 0 && m.at < len(b.nodes) // not dropped since
		if i+1 < len(members) && members[i+1].name == m.name {
			r = repeats{r.n + 1, chain(r.hash, m.spelled)}
			if kept {
				b.nodes[m.at].hidden = true
			}
			continue
		}
		if b.repeats == nil && r.n > 0 {
			b.repeats = map[int]repeats{}
		}
		if kept && r.n > 0 {
			b.repeats[m.at] = r
		}
		n.n++
		n.sums = n.member(m.name, m.sums, r)
		r = repeats{}
	}
	n.sums = n.end(n.n)
}

// text parses a string and returns its content, which is valid until the next call.
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

// number parses a number and returns the hashes of its value and its spelling.
func (b *builder) number() sums {
	from := b.i
	for b.i < len(b.raw) && strings.IndexByte("0123456789+-.eE", b.raw[b.i]) >= 0 {
		b.i++
	}
	text := b.raw[from:b.i]
	spelled := hashText('0', text)
	if len(text) <= longInteger && !bytes.ContainsAny(text, "-.eE") {
		return sums{spelled, spelled}
	}
	b.buf = AppendDecimal(b.buf[:0], text)
	return sums{hashText('0', b.buf), spelled}
}

var unescape = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// appendUnescaped appends the content of a valid string. A lone surrogate becomes three
// bytes that are not UTF-8, and so differs from U+FFFD.
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

// hex parses four hexadecimal digits.
func hex(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16)
	return rune(n)
}

// longInteger is the maximum number of digits of an integer in decimal notation.
const longInteger = 32

// A decimal is the value of a number: its digits without leading and trailing zeros, and
// the power of ten of the first.
type decimal struct {
	negative bool
	digits   []byte // none for zero
	power    int64
}

// readDecimal parses a JSON number. It returns false if the exponent is out of range.
func readDecimal(n []byte) (d decimal, ok bool) {
	mantissa, exponent := n, int64(0)
	if i := bytes.IndexAny(n, "eE"); i >= 0 {
		e, err := strconv.ParseInt(string(n[i+1:]), 10, 64)
		if err != nil || len(n)-i > 18 {
			return d, false
		}
		mantissa, exponent = n[:i], e
	}
	if len(mantissa) > 0 && mantissa[0] == '-' {
		d.negative, mantissa = true, mantissa[1:]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte{'.'})
	d.digits = append(append(make([]byte, 0, len(mantissa)), whole...), fraction...)
	exponent += int64(len(whole)) - 1
	for len(d.digits) > 0 && d.digits[0] == '0' {
		d.digits = d.digits[1:]
		exponent--
	}
	if d.digits = bytes.TrimRight(d.digits, "0"); len(d.digits) == 0 {
		return decimal{}, true // -0 is 0
	}
	d.power = exponent
	return d, true
}

// AppendDecimal appends the canonical spelling of a JSON number. That of an integer is the
// usual one.
func AppendDecimal(dst, n []byte) []byte {
	d, ok := readDecimal(n)
	if !ok {
		return append(dst, n...)
	}
	if len(d.digits) == 0 {
		return append(dst, '0')
	}
	if d.negative {
		dst = append(dst, '-')
	}
	dst = append(dst, d.digits...)
	zeros := d.power + 1 - int64(len(d.digits))
	if zeros >= 0 && d.power < longInteger {
		for ; zeros > 0; zeros-- {
			dst = append(dst, '0')
		}
		return dst
	}
	return strconv.AppendInt(append(dst, 'e'), d.power, 10)
}

// CompareNumbers compares two JSON numbers by their exact value. The result is negative if
// a < b, 0 if they are equal, and positive if a > b. It returns false if an exponent is out
// of range.
func CompareNumbers(a, b []byte) (order int, ok bool) {
	x, okX := readDecimal(a)
	y, okY := readDecimal(b)
	if !okX || !okY {
		return 0, false
	}
	if x.sign() != y.sign() {
		return x.sign() - y.sign(), true
	}
	order = bytes.Compare(x.digits, y.digits)
	switch {
	case x.sign() == 0:
		return 0, true
	case x.power < y.power:
		order = -1
	case x.power > y.power:
		order = 1
	}
	return order * x.sign(), true
}

func (d *decimal) sign() int {
	switch {
	case len(d.digits) == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}
