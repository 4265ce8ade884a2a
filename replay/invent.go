package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// invent answers a request that was not recorded and needs no recording, and
// reports whether it is one.
func (s *Session) invent(stream Stream, m *jsonrpc.Message, k *keyed) bool {
	answer := "{}"
	switch m.Method {
	case "ping":
		s.say(stream, m.ID, "result", []byte(answer))
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
	case "server/discover":
		s.discover(stream, m)
		return true
	default:
		return false
	}
	s.note(Note{Kind: NoteInvented, Method: m.Method, Subject: jsonrpc.Subject(*m),
		Text: m.Method + " is not in the recording; it was answered with " + answer})
	s.say(stream, m.ID, "result", []byte(answer))
	return true
}

// discover answers server/discover: of a legacy recording with the error that
// sends a client to initialize, of a modern one with what can be told from it.
func (s *Session) discover(stream Stream, m *jsonrpc.Message) {
	n := Note{Kind: NoteInvented, Method: m.Method}
	if !s.script.eras.modern {
		n.Text = "server/discover is not in the recording, which is of the era with a handshake; it was refused"
		s.note(n)
		s.fail(stream, m.ID, codeNoMethod, "Method not found: server/discover", nil)
		return
	}
	n.Text = "server/discover is not in the recording; it was answered with the recorded versions and methods"
	s.note(n)
	capabilities := map[string]any{}
	for method := range s.script.index.kinds {
		if kind, _, ok := bytes.Cut([]byte(method), []byte("/")); ok && slices.Contains([]string{"tools", "prompts", "resources"}, string(kind)) {
			capabilities[string(kind)] = struct{}{}
		}
	}
	if _, ok := s.script.index.kinds["completion/complete"]; ok {
		capabilities["completions"] = struct{}{}
	}
	value, err := json.Marshal(map[string]any{ // 2026-07-28 server/discover
		"resultType": "complete", "supportedVersions": s.script.eras.served, "capabilities": capabilities,
		"ttlMs": 0, "cacheScope": "private",
	})
	if err != nil { // strings only: cannot happen
		panic(err)
	}
	s.say(stream, m.ID, "result", value)
}

// refuseVersion refuses a request in a version that the recording does not have,
// and an initialize where there was none because the recorded server needs none
// (2026-07-28 basic/versioning). It reports whether it did.
func (s *Session) refuseVersion(stream Stream, m *jsonrpc.Message, k *keyed) bool {
	e := &s.script.eras
	var requested string
	switch {
	case !e.modern:
		return false
	case k.modern:
		if requested = string(decode(k.version)); slices.Contains(e.asks, requested) {
			return false
		}
	case m.Method != "initialize" || e.legacy:
		return false
	default:
		requested = string(decode(firstMember(m.Params, "protocolVersion", "mcpVersion")))
	}
	s.note(Note{Kind: NoteVersion, Method: m.Method,
		Text: fmt.Sprintf("%s asks for version %q, and the recording has %q; it was refused", m.Method, requested, e.served)})
	s.fail(stream, m.ID, codeVersion, "Unsupported protocol version",
		map[string]any{"supported": e.served, "requested": requested})
	return true
}
