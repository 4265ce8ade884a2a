package replay

import (
	"fmt"
	"strings"
)

// A Path leads to a member of a request's params: the names of members and the
// numbers of elements on the way, from params on. The name * stands for any.
type Path []string

// ParsePath reads a path in either spelling: names with dots between, such as
// arguments.when or messages.0.content, or a JSON pointer (RFC 6901) such as
// /arguments/a.b, for names that have dots themselves. A first name params may
// stand or not.
func ParsePath(s string) (Path, error) {
	var p Path
	if pointer, ok := strings.CutPrefix(s, "/"); ok {
		for _, name := range strings.Split(pointer, "/") {
			p = append(p, strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~"))
		}
	} else {
		p = strings.Split(s, ".")
	}
	if len(p) > 1 && p[0] == "params" {
		p = p[1:]
	}
	for _, name := range p {
		if name == "" && !strings.HasPrefix(s, "/") {
			return nil, fmt.Errorf("the path %q has an empty name (want one such as arguments.when, or /arguments/a.b where a name has a dot)", s)
		}
	}
	return p, nil
}

// String returns the path from the message on: params.arguments.when, or a JSON
// pointer where that could not be read back.
func (p Path) String() string { return p.from("params") }

// from returns the path from the message on, whose member root it begins in.
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
