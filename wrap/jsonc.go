package wrap

import (
	"bytes"
	"encoding/json"
	"strings"
)

// A jsonParser reads JSON with comments and trailing commas, as the clients'
// editors do. It is lenient: what a client reads it must read too.
type jsonParser struct {
	src string
	at  int
}

const byteOrderMark = "\ufeff"

// parseJSON returns the value of a file. An empty one is an empty object.
func parseJSON(src string) (*node, error) {
	p := &jsonParser{src: src}
	if strings.HasPrefix(src, byteOrderMark) {
		p.at = len(byteOrderMark)
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.at == len(src) {
		return &node{kind: table}, nil
	}
	n, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.at < len(src) {
		return nil, p.fault("something follows the value")
	}
	return n, nil
}

func (p *jsonParser) fault(what string) error { return faultAt(p.src, p.at, what) }

// peek returns the next byte, 0 at the end.
func (p *jsonParser) peek() byte {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

// space skips white space and comments.
func (p *jsonParser) space() error {
	for p.at < len(p.src) {
		rest := p.src[p.at:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			p.at++
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			p.at += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return p.fault("a comment that does not end")
			}
			p.at += 2 + end + 2
		default:
			return nil
		}
	}
	return nil
}

func (p *jsonParser) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, p.fault("nested too deep")
	}
	switch p.peek() {
	case '{', '[':
		return p.container(depth)
	case '"':
		return p.text()
	}
	n := &node{start: p.at}
	for p.at < len(p.src) && strings.IndexByte(" \t\r\n,]}/:\"[{", p.src[p.at]) < 0 {
		p.at++
	}
	if n.end = p.at; n.end == n.start {
		return nil, p.fault("a value is missing")
	}
	return n, nil
}

func (p *jsonParser) text() (*node, error) {
	n := &node{kind: text, start: p.at}
	for p.at++; ; p.at++ {
		switch p.peek() {
		case '"':
			p.at++
			n.end = p.at
			if err := json.Unmarshal([]byte(p.src[n.start:n.end]), &n.text); err != nil {
				return nil, faultAt(p.src, n.start, "a string that is none")
			}
			return n, nil
		case '\\':
			p.at++
		case '\n', 0:
			if p.at >= len(p.src) || p.src[p.at] == '\n' {
				return nil, faultAt(p.src, n.start, "a string that does not end")
			}
		}
	}
}

// container reads an object or an array.
func (p *jsonParser) container(depth int) (*node, error) {
	n := &node{kind: table, start: p.at}
	closing := byte('}')
	if p.peek() == '[' {
		n.kind, closing = list, ']'
	}
	p.at++
	for {
		if err := p.space(); err != nil {
			return nil, err
		}
		if p.peek() == closing {
			p.at++
			n.end = p.at
			return n, nil
		}
		if err := p.element(n, depth); err != nil {
			return nil, err
		}
		if err := p.space(); err != nil {
			return nil, err
		}
		switch p.peek() {
		case ',':
			p.at++
		case closing:
		default:
			return nil, p.fault("a comma or " + string(closing) + " is missing")
		}
	}
}

// element reads a member or an element.
func (p *jsonParser) element(n *node, depth int) error {
	var m member
	if n.kind == table {
		if p.peek() != '"' {
			return p.fault("the name of a member is missing")
		}
		key, err := p.text()
		if err != nil {
			return err
		}
		m.name, m.key = key.text, key.start
		if err := p.space(); err != nil {
			return err
		}
		if p.peek() != ':' {
			return p.fault("a colon is missing")
		}
		p.at++
		if err := p.space(); err != nil {
			return err
		}
	}
	v, err := p.value(depth + 1)
	if err != nil {
		return err
	}
	if n.kind == list {
		n.elems = append(n.elems, v)
		return nil
	}
	m.value = v
	n.members = append(n.members, m)
	return nil
}

// quote spells a text so that JSON and TOML both read it.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string has an encoding
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}
