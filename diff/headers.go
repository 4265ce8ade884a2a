package diff

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// header tells of a header field that only one side has, named as in headers.
func (e *engine) header(name string, kind Kind) {
	whose, field, _ := strings.Cut(name, " ")
	has, lacks := e.revA, e.revB
	f := &finding{class: Behaviour, kind: kind, path: jsontree.Path{jsontree.To("http"), jsontree.To(whose), jsontree.To(field)}}
	f.what = "the header field is not sent any more"
	if kind == Added {
		has, lacks = e.revB, e.revA
		f.what = "the header field is new"
	}
	switch {
	case !known(has) || !known(lacks):
	case field == "mcp-session-id" && has < rev2026 && lacks >= rev2026:
		f.class, f.reason, f.page = Expected, "2026-07-28 has no sessions", "2026-07-28/basic/transports/streamable-http"
	case field == "mcp-protocol-version" && has >= revJun25 && lacks < revJun25:
		f.class, f.reason, f.page = Expected, "it is new in 2025-06-18", "2025-06-18/basic/transports#protocol-version-header"
	case has >= rev2026 && lacks < rev2026:
		f.class, f.reason = Expected, "it is new in 2026-07-28"
		f.page = "2026-07-28/basic/transports/streamable-http#standard-request-headers"
	}
	by := tap.ToServer
	if whose == "response" {
		by = tap.ToClient
	}
	e.report(&where{in: InSession, by: by}, f)
}
