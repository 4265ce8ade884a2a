package tree

// A ChangeKind says how two values differ.
type ChangeKind uint8

const (
	// Changed is a value that another one took the place of.
	Changed ChangeKind = iota
	// Removed is only there before, Added only after.
	Removed
	Added
	// Moved is an element that stands elsewhere in its array.
	Moved
	// Respelled is a value that is written in another way: a number, or JSON
	// inside a string.
	Respelled
	// Repeated is a member whose name occurs more often in one of the two objects, or
	// with other values before the last one. The values of the members, which are
	// the last ones, are compared as well.
	Repeated
)

var changeNames = [...]string{"changed", "removed", "added", "moved", "respelled", "repeated"}

// String returns changed, removed, added, moved, respelled or repeated.
func (k ChangeKind) String() string {
	if int(k) < len(changeNames) {
		return changeNames[k]
	}
	return "change"
}

// A Change is one place at which two values differ.
type Change struct {
	Kind ChangeKind
	// Path leads there, by the places of elements before the change where they
	// were there. It is valid until the next change is told.
	Path Path
	// A is the value before, B the one after; one of them may be absent.
	A, B Value
	// To is the new place of an element that was moved.
	To int
}

const (
	// maxInside is how often JSON may stand in a string inside of JSON.
	maxInside = 4
	// maxInsideText is up to how many bytes of a string are read as JSON.
	maxInsideText = 64 << 20
)

// Compare tells each place where two values differ, in the order in which they
// stand, and returns false if tell did not want to hear of them all. Path leads
// to the two. Absent values are compared too.
func Compare(a, b Value, path Path, tell func(*Change) bool) bool {
	c := comparer{tell: tell, path: append(Path(nil), path...)}
	c.compare(a, b)
	return !c.over
}

type comparer struct {
	tell   func(*Change) bool
	path   Path
	change Change
	inside int // how many strings around are read as JSON
	over   bool
}

// told tells of a change at the path.
func (c *comparer) told(kind ChangeKind, a, b Value) {
	if c.over {
		return
	}
	c.change = Change{Kind: kind, Path: c.path, A: a, B: b}
	c.over = !c.tell(&c.change)
}

// at does something one step further.
func (c *comparer) at(s Step, do func()) {
	c.path = append(c.path, s)
	do()
	c.path = c.path[:len(c.path)-1]
}

func (c *comparer) compare(a, b Value) {
	if a.repeats() != b.repeats() && a.Exists() && b.Exists() {
		c.told(Repeated, a, b)
		if a.Equal(b) && a.Spelled() == b.Spelled() {
			return
		}
	}
	depth := len(c.path)
	a, b = c.descend(a, b)
	c.values(a, b)
	c.path = c.path[:depth]
}

// descend goes down as long as there is one way only: thousands of levels with a single
// child each are no reason for as many calls within one another.
func (c *comparer) descend(a, b Value) (Value, Value) {
	for !c.over && a.single() && b.single() && a.Kind() == b.Kind() && !a.Equal(b) {
		x, y := a.only(), b.only()
		if x.Kind() != y.Kind() || x.repeats() != y.repeats() || x.node().name != y.node().name || x.Kind() != Array && x.Kind() != Object ||
			x.Kind() == Object && a.Kind() == Array { // which may be another one by its name
			break
		}
		step := Step{Kind: Element}
		if a.Kind() == Object {
			step = To(x.Name())
		}
		c.path = append(c.path, step)
		a, b = x, y
	}
	return a, b
}

// single reports whether an array or an object has one child alone.
func (v Value) single() bool {
	return v.doc != nil && v.node().n == 1 && !v.node().opaque && v.node().kind >= Array
}

// only is the child of one that has no other.
func (v Value) only() Value {
	for child := range v.Children() {
		return child
	}
	return Value{}
}

// values compares two values.
func (c *comparer) values(a, b Value) {
	switch {
	case c.over:
	case !a.Exists() && !b.Exists():
	case !b.Exists():
		c.told(Removed, a, b)
	case !a.Exists():
		c.told(Added, a, b)
	case a.Equal(b):
		if a.Spelled() != b.Spelled() {
			c.respelled(a, b)
		}
	case a.Kind() != b.Kind() || a.Opaque() || b.Opaque():
		c.told(Changed, a, b)
	case a.Kind() == Object:
		c.objects(a, b)
	case a.Kind() == Array:
		c.arrays(a, b)
	case a.Kind() == String:
		c.strings(a, b)
	default:
		c.told(Changed, a, b)
	}
}

// respelled finds the numbers that are written in another way.
func (c *comparer) respelled(a, b Value) {
	switch {
	case a.Kind() == Object && !a.Opaque() && !b.Opaque():
		c.objects(a, b)
	case a.Kind() == Array && !a.Opaque() && !b.Opaque():
		la, lb := a.list(), b.list()
		for i := range la {
			c.at(Step{Kind: Element, Index: i}, func() { c.compare(la[i], lb[i]) })
		}
	default:
		c.told(Respelled, a, b)
	}
}

// list returns what is in an array or an object.
func (v Value) list() []Value {
	all := make([]Value, 0, v.Len())
	for child := range v.Children() {
		all = append(all, child)
	}
	return all
}

// strings compares two that differ.
func (c *comparer) strings(a, b Value) {
	if c.inside < maxInside && holdsJSON(a) && holdsJSON(b) {
		x, errA := Parse(a.said())
		y, errB := Parse(b.said())
		if errA == nil && errB == nil {
			if x.Root().Equal(y.Root()) && x.Root().Spelled() == y.Root().Spelled() {
				c.told(Respelled, a, b)
				return
			}
			c.inside++
			c.at(Step{Kind: Inside}, func() { c.compare(x.Root(), y.Root()) })
			c.inside--
			return
		}
	}
	c.told(Changed, a, b)
}

// holdsJSON reports whether a string is likely to be an object or an array.
func holdsJSON(v Value) bool {
	raw := v.Raw()
	if len(raw) < 4 || len(raw) > maxInsideText {
		return false
	}
	open, end := edge(raw[1:len(raw)-1], 1), edge(raw[1:len(raw)-1], -1)
	return open == '{' && end == '}' || open == '[' && end == ']'
}

// edge is the first or the last character of a string's inside that is no white
// space, escaped or not.
func edge(body []byte, by int) byte {
	for len(body) > 0 {
		i := 0
		if by < 0 {
			i = len(body) - 1
		}
		switch c := body[i]; {
		case c == ' ':
		case by > 0 && c == '\\' && len(body) > 1 && isSpaceEscape(body[1]):
			body = body[1:]
		case by < 0 && len(body) > 1 && body[i-1] == '\\' && isSpaceEscape(c):
			body = body[:i]
		default:
			return c
		}
		if by > 0 {
			body = body[1:]
		} else {
			body = body[:len(body)-1]
		}
	}
	return 0
}

func isSpaceEscape(c byte) bool { return c == 'n' || c == 't' || c == 'r' }
