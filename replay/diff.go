package replay

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNodes is how many values of one message are compared one by one. What is
// beyond is compared as a whole.
const maxNodes = 100_000

// A node is a value as a tree. Comparing two values member by member takes one
// pass over each to make the trees, however deep they are.
type node struct {
	raw []byte
	sum sum
	// names and kids are the members, sorted by name; elements have no names.
	names []string
	kids  []node
}

// A differ finds the paths at which two values differ.
type differ struct {
	hasher
	ignore []Path
	// root is the member of the message that the values are.
	root  string
	nodes int
	// found are the first MaxDifferences differences, count is how many there
	// are, up to most.
	found       []Difference
	count, most int
}

// A filter says which members of an object are no part of a comparison, and what
// the filter of a member is.
type filter func(name string) (leave bool, inner filter)

// inParams leaves out of a request's params what is no part of its key.
func inParams(name string) (bool, filter) {
	switch name {
	case "_meta":
		return false, inMeta
	case "task":
		return false, func(name string) (bool, filter) { return name == "ttl", nil }
	}
	return false, nil
}

func inMeta(name string) (bool, filter) {
	return unkeyed([]byte(name)), nil
}

// diff compares two values, of which one may be absent.
func (d *differ) diff(recorded, live []byte, f filter) {
	d.nodes, d.count, d.found = 0, 0, nil
	a, b := d.whole(recorded, f), d.whole(live, f)
	d.compare(&a, &b, nil)
}

func (d *differ) whole(raw []byte, f filter) node {
	if len(raw) == 0 {
		return node{names: []string{}}
	}
	n, _ := d.tree(raw, 0, d.ignore, f)
	return n
}

// tree reads the value at i and returns the offset behind it.
func (d *differ) tree(raw []byte, i int, ignore []Path, f filter) (n node, end int) {
	d.nodes++
	switch c := classAt(raw, i); {
	case c == '{' && d.nodes < maxNodes:
		end = d.object(&n, raw, i, ignore, f)
	case c == '[' && d.nodes < maxNodes:
		end = d.array(&n, raw, i, ignore)
	default:
		n.sum, end = d.value(raw, i, ignore)
	}
	n.raw = raw[i:end]
	return n, end
}

// array reads an array. An element that is ignored has the place of one.
func (d *differ) array(n *node, raw []byte, i int, ignore []Path) int {
	base := len(d.buf)
	w := into(raw, i)
	for at, ok := w.element(); ok; at, ok = w.element() {
		rest, here := below(ignore, strconv.Itoa(len(n.kids)))
		var kid node
		if kid, w.i = d.tree(raw, at, rest, nil); here {
			kid = node{}
		}
		n.kids = append(n.kids, kid)
		d.buf = appendSum(d.buf, kid.sum)
	}
	n.sum = d.of('[', d.buf[base:])
	d.buf = d.buf[:base]
	return w.i
}

func (d *differ) object(n *node, raw []byte, i int, ignore []Path, f filter) int {
	n.names = []string{}
	kids := map[string]node{}
	w := into(raw, i)
	for token, at, ok := w.member(); ok; token, at, ok = w.member() {
		name := string(decode(token))
		rest, here := below(ignore, name)
		var inner filter
		if f != nil && !here {
			here, inner = f(name)
		}
		if here {
			w.i = skip(raw, at)
			continue
		}
		var kid node
		kid, w.i = d.tree(raw, at, rest, inner)
		kids[name] = kid // of two with one name the last counts
	}
	for name := range kids {
		n.names = append(n.names, name)
	}
	slices.Sort(n.names)
	base := len(d.members)
	for _, name := range n.names {
		kid := kids[name]
		n.kids = append(n.kids, kid)
		d.members = append(d.members, hashed{[]byte(name), kid.sum})
	}
	n.sum = d.sorted(d.members[base:], nil)
	d.members = d.members[:base]
	return w.i
}

// maxPath is how deep a difference is looked for. A path costs its length.
const maxPath = 64

// compare finds the differences of two trees below a path.
func (d *differ) compare(recorded, live *node, path Path) {
	switch {
	case d.count >= d.most || recorded.sum == live.sum:
	case len(path) == maxPath:
		d.differs(path, recorded, live)
	case recorded.names != nil && live.names != nil:
		d.compareMembers(recorded, live, path)
	case len(recorded.kids) > 0 && len(live.kids) > 0 && recorded.names == nil && live.names == nil:
		for i := range max(len(recorded.kids), len(live.kids)) {
			switch {
			case i >= len(live.kids):
				d.differs(path.to(strconv.Itoa(i)), &recorded.kids[i], nil)
			case i >= len(recorded.kids):
				d.differs(path.to(strconv.Itoa(i)), nil, &live.kids[i])
			case recorded.kids[i].sum != live.kids[i].sum:
				d.compare(&recorded.kids[i], &live.kids[i], path.to(strconv.Itoa(i)))
			}
		}
	default:
		d.differs(path, recorded, live)
	}
}

// compareMembers goes through two objects in the order of their names.
func (d *differ) compareMembers(recorded, live *node, path Path) {
	for i, j := 0, 0; (i < len(recorded.names) || j < len(live.names)) && d.count < d.most; {
		order := 0
		switch {
		case j == len(live.names):
			order = -1
		case i == len(recorded.names):
			order = 1
		default:
			order = strings.Compare(recorded.names[i], live.names[j])
		}
		switch {
		case order < 0:
			d.differs(path.to(recorded.names[i]), &recorded.kids[i], nil)
			i++
		case order > 0:
			d.differs(path.to(live.names[j]), nil, &live.kids[j])
			j++
		default:
			if recorded.kids[i].sum != live.kids[j].sum {
				d.compare(&recorded.kids[i], &live.kids[j], path.to(live.names[j]))
			}
			i, j = i+1, j+1
		}
	}
}

// differs notes one difference. An object without members that is there on one
// side only is none, as far as params go.
func (d *differ) differs(path Path, recorded, live *node) {
	if recorded == nil && empty(live) || live == nil && empty(recorded) {
		if path[len(path)-1] == "_meta" {
			return
		}
	}
	if d.count++; len(d.found) == MaxDifferences {
		return
	}
	x := Difference{Path: path.from(d.root)}
	if recorded != nil {
		x.Recorded = shorten(recorded.raw)
	}
	if live != nil {
		x.Live = shorten(live.raw)
	}
	d.found = append(d.found, x)
}

func empty(n *node) bool { return n.names != nil && len(n.names) == 0 }

// contains reports whether all that the recorded value has is in the live one.
func contains(recorded, live *node) bool {
	if recorded.names == nil || live.names == nil {
		return recorded.sum == live.sum
	}
	for i, name := range recorded.names {
		j, ok := slices.BinarySearch(live.names, name)
		if !ok && !empty(&recorded.kids[i]) || ok && !contains(&recorded.kids[i], &live.kids[j]) {
			return false
		}
	}
	return true
}

// maxShown is how many bytes of a value are shown.
const maxShown = 60

// shorten is a value as it stands, cut. It is never empty.
func shorten(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	if len(raw) <= maxShown {
		return string(raw)
	}
	n := maxShown
	for n > maxShown-utf8.UTFMax && !utf8.RuneStart(raw[n]) {
		n--
	}
	return string(bytes.TrimSpace(raw[:n])) + "…"
}
