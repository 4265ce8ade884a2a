package check

import (
	"bytes"
	"strings"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Session is what rules know about a session.
type Session struct {
	// Number is its number, 0 for what belongs to no session.
	Number int
	// Transport is stdio, http, or sse for HTTP+SSE.
	Transport string
	// Start reports that the recording has the session from its first message on.
	Start bool
	// Gap reports that frames are missing.
	Gap bool
	// Facts are what the two sides have reported. May be nil.
	Facts *session.Facts
	// Client and Server are the capabilities that the two sides declared in a handshake or
	// in server/discover; nil as long as they are not known.
	Client, Server jsonrpc.Value
	// Listed are the definitions that the server listed last, by the method of the list, and by
	// name or URI.
	Listed map[string]map[string]jsonrpc.Value

	checker *Checker
	// rules are those at work, watchers and frames those of them that have Watch or Frame.
	rules, watchers, frames []*judge
	// selected has the rules that judge messages, by the elements of On.
	selected map[string][]*judge
	requests bounded.Map[session.Ref, *Request]
	seen     bool
	// toolsChanged reports that the server announced a change and Listed may be outdated.
	toolsChanged bool
}

// A Request is a request that a response or a notification refers to.
type Request struct {
	Ref    session.Ref
	Lane   tap.Lane
	Method string
	// Params are those of the request, nil if they are longer than 256 KiB.
	Params   jsonrpc.Value
	ID       []byte
	asked    map[string]*Request // requests for input in its results, by their keys
	params   members
	Revision jsonrpc.Revision
	Exchange uint64
}

// revision returns the revision in force for a message, and remembers requests.
func (s *Session) revision(m *Message) jsonrpc.Revision {
	switch m.Kind {
	case jsonrpc.Request:
		r := &Request{
			Ref: m.Part.Message, Lane: m.Lane, Method: m.Method, ID: bytes.Clone(m.ID), Params: s.keep(m.Params), Revision: s.declared(m), Exchange: m.Entry.Frame.Exchange,
		}
		if old, ok := s.requests.Put(r.Ref, r); ok {
			s.release(old.Params)
		}
		return r.Revision
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		if r, ok := s.requests.Get(m.Part.Request); ok {
			m.Request = r
			if r.Method == "initialize" { // it names the revision
				if rev := jsonrpc.Revision(m.Member("protocolVersion").Decoded()); rev != "" {
					return rev
				}
			}
			return r.Revision
		}
	}
	if r, ok := s.requests.Get(m.Part.Call); ok {
		return r.Revision
	}
	return s.declared(m)
}

// inForce returns a revision that a message or a call has, or else that of its session.
func (s *Session) inForce(rev jsonrpc.Revision) jsonrpc.Revision {
	if rev = known(rev); rev == "" && s.Facts != nil {
		rev = known(s.Facts.Revision)
	}
	return rev
}

// declared returns the revision that a message declares, or else that of its session.
func (s *Session) declared(m *Message) jsonrpc.Revision {
	own := ownVersion(m)
	switch {
	case own != "":
		return jsonrpc.Revision(own)
	case m.Method == "initialize":
		return jsonrpc.Revision(m.Param("protocolVersion").Decoded())
	case m.Method == "server/discover" && indexOf(m.Entry.Revision()) < 0:
		return jsonrpc.Rev20260728 // the only one that has it
	}
	return m.Entry.Revision()
}

// forget removes a request.
func (s *Session) forget(ref session.Ref) {
	if r, ok := s.requests.Get(ref); ok {
		s.release(r.Params)
		s.requests.Delete(ref)
	}
}

// learn remembers capabilities and definitions. It is called after the rules have judged the
// message, so these compare with what was known before.
func (s *Session) learn(m *Message) {
	if !s.seen {
		s.seen = true
		s.Start = m.Kind == jsonrpc.Request && (m.Method == "initialize" || m.Method == "server/discover" || m.Method == "ping") ||
			s.Transport == "stdio" && m.Part.Message.Seq <= 2
	}
	switch m.Kind {
	case jsonrpc.Request:
		s.learnRequest(m)
	case jsonrpc.Response:
		if m.Request != nil {
			s.learnResult(m)
		}
	case jsonrpc.Notification:
		s.toolsChanged = s.toolsChanged || m.Method == "notifications/tools/list_changed"
	}
}

func (s *Session) learnRequest(m *Message) {
	declared := metaOf(m.Param("_meta"), "clientCapabilities")
	if m.Method == "initialize" {
		declared = m.Param("capabilities")
	}
	if m.Lane == tap.ToServer && (declared != nil || m.Method == "initialize") {
		s.release(s.Client)
		s.Client = s.keep(declared)
	}
}

// learnResult remembers what the result of a known request defines.
func (s *Session) learnResult(m *Message) {
	result := m.Outcome()
	if asked := result.Get("inputRequests"); asked.IsObject() {
		s.learnAsked(m, asked)
	}
	switch m.Request.Method {
	case "initialize", "server/discover":
		s.checker.listed[""] = m.Entry.Frame.Seq
		if name := result.Get("serverInfo", "name"); name.Class() == '"' {
			s.checker.offer(m.Entry.Frame.Seq, ofServer, ofServer, name)
		}
		if text := result.Get("instructions"); text.Class() == '"' {
			s.offer(m, ofInstructions, ofInstructions, text)
		}
		declared := result.Get("capabilities")
		if declared.IsObject() {
			s.offer(m, m.Request.Method, ofCapabilities, declared)
		}
		s.release(s.Server)
		s.Server = s.keep(declared)
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		s.define(m)
	}
}

// learnAsked remembers requests for input with the first request of their call.
func (s *Session) learnAsked(m *Message, asked jsonrpc.Value) {
	first, ok := s.requests.Get(m.Part.Call)
	if !ok {
		return
	}
	first.asked = map[string]*Request{}
	for name, v := range asked.Each {
		if len(first.asked) == maxCarried {
			return
		}
		first.asked[string(name)] = &Request{
			Ref: m.Part.Message, Lane: m.Lane, Method: v.Get("method").Decoded(), Params: s.keep(v.Get("params")), Revision: m.Revision,
		}
	}
}

// define remembers the definitions in a page of a list. The first page replaces them.
func (s *Session) define(m *Message) {
	method := strings.Clone(m.Request.Method)
	list, defs := lists[method], s.Listed[method]
	if defs == nil || m.Request.Param("cursor") == nil {
		s.releaseAll(defs)
		defs = map[string]jsonrpc.Value{}
		s.Listed[method] = defs
	}
	s.checker.listed[method] = m.Entry.Frame.Seq
	s.checker.partial[method] = m.Member("nextCursor").Decoded() != ""
	if method == "tools/list" {
		s.toolsChanged = false
	}
	for _, v := range m.Member(list.member).Each {
		if len(defs) == maxDefinitions {
			s.checker.cut = true
			return
		}
		if name := v.Get(list.key).Decoded(); name != "" {
			s.release(defs[name])
			defs[strings.Clone(name)] = s.keep(v)
			s.offer(m, method, name, v)
		}
	}
}

// offer remembers a definition in a message, and whether there is no room for it.
func (s *Session) offer(m *Message, method, name string, v jsonrpc.Value) {
	if s.checker.offer(m.Entry.Frame.Seq, method, name, v) == nil {
		s.checker.cut = true
	}
}

// keep returns a copy of a value, nil if there is no room for it.
func (s *Session) keep(v jsonrpc.Value) jsonrpc.Value {
	if len(v) == 0 || len(v) > maxParams || s.checker.held+len(v) > maxHeld {
		return nil
	}
	s.checker.held += len(v)
	return append(jsonrpc.Value{}, v...)
}

// release gives back the room of a value.
func (s *Session) release(v jsonrpc.Value) { s.checker.held -= len(v) }

func (s *Session) releaseAll(defs map[string]jsonrpc.Value) {
	for _, v := range defs {
		s.release(v)
	}
}
