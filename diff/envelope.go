package diff

import (
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
)

const metaPrefix = "io.modelcontextprotocol/"

// neverMeta are the members of _meta that never count by themselves: what they
// tie together does.
var neverMeta = map[string]bool{
	"progressToken": true, "traceparent": true, "tracestate": true, "baggage": true,
	metaPrefix + "protocolVersion": true, metaPrefix + "subscriptionId": true, metaPrefix + "related-task": true,
}

// usualMeta are the members of _meta that a side repeats with each message. They
// count where they are not what its session says at first.
var usualMeta = map[string]bool{
	metaPrefix + "clientInfo": true, metaPrefix + "clientCapabilities": true, metaPrefix + "serverInfo": true,
}

// neverMember reports whether a member of params, a result or an error never
// counts by itself.
func neverMember(p part, method, name string) bool {
	switch name {
	case "progressToken":
		return p == params && method == "notifications/progress"
	case "requestId":
		return p == params && method == "notifications/cancelled"
	case "id": // of the 002 dialect
		return p == params && (method == "progress" || method == "cancel")
	case "cursor":
		return p == params && strings.HasSuffix(method, "/list")
	case "requestState", "inputResponses":
		return p == params
	case "elicitationId":
		return p == params && strings.Contains(method, "elicitation")
	case "taskId", "createdAt", "lastUpdatedAt":
		return strings.Contains(method, "tasks")
	}
	return false
}

// neverPath reports whether a path leads to what tells one task from another.
func neverPath(p part, path jsontree.Path) bool {
	if p != result || len(path) < 3 || path[1].Name != "task" && path[1].Name != "tasks" {
		return false
	}
	last := path[len(path)-1].Name
	return last == "taskId" || last == "createdAt" || last == "lastUpdatedAt"
}

// bare hashes a payload without what never counts by itself, so that most
// payloads that differ only in that need not be loaded again.
func (s *Session) bare(p part, method string, v jsontree.Value) (value, spelled uint64) {
	if v.Kind() != jsontree.Object || v.Opaque() {
		return v.Hash(), v.Spelled()
	}
	add := func(name string, m jsontree.Value, value1, spelled1 uint64) {
		_, repeats := m.Repeats()
		value += jsontree.Mix(jsontree.HashString(name), value1)
		spelled += jsontree.Mix(jsontree.HashString(name), spelled1+repeats)
	}
	for name, m := range v.All() {
		switch {
		case neverMember(p, method, name):
		case name == "nextCursor" && m.Kind() == jsontree.String:
			add(name, m, 1, 1) // that there is more counts
		case name == "_meta" && m.Kind() == jsontree.Object && !m.Opaque():
			s.bareMeta(p, m, add)
		default:
			add(name, m, m.Hash(), m.Spelled())
		}
	}
	return value, spelled
}

func (s *Session) bareMeta(p part, meta jsontree.Value, add func(name string, m jsontree.Value, value, spelled uint64)) {
	for name, m := range meta.All() {
		if !neverMeta[name] && !s.usual(p, name, m) {
			add(name, m, m.Hash(), m.Spelled())
		}
	}
}

// usual reports whether a member of _meta is what the session said at first,
// or says it first.
func (s *Session) usual(p part, name string, v jsontree.Value) bool {
	if !usualMeta[name] || p == fault {
		return false
	}
	first, said := s.first[name]
	if !said {
		s.first[name] = v.Hash()
		return true
	}
	return first == v.Hash()
}
