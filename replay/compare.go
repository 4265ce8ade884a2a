package replay

import (
	"bytes"
	"maps"
	"strconv"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// maxCounted is up to how many differences are counted.
const maxCounted = 1000

// params reads the params of a message, without what is no part of its key.
func (k *keyer) params(m *jsonrpc.Message) jsontree.Value {
	v := readTree(new(jsontree.Reader), m.Params, jsontree.MaxDepth+1)
	k.remove(v, m)
	return v
}

// answered reads what an answer says, without what is another one in each run.
func answered(raw []byte) jsontree.Value {
	v := readTree(new(jsontree.Reader), raw, jsontree.MaxDepth+1)
	v.Remove(inEachRun)
	return v
}

// differences returns the first MaxDifferences places at which two values differ that are
// a member of their messages, and how many places there are, up to most.
func differences(recorded, live jsontree.Value, member string, most int) (found []Difference, n int) {
	jsontree.Compare(recorded, live, jsontree.Path{jsontree.To(member)}, func(c *jsontree.Change) bool {
		if c.Kind == jsontree.Repeated || c.Kind == jsontree.Respelled && c.A.Kind() != jsontree.String {
			return true // equal
		}
		if n++; n <= MaxDifferences {
			d := Difference{c.Path.String(), shorten(c.A.Raw()), shorten(c.B.Raw())}
			if c.Kind == jsontree.Moved {
				d.Live += " at [" + strconv.Itoa(c.To) + "]"
			}
			found = append(found, d)
		}
		return n < most
	})
	return found, n
}

// differ notes in what two values differ that are a member of their messages.
func (n *Note) differ(recorded, live jsontree.Value, member string) {
	found, count := differences(recorded, live, member, maxCounted)
	n.Differences, n.More = found, count-len(found)
}

// contains reports whether all that the recorded value has is in the live one.
func contains(live, recorded jsontree.Value) bool {
	if recorded.Kind() != jsontree.Object || live.Kind() != jsontree.Object || live.Opaque() || recorded.Opaque() {
		return recorded.Equal(live)
	}
	members := maps.Collect(live.All())
	for name, v := range recorded.All() {
		w, ok := members[name]
		if !ok && !isEmpty(v) || ok && !contains(w, v) {
			return false
		}
	}
	return true
}

// maxShown is how many bytes of a value are shown.
const maxShown = 60

// shorten is a value as it stands, cut.
func shorten(raw []byte) string {
	if len(raw) <= maxShown {
		return string(raw)
	}
	n := maxShown
	for n > maxShown-utf8.UTFMax && !utf8.RuneStart(raw[n]) {
		n--
	}
	return string(bytes.TrimSpace(raw[:n])) + "…"
}
