package mock

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// ruled are the circumstances for which the specification tells a server to refuse
// a request, with the words for it; always are those that no server may overlook,
// whatever the recorded one did.
var ruled = map[circumstances]struct {
	status, code int
	text         string
}{
	foreignHost:   {http.StatusForbidden, -32000, "Forbidden: this is not the name of the server; use the URL that mcptap printed"},
	foreignOrigin: {http.StatusForbidden, -32000, "Forbidden: the request comes from a page of another origin"},
	overSession:   {http.StatusNotFound, -32001, "Session not found"},
	noSession:     {http.StatusBadRequest, -32000, "Bad Request: Mcp-Session-Id header is required"},
	wrongVersion:  {http.StatusBadRequest, -32000, "Bad Request: unsupported MCP-Protocol-Version"},
	wrongMethod:   {http.StatusBadRequest, -32020, "Header mismatch: Mcp-Method does not name the method of the body"},
	wrongName:     {http.StatusBadRequest, -32020, "Header mismatch: Mcp-Name does not name what the body does"},
}

const always = foreignHost | foreignOrigin

// refuses answers a request that is refused for its circumstances, as recorded or
// else as the specification says, and reports whether it is.
func (s *Server) refuses(w http.ResponseWriter, r *http.Request, all circumstances, c replay.Claim, m *jsonrpc.Message) bool {
	for _, why := range blamed {
		if all&why == 0 {
			continue
		}
		_, rule := ruled[why]
		tolerated := s.site.tolerated&why != 0 && always&why == 0
		if fixed := s.site.refusal(r.Method, why, s.key(m), tolerated); fixed != nil {
			s.fixed(w, r, fixed)
			return true
		}
		if rule && !tolerated {
			s.refuse(w, r, why, c, m)
			return true
		}
	}
	return false
}

// key is what a message is matched by, zero where nothing that was refused is.
func (s *Server) key(m *jsonrpc.Message) replay.Key {
	if m == nil || len(s.site.refusals) == 0 || m.Kind != jsonrpc.Request && m.Kind != jsonrpc.Notification {
		return replay.Key{}
	}
	return s.rec.Keyer().Key(m)
}

// refuse answers a request that is refused for a circumstance.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, why circumstances, c replay.Claim, m *jsonrpc.Message) {
	if fixed := s.site.refusal(r.Method, why, s.key(m), false); fixed != nil {
		s.fixed(w, r, fixed)
		return
	}
	rule := ruled[why]
	id, code := "null", rule.code
	if len(c.ID) > 0 {
		id = string(c.ID)
	}
	switch {
	case why == wrongVersion && !c.Modern && jsonrpc.EraOf(jsonrpc.Revision(r.Header.Get("Mcp-Protocol-Version"))) == jsonrpc.Modern:
		code = -32602 // its _meta is missing
	case why == wrongVersion && c.Modern:
		code = -32020
	}
	text, err := json.Marshal(rule.text)
	if err != nil { // a string: cannot happen
		panic(err)
	}
	body := `{"jsonrpc":"2.0","error":{"code":` + strconv.Itoa(code) + `,"message":` + string(text) + `},"id":` + id + `}`
	s.plain(w, rule.status, []byte(body))
}
