package wrap

import (
	"strings"
)

// A tomlParser reads as much of TOML 1.0 as it takes to know where each value
// stands. What is wrong inside a value that nobody here looks into is the
// client's to say.
type tomlParser struct {
	src  string
	at   int
	root *node
}

// parseTOML returns the table of a file.
func parseTOML(src string) (*node, error) {
	p := &tomlParser{src: src, root: &node{kind: table}}
	if strings.HasPrefix(src, byteOrderMark) {
		p.at = len(byteOrderMark)
	}
	current := p.root
	for {
		p.blank()
		if p.at == len(src) {
			return p.root, nil
		}
		if p.peek() == '[' {
			var err error
			if current, err = p.header(); err != nil {
				return nil, err
			}
		} else if err := p.pair(current, 0, true); err != nil {
			return nil, err
		}
		if p.space(); p.peek() != '\n' && p.peek() != '#' && p.at < len(src) {
			return nil, p.fault("something follows the value")
		}
	}
}

func (p *tomlParser) fault(what string) error { return faultAt(p.src, p.at, what) }

func (p *tomlParser) peek() byte {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

// space skips white space within a line, and the CR at its end.
func (p *tomlParser) space() {
	for p.at < len(p.src) && strings.IndexByte(" \t\r", p.src[p.at]) >= 0 {
		p.at++
	}
}

// blank skips white space, line ends and comments.
func (p *tomlParser) blank() {
	for {
		p.space()
		switch p.peek() {
		case '\n':
			p.at++
		case '#':
			for p.at < len(p.src) && p.src[p.at] != '\n' {
				p.at++
			}
		default:
			return
		}
	}
}

// header reads [a.b] or [[a.b]] and returns that table. Of an array of tables the
// latest one is found by its name.
func (p *tomlParser) header() (*node, error) {
	fresh := strings.HasPrefix(p.src[p.at:], "[[")
	closing := "]"
	if p.at++; fresh {
		p.at++
		closing = "]]"
	}
	path, _, err := p.keys()
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(p.src[p.at:], closing) {
		return nil, p.fault(closing + " is missing")
	}
	p.at += len(closing)
	parent, err := p.descend(p.root, path[:len(path)-1])
	if err != nil {
		return nil, err
	}
	if fresh {
		n := &node{kind: table}
		parent.members = append(parent.members, member{name: path[len(path)-1], value: n})
		return n, nil
	}
	return p.descend(parent, path[len(path)-1:])
}

// descend finds a table below another, and makes what is missing.
func (p *tomlParser) descend(n *node, path []string) (*node, error) {
	if len(path) > maxDepth {
		return nil, p.fault("nested too deep")
	}
	for _, name := range path {
		next := n.child(name)
		if next == nil {
			next = &node{kind: table}
			n.members = append(n.members, member{name: name, value: next})
		}
		if next.kind != table {
			return nil, p.fault(quote(name) + " is no table")
		}
		n = next
	}
	return n, nil
}

// keys reads a dotted key, with the space behind it. last is where its last word
// begins.
func (p *tomlParser) keys() (path []string, last int, err error) {
	for {
		p.space()
		last = p.at
		var word string
		switch c := p.peek(); {
		case c == '"' || c == '\'':
			n, err := p.text()
			if err != nil {
				return nil, 0, err
			}
			word = n.text
		default:
			for bareKey(p.peek()) {
				p.at++
			}
			if word = p.src[last:p.at]; word == "" {
				return nil, 0, p.fault("a key is missing")
			}
		}
		path = append(path, word)
		if p.space(); p.peek() != '.' {
			return path, last, nil
		}
		p.at++
	}
}

func bareKey(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// pair reads key = value into a table.
func (p *tomlParser) pair(into *node, depth int, line bool) error {
	p.space()
	begin := p.at
	path, last, err := p.keys()
	if err != nil {
		return err
	}
	if p.peek() != '=' {
		return p.fault("= is missing")
	}
	p.at++
	p.space()
	v, err := p.value(depth + 1)
	if err != nil {
		return err
	}
	if into, err = p.descend(into, path[:len(path)-1]); err != nil {
		return err
	}
	into.members = append(into.members, member{
		name: path[len(path)-1], value: v, key: begin, prefix: p.src[begin:last], line: line,
	})
	return nil
}
