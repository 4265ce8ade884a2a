package wrap

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

func (p *tomlParser) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, p.fault("nested too deep")
	}
	switch p.peek() {
	case '"', '\'':
		return p.text()
	case '[':
		return p.array(depth)
	case '{':
		return p.inline(depth)
	}
	n := &node{start: p.at}
	for p.at < len(p.src) && strings.IndexByte(",]}#\r\n\"'[{=", p.src[p.at]) < 0 {
		p.at++
	}
	n.end = n.start + len(strings.TrimRight(p.src[n.start:p.at], " \t"))
	if n.end == n.start {
		return nil, p.fault("a value is missing")
	}
	return n, nil
}

func (p *tomlParser) array(depth int) (*node, error) {
	n := &node{kind: list, start: p.at}
	for p.at++; ; {
		p.blank()
		if p.peek() == ']' {
			break
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.elems = append(n.elems, v)
		if p.blank(); p.peek() == ',' {
			p.at++
		} else if p.peek() != ']' {
			return nil, p.fault("a comma or ] is missing")
		}
	}
	p.at++
	n.end = p.at
	return n, nil
}

// inline reads a table in braces. TOML 1.1 lets it go over several lines.
func (p *tomlParser) inline(depth int) (*node, error) {
	n := &node{kind: table, start: p.at}
	for p.at++; ; {
		p.blank()
		if p.peek() == '}' {
			break
		}
		if err := p.pair(n, depth, false); err != nil {
			return nil, err
		}
		if p.blank(); p.peek() == ',' {
			p.at++
		} else if p.peek() != '}' {
			return nil, p.fault("a comma or } is missing")
		}
	}
	p.at++
	n.end = p.at
	return n, nil
}

// text reads a string of any of the four kinds.
func (p *tomlParser) text() (*node, error) {
	n := &node{kind: text, start: p.at}
	quote := p.src[p.at : p.at+1]
	escapes := quote == `"`
	long := strings.HasPrefix(p.src[p.at:], strings.Repeat(quote, 3))
	if long {
		quote = strings.Repeat(quote, 3)
	}
	i := p.at + len(quote)
	inside := i
	for ; ; i++ {
		switch {
		case i >= len(p.src) || !long && p.src[i] == '\n':
			return nil, faultAt(p.src, n.start, "a string that does not end")
		case escapes && p.src[i] == '\\':
			i++
			continue
		case !strings.HasPrefix(p.src[i:], quote):
			continue
		}
		break
	}
	end := i
	for extra := 0; long && extra < 2 && strings.HasPrefix(p.src[end+3:], quote[:1]); extra++ {
		end++ // """" ends in a quote of its own
	}
	p.at = end + len(quote)
	n.end = p.at
	n.text = p.src[inside:end]
	if long {
		n.text = strings.TrimPrefix(strings.TrimPrefix(n.text, "\r"), "\n")
	}
	if escapes {
		var ok bool
		if n.text, ok = unescapeTOML(n.text); !ok {
			return nil, faultAt(p.src, n.start, "an escape that is none")
		}
	}
	return n, nil
}

var tomlEscapes = map[byte]string{
	'b': "\b", 't': "\t", 'n': "\n", 'f': "\f", 'r': "\r", 'e': "\x1b", '"': `"`, '\\': `\`,
}

// unescapeTOML decodes the escapes of a basic string.
func unescapeTOML(s string) (string, bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		if plain, ok := tomlEscapes[s[i]]; ok {
			b.WriteString(plain)
			continue
		}
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[i]]
		if digits == 0 { // a line that goes on behind the next one's indent
			rest := strings.TrimLeft(s[i:], " \t\r")
			if !strings.HasPrefix(rest, "\n") {
				return "", false
			}
			i = len(s) - len(strings.TrimLeft(rest, " \t\r\n")) - 1
			continue
		}
		if i+digits >= len(s) {
			return "", false
		}
		r, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32)
		if err != nil || !utf8.ValidRune(rune(r)) {
			return "", false
		}
		b.WriteRune(rune(r))
		i += digits
	}
	return b.String(), true
}
