package replay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// maxVersions is the maximum number of versions kept of a recording.
const maxVersions = 32

// eras are the eras and versions of a recording.
type eras struct {
	// legacy reports that there is an initialize request, modern that there is a request other
	// than server/discover that names its own version.
	legacy, modern bool
	// requested are the versions that requests named, served those that the server did not
	// refuse.
	requested, served []string
	can               capabilities      // those of the recorded client
	by                map[uint32]string // the versions of unanswered modern requests
}

// asked adds a request.
func (e *eras) asked(t uint32, method string, k *keyed) {
	e.legacy = e.legacy || method == "initialize"
	if !k.modern {
		return
	}
	e.modern = e.modern || method != methodDiscover
	if !slices.Contains(e.requested, k.version) && len(e.requested) < maxVersions {
		e.requested = append(e.requested, k.version)
	}
	if !slices.Contains(e.served, k.version) && len(e.served) < maxVersions {
		e.by[t] = k.version
	}
}

// answered adds the answer to a request.
func (e *eras) answered(t uint32, m *jsonrpc.Message) {
	version, ok := e.by[t]
	delete(e.by, t)
	// A legacy server refuses server/discover as an unknown method.
	if ok && m.ErrorCode != codeVersion && m.ErrorCode != codeNoMethod && !slices.Contains(e.served, version) {
		e.served = append(e.served, version)
	}
}

// opens reports whether there is a request with which a client of the era opens a session.
func (e *eras) opens(modern bool) bool {
	if modern {
		return e.modern || len(e.served) > 0
	}
	return e.legacy
}

// finish is called when the recording is complete. A server that answered server/discover is
// modern, even if nothing else was asked.
func (e *eras) finish(facts *session.Facts) {
	e.can = readCapabilities(facts.ClientCapabilities)
	e.modern = e.modern || len(e.served) > 0
	if len(e.served) == 0 && e.modern {
		e.served = e.requested
	}
	slices.Sort(e.served)
}

const methodDiscover = "server/discover"

// Error codes (basic/index#error-codes, and JSON-RPC 2.0).
const (
	codeParse     = "-32700"
	codeNoRequest = "-32600"
	codeNoMethod  = "-32601"
	codeParams    = "-32602"
	codeVersion   = "-32022"
)

// A capabilities is a set of client capabilities.
type capabilities uint8

const (
	canSampling capabilities = 1 << iota
	canElicitation
	canRoots
	// canAnything is assumed of a client until it declares its capabilities.
	canAnything = canSampling | canElicitation | canRoots
)

// capabilityFor has, by the method of a server request, the capability that the client must have
// declared (client/sampling, client/elicitation, client/roots).
var capabilityFor = map[string]capabilities{
	"sampling/createMessage": canSampling, "elicitation/create": canElicitation, "roots/list": canRoots,
}

// capabilityOf has the server capability that a notification implies.
var capabilityOf = map[string]string{
	"notifications/tools/list_changed":     "tools.listChanged",
	"notifications/prompts/list_changed":   "prompts.listChanged",
	"notifications/resources/list_changed": "resources.listChanged",
	"notifications/resources/updated":      "resources.subscribe",
	"notifications/message":                "logging",
}

// readCapabilities reads the capabilities that a client declared.
func readCapabilities(raw []byte) (c capabilities) {
	for method, can := range capabilityFor {
		name, _, _ := strings.Cut(method, "/")
		if jsonrpc.Value(raw).Get(name).IsObject() {
			c |= can
		}
	}
	return c
}

// firstMember returns the first of the named members that is present.
func firstMember(object jsonrpc.Value, names ...string) (v jsonrpc.Value) {
	for _, name := range names {
		if v = object.Get(name); v != nil {
			break
		}
	}
	return v
}

// requestedVersion returns the version that an initialize requests.
func requestedVersion(m *jsonrpc.Message) string {
	return firstMember(m.Params, "protocolVersion", "mcpVersion").Decoded()
}

