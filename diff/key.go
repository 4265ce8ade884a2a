package diff

import (
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// maxText is how many bytes of a name from the wire are kept.
const maxText = jsonrpc.MaxSubject

// setKeys says what a call asks for, by its params.
func (s *Session) setKeys(u *unit, v jsontree.Value) {
	of := jsontree.Mix(jsontree.HashString(u.method), uint64(u.lane))
	switch m := u.method; {
	case m == "tools/call" || m == "tools/invoke" || m == "prompts/get":
		u.name = s.word(bounded(v.Get("name").Text()))
		u.weak = jsontree.Mix(of, v.Get("name").Hash())
		u.args = v.Get("arguments").Hash()
	case m == "resources/read" || m == "resources/subscribe" || m == "resources/unsubscribe":
		u.name = s.word(bounded(v.Get("uri").Text()))
		u.weak = jsontree.Mix(of, v.Get("uri").Hash())
	case strings.HasSuffix(m, "/list"), m == "initialize", m == "server/discover", m == "ping":
		u.weak = of
	case m == "completion/complete":
		ref := v.Get("ref")
		u.name = s.word(bounded(ref.Get("name").Text() + ref.Get("uri").Text()))
		u.weak = jsontree.Mix(of, ref.Hash())
		u.args = jsontree.Mix(v.Get("argument").Hash(), v.Get("context").Hash())
	case m == "subscriptions/listen":
		u.weak, u.args = of, v.Get("notifications").Hash()
	default:
		u.weak = of
		for name, c := range v.All() {
			if name := name; name != "_meta" && !neverMember(params, m, name) {
				u.args += jsontree.Mix(jsontree.HashString(name), c.Hash())
			}
		}
	}
	u.key = jsontree.Mix(u.weak, u.args)
}

// bounded is the beginning of a text from the wire, with no hold on the rest.
func bounded(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	return strings.Clone(s)
}
