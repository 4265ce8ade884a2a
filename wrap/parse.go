package wrap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/tailscale/hujson"
)

const byteOrderMark = "\ufeff"

// maxDepth limits the nesting of values. The parsers are recursive.
const maxDepth = 200

var errTooDeep = errors.New("nested too deep")

// A nodeKind is the kind of a value.
type nodeKind uint8

const (
	scalar nodeKind = iota // any other value
	text
	list
	table
)

// A node is a value of a configuration file.
type node struct {
	kind nodeKind
	// start and end are its offsets in the file, including quotes and brackets. In TOML, tables
	// without braces, and lists and tables in a list, have none.
	start, end int
	text       string // of a string, without quotes and escapes
	elems      []*node
	members    []member
	last       map[string]int // the last member with a name
}

// A member is a named value of a table.
type member struct {
	name  string
	value *node
	// In TOML, key is the offset of the name, and prefix the part of a dotted name before
	// its last word.
	key    int
	prefix string
	// line reports whether it is on its own line, without a comma (TOML).
	line bool
}

// add adds a member.
func (n *node) add(m member) {
	if n.last == nil {
		n.last = map[string]int{}
	}
	n.last[m.name] = len(n.members)
	n.members = append(n.members, m)
}

// get returns the last member with a name, which clients use, or nil.
func (n *node) get(name string) *member {
	if i, ok := n.last[name]; ok {
		return &n.members[i]
	}
	return nil
}

// child returns the value of a member, or nil.
func (n *node) child(name string) *node {
	if m := n.get(name); m != nil {
		return m.value
	}
	return nil
}

// parseJSON reads JSON with comments and trailing commas. An empty file is an
// empty object.
func parseJSON(src string) (*node, error) {
	b, err := plain([]byte(strings.TrimPrefix(src, byteOrderMark)))
	if err != nil {
		return nil, err
	}
	if len(bytes.Trim(b, " \t\r\n")) == 0 {
		return &node{kind: table}, nil
	}
	v, err := hujson.Parse(b)
	if err != nil {
		message := strings.TrimPrefix(err.Error(), "hujson: ")
		if position, _, ok := strings.Cut(message, "invalid literal: "); ok {
			message = position + "invalid literal" // without the text, which may be secret
		}
		return nil, errors.New(message)
	}
	return newNode(&v, len(src)-len(b)), nil
}

// plain blanks the comments in JSON, in place, and checks its depth.
func plain(b []byte) ([]byte, error) {
	depth := 0
	for i := 0; i < len(b); i++ {
		end := ""
		switch b[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return nil, errTooDeep
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '/':
			if bytes.HasPrefix(b[i:], []byte("//")) {
				end = "\n"
			} else if bytes.HasPrefix(b[i:], []byte("/*")) {
				end = "*/"
			}
		}
		if end == "" {
			continue
		}
		n := bytes.Index(b[i+2:], []byte(end))
		switch {
		case n < 0 && end == "*/":
			return b, nil // a syntax error
		case n < 0:
			n = len(b) - i - 2
		case end == "*/":
			n += len(end)
		}
		for stop := i + 2 + n; i < stop; i++ {
			if b[i] != '\n' {
				b[i] = ' '
			}
		}
		i--
	}
	return b, nil
}

// newNode converts a value that begins at offset base of the file.
func newNode(v *hujson.Value, base int) *node {
	n := &node{start: base + v.StartOffset, end: base + v.EndOffset}
	switch x := v.Value.(type) {
	case hujson.Literal:
		if x.Kind() == '"' {
			n.kind, n.text = text, x.String()
		}
	case *hujson.Array:
		n.kind = list
		for i := range x.Elements {
			n.elems = append(n.elems, newNode(&x.Elements[i], base))
		}
	case *hujson.Object:
		n.kind = table
		for i := range x.Members {
			m := &x.Members[i]
			n.add(member{name: m.Name.Value.(hujson.Literal).String(), value: newNode(&m.Value, base)})
		}
	}
	return n
}

