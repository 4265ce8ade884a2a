package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/internal/jsonpath"
	"github.com/mcptap/mcptap/internal/jsontree"
)

// A Path leads to members of a request's params, from the message on.
type Path jsonpath.Pattern

// ParsePath reads a path to a member of params in the dialect of package jsonpath, such as
// $.params.arguments.when or $.params.messages[*].id.
func ParsePath(text string) (Path, error) {
	if !strings.HasPrefix(text, "$") {
		write := "such as $.params.arguments.when"
		if now, err := jsonpath.Parse("$.params." + strings.TrimPrefix(text, "params.")); err == nil && !strings.HasPrefix(text, "/") {
			write = "write " + now.String()
		}
		return nil, fmt.Errorf("path %q: a path begins with $.params (%s)", text, write)
	}
	p, err := jsonpath.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", text, err)
	}
	if below, ok := strings.CutPrefix(p.String(), "$.params"); !ok || below == "" || below[0] != '.' && below[0] != '[' {
		return nil, fmt.Errorf("path %q: want one below $.params, such as $.params.arguments.when", text)
	}
	return Path(p), nil
}

// String is the inverse of [ParsePath].
func (p Path) String() string { return jsonpath.Pattern(p).String() }

// leadsTo reports whether it leads to a place, which is named from params on.
func (p Path) leadsTo(at jsontree.Path) bool { return jsonpath.Pattern(p[1:]).Exactly(at) }

// Ignored reports which of the paths of [Options].Ignore have led to something, in what was
// recorded or in what the client asked, by their places there.
func (s *Session) Ignored() []bool {
	all := slices.Clone(s.keyer.led)
	for i := range all {
		all[i] = all[i] || s.script.led[i]
	}
	return all
}