// generate answers a request that was not recorded if the answer needs no recording. It reports
// whether it did.
func (s *Session) generate(stream Stream, m *jsonrpc.Message, k *keyed) bool {
	answer := "{}"
	switch m.Method {
	case "ping":
		s.respond(stream, m.ID, "result", []byte(answer))
		return true
	case "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		if k.modern || !s.script.eras.legacy && s.script.eras.modern {
			return false
		}
	case "shutdown":
		if s.script.facts.Dialect != jsonrpc.Dialect002 {
			return false
		}
		answer = "null"
	case methodDiscover:
		s.discover(stream, m)
		return true
	default:
		return false
	}
	s.note(Note{Kind: NoteGenerated, Method: m.Method, Subject: jsonrpc.Subject(*m),
		Text: m.Method + " is not in the recording; it got " + answer})
	s.respond(stream, m.ID, "result", []byte(answer))
	return true
}

// discover answers server/discover (2026-07-28 server/discover). For a legacy recording the
// answer is the error that makes a client send initialize.
func (s *Session) discover(stream Stream, m *jsonrpc.Message) {
	n := Note{Kind: NoteGenerated, Method: m.Method}
	if !s.script.eras.modern {
		n.Text = "server/discover is not in the recording, which has a handshake; it was refused"
		s.note(n)
		s.fail(stream, m.ID, codeNoMethod, "Method not found: server/discover", nil)
		return
	}
	n.Text = "server/discover is not in the recording; it got the recorded versions and methods"
	s.note(n)
	result := map[string]any{
		"resultType": "complete", "supportedVersions": s.script.eras.served, "capabilities": s.script.offers(),
		"ttlMs": 0, "cacheScope": "private",
	}
	if server := s.script.facts.Server; server.Name != "" {
		result["_meta"] = map[string]any{jsonrpc.MetaPrefix + "serverInfo": map[string]string{"name": server.Name, "version": server.Version}}
	}
	value, _ := json.Marshal(result) // strings and numbers cannot fail
	s.respond(stream, m.ID, "result", value)
}

// offers returns the capabilities that the recorded requests and notifications imply. Those of a
// method that the recorded server did not have are not offered.
func (s *Script) offers() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	offer := func(name, feature string) {
		if all[name] == nil {
			all[name] = map[string]bool{}
		}
		if feature != "" {
			all[name][feature] = true
		}
	}
	known := func(t uint32) bool {
		answer := jsonrpc.Peek(s.steps[s.triggers[t].answer].raw)
		return answer.Kind == jsonrpc.Response || answer.Kind == jsonrpc.ErrorResponse && answer.ErrorCode != "-32601"
	}
	for method, first := range s.index.kinds {
		switch kind, _, _ := strings.Cut(method, "/"); {
		case !slices.ContainsFunc(first, known):
		case kind == "tools", kind == "prompts", kind == "resources":
			offer(kind, "")
		case kind == "completion":
			offer("completions", "")
		}
	}
	for shown := range s.implied {
		name, feature, _ := strings.Cut(shown, ".")
		offer(name, feature)
	}
	return all
}

// refuseVersion refuses a request in a version that was not recorded, and an initialize if the
// recorded client sent none (2026-07-28 basic/versioning). It reports whether it did.
func (s *Session) refuseVersion(stream Stream, m *jsonrpc.Message, k *keyed) bool {
	e := &s.script.eras
	requested := k.version
	switch {
	case !e.modern, k.modern && slices.Contains(e.requested, requested), !k.modern && (m.Method != "initialize" || e.legacy):
		return false
	case !k.modern:
		requested = requestedVersion(m)
	}
	s.note(Note{Kind: NoteVersion, Method: m.Method,
		Text: fmt.Sprintf("%s asks for version %q, and the recording has %q; it was refused", m.Method, requested, e.served)})
	s.fail(stream, m.ID, codeVersion, "Unsupported protocol version",
		map[string]any{"supported": e.served, "requested": requested})
	return true
}
