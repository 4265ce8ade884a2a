package replay

import (
	"bytes"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// elsewhere offers a request that nothing recorded fits to who answers such ones,
// and reports whether it was taken. What every recording answers is not offered:
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
