package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/internal/jsonpath"
)

// A Path leads to a member of a request's params: the names of members and the
// numbers of elements on the way, from params on. The name * stands for any.
type Path []string

// ParsePath reads a path to a member of params in the dialect of package jsonpath, such as
// $.params.arguments.when or $.params.messages[*].id.
func ParsePath(text string) (Path, error) {
	if !strings.HasPrefix(text, "$") {
		write := "such as $.params.arguments.when"
		if p := respell(text); p != "" {
			write = "write " + p
		}
		return nil, fmt.Errorf("path %q: a path begins with $.params (%s)", text, write)
	}
	pattern, err := jsonpath.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", text, err)
	}
	steps, ok := pattern.Steps()
	switch {
	case !ok:
		return nil, fmt.Errorf("path %q: .. is not supported here: name each step, or write * for it", text)
	case len(steps) < 2 || steps[0] != "params":
		return nil, fmt.Errorf("path %q: want one below $.params, such as $.params.arguments.when", text)
	}
	return steps[1:], nil
}

// respell returns a path in the spelling of older versions in that of today, "" if it
// is in neither: names with dots between, or a JSON pointer (RFC 6901), from params on.
func respell(text string) string {
	var names []string
	if pointer, ok := strings.CutPrefix(text, "/"); ok {
		for _, name := range strings.Split(pointer, "/") {
			names = append(names, strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
		}
	} else if !strings.HasPrefix(text, "$") {
		names = strings.Split(text, ".")
	}
	if len(names) > 1 && names[0] == "params" {
		names = names[1:]
	}
	if len(names) == 0 || slices.Contains(names, "") {
		return ""
	}
	return Path(names).String()
}

// String is the inverse of [ParsePath].
func (p Path) String() string {
	text := "$.params"
	for _, name := range p {
		_, err := strconv.Atoi(name)
		switch {
		case err == nil || name == "*":
			text += "[" + name + "]"
		case name == "" || strings.ContainsAny(name, "./[]\"$ "):
			text += "[" + strconv.Quote(name) + "]"
		default:
			text += "." + name
		}
	}
	return text
}

// from returns the path from the message on, whose member root it begins in, as a
// difference names it.
func (p Path) from(root string) string {
	for _, name := range p {
		if name == "" || strings.ContainsAny(name, "./") {
			r := strings.NewReplacer("~", "~0", "/", "~1")
			var b strings.Builder
			b.WriteString("/" + root)
			for _, name := range p {
				b.WriteByte('/')
				b.WriteString(r.Replace(name))
			}
			return b.String()
		}
	}
	return strings.Join(append([]string{root}, p...), ".")
}

// to is the path to a member of what p leads to.
func (p Path) to(name string) Path { return append(p[:len(p):len(p)], name) }

// below returns what is left of the paths for the member of a name, and whether
// one of them ends there. Nil in, nil out: nearly always nothing is ignored.
func below(paths []Path, name string) (rest []Path, here bool) {
	for _, p := range paths {
		if p[0] != "*" && p[0] != name {
			continue
		}
		if len(p) == 1 {
			return nil, true
		}
		rest = append(rest, p[1:])
	}
	return rest, false
}

// leads reports whether a path leads to something in a value.
func (p Path) leads(raw []byte, at int) bool {
	if len(p) == 0 {
		return true
	}
	w := into(raw, at)
	switch classAt(raw, at) {
	case '{':
		for token, v, ok := w.member(); ok; token, v, ok = w.member() {
			if (p[0] == "*" || p[0] == string(decode(token))) && p[1:].leads(raw, v) {
				return true
			}
			w.i = skip(raw, v)
		}
	case '[':
		for n := 0; ; n++ {
			v, ok := w.element()
			if !ok {
				break
			}
			if (p[0] == "*" || p[0] == strconv.Itoa(n)) && p[1:].leads(raw, v) {
				return true
			}
			w.i = skip(raw, v)
		}
	}
	return false
}

// met notes which of the paths lead to something in the params of a request.
func (k *keyer) met(params []byte) {
	for i, p := range k.ignore {
		if !k.led[i] && p.leads(params, 0) {
			k.led[i] = true
		}
	}
}

// Ignored reports which of the paths of [Options].Ignore have led to something, in what was
// recorded or in what the client asked, by their places there.
func (s *Session) Ignored() []bool {
	all := slices.Clone(s.keyer.led)
	for i := range all {
		all[i] = all[i] || s.script.led[i]
	}
	return all
}
