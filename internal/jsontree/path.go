package jsontree

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/internal/term/escape"
)

// A Step leads from a value to one of its children.
type Step struct {
	// Name is the name of a member, or the key of an element of a list with keys.
	Name string
	// Index is the index of an element.
	Index int
	Kind  StepKind
}

// A StepKind is the kind of a [Step].
type StepKind uint8

const (
	// Member is a member of an object, by name.
	Member StepKind = iota
	// Element is an element of an array, by index.
	Element
	// Keyed is an element of an array, by key.
	Keyed
	// Inside is the JSON in a string.
	Inside
)

// To returns the step to a member.
func To(name string) Step { return Step{Name: name} }

// A Path leads from a value to one of its descendants.
type Path []Step

// With returns a copy of the path with more steps.
func (p Path) With(more ...Step) Path { return append(slices.Clip(slices.Clone(p)), more...) }

const (
	// maxName is the maximum length of a printed name, in bytes.
	maxName = 80
	// maxSteps is the maximum number of printed steps, half of them at the beginning.
	maxSteps = 64
)

// String returns the path in the syntax of package jsonpath, such as
// $.result.content[0].text.(json)["odd name"]. A key is also quoted in brackets.
// Characters that are unsafe on a terminal are escaped. Long names are cut, and the middle
// of a long path is replaced by .., which matches any number of steps.
func (p Path) String() string {
	b := []byte{'$'}
	if len(p) <= maxSteps {
		return string(p.appendTo(b))
	}
	b = append(p[:maxSteps/2].appendTo(b), '.')
	if p = p[len(p)-maxSteps/2:]; p[0].bracketed() {
		b = append(b, '.')
	}
	return string(p.appendTo(b))
}

func (p Path) appendTo(b []byte) []byte {
	for _, s := range p {
		switch {
		case s.Kind == Inside:
			b = append(b, ".(json)"...)
		case s.Kind == Element:
			b = append(strconv.AppendInt(append(b, '['), int64(s.Index), 10), ']')
		case s.bracketed():
			name := strings.ToValidUTF8(s.Name[:min(len(s.Name), maxName)], "")
			if len(s.Name) > maxName {
				name += "…"
			}
			b = append(escape.AppendString(append(b, '['), name), ']')
		default:
			b = append(append(b, '.'), s.Name...)
		}
	}
	return b
}

// bracketed reports whether a step is printed in brackets.
func (s Step) bracketed() bool {
	return s.Kind == Element || s.Kind == Keyed || s.Kind == Member && !isPlain(s.Name)
}

// isPlain reports whether a name is printed without quotes.
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