// A tomlParser collects the output of go-toml's parser in one table.
type tomlParser struct {
	unstable.Parser
	base int // file offset of the parser's first byte
}

// parseTOML parses a file as one table.
func parseTOML(src string) (*node, error) {
	b := []byte(strings.TrimPrefix(src, byteOrderMark))
	p := tomlParser{base: len(src) - len(b)}
	p.Reset(b)
	root := &node{kind: table}
	current := root
	var err error
	for err == nil && p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.KeyValue:
			err = p.pair(current, e, 0)
		case unstable.Table:
			current, err = p.descend(root, keys(e))
		case unstable.ArrayTable: // its name refers to the last table
			path := keys(e)
			last := len(path) - 1
			var parent *node
			if parent, err = p.descend(root, path[:last]); err == nil {
				current = &node{kind: table}
				parent.add(member{name: string(path[last].Data), value: current})
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if err := p.Error(); err != nil {
		var syntax *unstable.ParserError
		if errors.As(err, &syntax) {
			return nil, p.fault(p.Range(syntax.Highlight), syntax.Message)
		}
		return nil, err
	}
	return root, nil
}

func (p *tomlParser) fault(r unstable.Range, message string) error {
	at := p.Shape(r).Start
	return fmt.Errorf("line %d, column %d: %s", at.Line, at.Column, message)
}

// keys returns the words of a dotted name.
func keys(e *unstable.Node) (path []*unstable.Node) {
	for it := e.Key(); it.Next(); {
		path = append(path, it.Node())
	}
	return path
}

// descend returns a table under another, creating missing ones.
func (p *tomlParser) descend(n *node, path []*unstable.Node) (*node, error) {
	if len(path) > maxDepth {
		return nil, errTooDeep
	}
	for _, key := range path {
		name := string(key.Data)
		next := n.child(name)
		if next == nil {
			next = &node{kind: table}
			n.add(member{name: name, value: next})
		}
		if next.kind != table {
			return nil, p.fault(key.Raw, quote(name)+" is not a table")
		}
		n = next
	}
	return n, nil
}

// pair adds key = value to a table. At depth 0 it has its own line.
func (p *tomlParser) pair(into *node, e *unstable.Node, depth int) error {
	path := keys(e)
	last := len(path) - 1
	v, err := p.value(e.Value(), depth+1)
	if err != nil {
		return err
	}
	if into, err = p.descend(into, path[:last]); err != nil {
		return err
	}
	// Lists and tables have no offsets: their text is what follows the =.
	raw, begin := p.Raw(e.Raw), int(path[0].Raw.Offset)
	name := int(path[last].Raw.Offset) - begin
	equals := name + int(path[last].Raw.Length)
	equals += bytes.IndexByte(raw[equals:], '=') + 1
	equals += len(raw[equals:]) - len(bytes.TrimLeft(raw[equals:], " \t"))
	begin += p.base
	v.start, v.end = begin+equals, begin+len(raw)
	into.add(member{
		name: string(path[last].Data), value: v, key: begin, prefix: string(raw[:name]), line: depth == 0,
	})
	return nil
}

// value converts a value.
func (p *tomlParser) value(e *unstable.Node, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	n := &node{start: p.base + int(e.Raw.Offset)}
	n.end = n.start + int(e.Raw.Length)
	it := e.Children()
	switch e.Kind {
	case unstable.String:
		n.kind, n.text = text, string(e.Data)
	case unstable.Array:
		n.kind = list
		for it.Next() {
			elem, err := p.value(it.Node(), depth+1)
			if err != nil {
				return nil, err
			}
			n.elems = append(n.elems, elem)
		}
	case unstable.InlineTable:
		n.kind = table
		for it.Next() {
			if err := p.pair(n, it.Node(), depth); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}

// quote quotes a text for JSON and TOML.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can always be encoded
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}
