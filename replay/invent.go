package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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
// sends a client to initialize, of a modern one with what it shows.
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
	result := map[string]any{ // 2026-07-28 server/discover
		"resultType": "complete", "supportedVersions": s.script.eras.served, "capabilities": s.script.offers(),
		"ttlMs": 0, "cacheScope": "private",
	}
	if server := s.script.facts.Server; server.Name != "" {
		result["_meta"] = map[string]any{jsonrpc.MetaPrefix + "serverInfo": map[string]string{"name": server.Name, "version": server.Version}}
	}
	value, err := json.Marshal(result)
	if err != nil { // strings only: cannot happen
		panic(err)
	}
	s.say(stream, m.ID, "result", value)
}

// offers are the capabilities that the recorded server shows: by what it answered, and by
// its notifications.
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
	for method, first := range s.index.kinds {
		if !slices.ContainsFunc(first, func(t uint32) bool { return s.answers(t) }) {
			continue
		}
		switch kind, _, _ := strings.Cut(method, "/"); kind {
		case "tools", "prompts", "resources":
			offer(kind, "")
		case "completion":
			offer("completions", "")
		}
	}
	for shown := range s.shows {
		name, feature, _ := strings.Cut(shown, ".")
		offer(name, feature)
	}
	return all
}

// answers reports whether a request got a result.
func (s *Script) answers(t uint32) bool {
	return jsonrpc.Peek(s.steps[s.triggers[t].answer].raw).Kind == jsonrpc.Response
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
		if requested = k.version; slices.Contains(e.requested, requested) {
			return false
		}
	case m.Method != "initialize" || e.legacy:
		return false
	default:
		requested = firstMember(m.Params, "protocolVersion", "mcpVersion").Decoded()
	}
	s.note(Note{Kind: NoteVersion, Method: m.Method,
		Text: fmt.Sprintf("%s asks for version %q, and the recording has %q; it was refused", m.Method, requested, e.served)})
	s.fail(stream, m.ID, codeVersion, "Unsupported protocol version",
		map[string]any{"supported": e.served, "requested": requested})
	return true
}

// elsewhere offers a request that nothing recorded fits to [Options].Elsewhere, and
// reports whether it was taken. What every recording answers is not offered:
// a ping, and the question for another era that the recorded server is not of.
func (s *Session) elsewhere(m *jsonrpc.Message, raw []byte) bool {
	other := m.Method == "server/discover" && !s.script.eras.modern && s.script.requests > 0
	if s.script.opt.Elsewhere == nil || m.Method == "ping" || other {
		return false
	}
	if !s.script.opt.Elsewhere(bytes.Clone(raw)) {
		return false
	}
	s.note(Note{Kind: NoteElsewhere, Method: m.Method, Subject: jsonrpc.Subject(*m),
		Text: about(m.Method, jsonrpc.Subject(*m)) + " was not recorded; it is answered elsewhere"})
	return true
}
