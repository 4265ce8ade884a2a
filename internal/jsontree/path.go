package jsontree

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/internal/term/escape"
)

// A Step leads from a value to one inside it.
type Step struct {
	// Name is the name of a member, or the key of an element of a list whose elements
	// are known by a key.
	Name string
	// Index is the place of an element, from 0.
	Index int
	Kind  StepKind
}

// A StepKind is the kind of a [Step].
type StepKind uint8

const (
	// Member is a member of an object, by its name.
	Member StepKind = iota
	// Element is an element of an array, by its place.
	Element
	// Keyed is an element of an array, by its key.
	Keyed
	// Inside leads from a string to the JSON that it holds.
	Inside
)

// To is a step to a member.
func To(name string) Step { return Step{Name: name} }

// A Path leads from a value to one inside it.
type Path []Step

// With returns the path with more steps, in memory of its own.
func (p Path) With(more ...Step) Path { return append(slices.Clip(slices.Clone(p)), more...) }

const (
	// maxName is how many bytes of a name stand in a path that is written.
	maxName = 80
	// maxSteps is how many steps of a path are written: half of them from its
	// beginning.
	maxSteps = 64
)

// String writes a path such as result.content[0].text.(json)["odd name"]. A key
// stands in quotes in brackets too. Characters that must not reach a terminal are
// escaped, long names and long paths are cut.
func (p Path) String() string {
	if len(p) > maxSteps {
		return p[:maxSteps/2].String() + ".…" + p[len(p)-maxSteps/2:].from(true)
	}
	return p.from(false)
}

// from writes a path, behind another or not.
func (p Path) from(behind bool) string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.Kind == Inside:
			b.WriteString(".(json)")
		case s.Kind == Element:
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		case s.Kind == Member && isPlain(s.Name):
			if behind || b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.Name)
		default:
			name := s.Name
			if len(name) > maxName {
				name = name[:maxName] + "…"
			}
			b.WriteString("[" + string(escape.AppendString(nil, strings.ToValidUTF8(name, "�"))) + "]")
		}
	}
	return b.String()
}

// isPlain reports whether a name needs no quotes in a path.
func isPlain(name string) bool {
	if name == "" || len(name) > maxName || name[0]-'0' < 10 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if c|0x20-'a' >= 26 && c-'0' >= 10 && c != '_' && c != '-' && c != '$' && c != '/' {
			return false
		}
	}
	return true
}
