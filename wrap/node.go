package wrap

import "fmt"

// A nodeKind says what a value is.
type nodeKind uint8

const (
	scalar nodeKind = iota // anything that nobody here looks into
	text
	list
	table
)

// A node is a value of a configuration file, with the bytes that it stands in.
type node struct {
	kind nodeKind
	// start and end are its bytes, also the brackets'. A table of TOML that is
	// not in braces has none.
	start, end int
	text       string // of a text, without quotes and escapes
	elems      []*node
	members    []member
}

// A member is a named value of a table.
type member struct {
	name  string
	value *node
	// key is where its name begins, prefix what stands there before the last
	// word of a dotted name (TOML).
	key    int
	prefix string
	// line says that it stands on a line of its own, without a comma (TOML).
	line bool
}

// get returns the member of that name, nil when there is none. Of several it is
// the last one, as in the clients.
func (n *node) get(name string) *member {
	if n == nil {
		return nil
	}
	for i := len(n.members) - 1; i >= 0; i-- {
		if n.members[i].name == name {
			return &n.members[i]
		}
	}
	return nil
}

// child returns the value of a member, nil when there is none.
func (n *node) child(name string) *node {
	if m := n.get(name); m != nil {
		return m.value
	}
	return nil
}

// maxDepth is how deep values may be nested: no client's file is, and the
// parsers call themselves.
const maxDepth = 200

// A syntaxError says where a file cannot be read.
type syntaxError struct {
	line, column int
	what         string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.line, e.column, e.what)
}

// faultAt makes a syntaxError for an offset.
func faultAt(src string, at int, what string) error {
	e := &syntaxError{line: 1, column: 1, what: what}
	for i := 0; i < at && i < len(src); i++ {
		if e.column++; src[i] == '\n' {
			e.line, e.column = e.line+1, 1
		}
	}
	return e
}
