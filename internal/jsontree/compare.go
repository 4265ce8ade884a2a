package jsontree

import "bytes"

// A ChangeKind is a kind of difference.
type ChangeKind uint8

const (
	// Changed means that the value was replaced.
	Changed ChangeKind = iota
	// Removed means that only the first value exists, Added that only the second does.
	Removed
	Added
	// Moved means that an element of an array has another index. If it changed too,
	// further changes with its path follow.
	Moved
	// Respelled means that an equal value is spelled differently: a number, or JSON
	// inside a string.
	Respelled
	// Repeated means that the name of a member occurs a different number of times in the
	// two objects, or with other values before the last. The last values are compared
	// too.
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
	// Path is the path to the place, with the indexes of elements before the change, or
	// after it for those that were added. It is valid until the next change is reported.
	Path Path
	// A is the value before the change, B the value after it; one of them may be absent.
	A, B Value
	// To is the new index of a moved element.
	To int
}

const (
	// maxInside is the maximum nesting of JSON inside strings.
	maxInside = 4
	// maxInsideText is the maximum length of a string that is parsed as JSON.
	maxInsideText = 64 << 20
)

// Compare calls report for each place where two values differ, in order, until report
// returns false. It returns whether all were reported. at is the path of the two values.
// Either may be absent.
func Compare(a, b Value, at Path, report func(*Change) bool) bool {
	c := comparer{report: report, path: append(Path(nil), at...)}
	c.compare(a, b)
	return !c.over
}

type comparer struct {
	report func(*Change) bool
	path   Path
	change Change
	inside int // nesting of JSON in strings
	over   bool
}

func (c *comparer) add(change Change) {
	if !c.over {
		c.change = change
		c.change.Path = c.path
		c.over = !c.report(&c.change)
	}
}

// at compares two values below a step.
func (c *comparer) at(s Step, a, b Value) {
	if !c.over {
		c.path = append(c.path, s)
		c.compare(a, b)
		c.path = c.path[:len(c.path)-1]
	}
}

func (c *comparer) compare(a, b Value) {
	if a.Exists() && b.Exists() && a.repeats() != b.repeats() {
		c.add(Change{Kind: Repeated, A: a, B: b})
	}
	switch {
	case !a.Exists() && !b.Exists():
	case !b.Exists():
		c.add(Change{Kind: Removed, A: a})
	case !a.Exists():
		c.add(Change{Kind: Added, B: b})
	case a.Equal(b) && a.Spelled() == b.Spelled():
	case a.Kind() >= Array && a.Kind() == b.Kind() && !a.Opaque() && !b.Opaque():
		switch {
		case a.Kind() == Object:
			c.objects(a, b)
		case a.Equal(b): // only the spelling of numbers differs
			lb := b.list()
			for i, x := range a.list() {
				c.at(Step{Kind: Element, Index: i}, x, lb[i])
			}
		default:
			c.arrays(a, b)
		}
	case a.Equal(b):
		c.add(Change{Kind: Respelled, A: a, B: b})
	case a.Kind() == String && b.Kind() == String:
		c.strings(a, b)
	default:
		c.add(Change{Kind: Changed, A: a, B: b})
	}
}

// objects compares the members of two objects by their names.
func (c *comparer) objects(a, b Value) {
	lb := b.list()
	taken := make([]bool, len(lb))
	var places map[uint64]int // nil while the members have the same order
	for i, x := range a.list() {
		j, ok := i, i < len(lb) && lb[i].node().name == x.node().name
		if !ok {
			if places == nil {
				places = make(map[uint64]int, len(lb))
				for j, y := range lb {
					places[y.node().name] = j
				}
			}
			j, ok = places[x.node().name]
		}
		var y Value
		if ok {
			y, taken[j] = lb[j], true
		}
		if !x.Same(y) {
			c.at(To(x.name()), x, y)
		}
	}
	for j, y := range lb {
		if !taken[j] {
			c.at(To(y.name()), Value{}, y)
		}
	}
}

// arrays compares the elements of two arrays.
func (c *comparer) arrays(a, b Value) {
	p := pairElements(a.list(), b.list())
	for i, x := range p.a {
		step, j := Step{Kind: Element, Index: i}, p.toB[i]
		if j < 0 {
			c.at(step, x, Value{})
			continue
		}
		if p.moved[i] && i != j {
			c.path = append(c.path, step)
			c.add(Change{Kind: Moved, A: x, B: p.b[j], To: j})
			c.path = c.path[:len(c.path)-1]
		}
		if !x.Same(p.b[j]) {
			c.at(step, x, p.b[j])
		}
	}
	for j, y := range p.b {
		if !p.taken[j] {
			c.at(Step{Kind: Element, Index: j}, Value{}, y)
		}
	}
}

// strings compares two strings that differ.
func (c *comparer) strings(a, b Value) {
	if ta, tb := a.text(), b.text(); c.inside < maxInside && holdsJSON(ta) && holdsJSON(tb) {
		x, errA := Parse(ta)
		y, errB := Parse(tb)
		switch {
		case errA != nil || errB != nil:
		case x.Same(y):
			c.add(Change{Kind: Respelled, A: a, B: b})
			return
		default:
			c.inside++
			c.at(Step{Kind: Inside}, x, y)
			c.inside--
			return
		}
	}
	c.add(Change{Kind: Changed, A: a, B: b})
}

// holdsJSON reports whether a text looks like a JSON object or array.
func holdsJSON(text []byte) bool {
	text = bytes.TrimSpace(text)
	if len(text) < 2 || len(text) > maxInsideText {
		return false
	}
	first, last := text[0], text[len(text)-1]
	return first == '{' && last == '}' || first == '[' && last == ']'
}
