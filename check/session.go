package check

import (
	"bytes"
	"strings"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Session holds what rules know about a session.
type Session struct {
	// Number is its number, 0 for frames without a session.
	Number int
	// Transport is stdio, http, or sse for HTTP+SSE.
	Transport string
	// Start reports that the recording has the session from its first message.
	Start bool
	// Gap reports that frames are missing.
	Gap bool
	// Facts are what the two sides have reported. May be nil.
	Facts *session.Facts
	// Client and Server are the capabilities that the two sides declared in a handshake or
	// in server/discover; nil until they are known.
	Client, Server jsonrpc.Value
	// Listed holds the definitions that the server listed last, by list method and by name or
	// URI.
	Listed map[string]map[string]jsonrpc.Value

	checker *Checker
	// rules are the rules applied to the session; watchers and frames are those with Watch or Frame.
	rules, watchers, frames []*judge
	// selected has the rules that judge messages, by the elements of On.
	selected map[string][]*judge
	requests bounded.Map[session.Ref, *Request]
	seen     bool
	// toolsChanged reports that the server announced a change, so Listed may be outdated.
	toolsChanged bool
}

// A Request is a request that a response or a notification refers to.
type Request struct {
	Ref    session.Ref
	Lane   tap.Lane
	Method string
	// Params are the params of the request, nil if they are longer than 256 KiB.
	Params   jsonrpc.Value
	ID       []byte
	asked    map[string]*Request // input requests in its results, by key
	params   members
	Revision jsonrpc.Revision
	Exchange uint64
}

// revision returns the revision in force for a message, and records requests.
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
			if r.Method == "initialize" { // its result has the revision
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

// inForce returns the revision of a message or a call if it has one, or else that of its session.
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
		return jsonrpc.Rev20260728 // the only revision with this method
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

// learn records capabilities and definitions. It is called after the rules have judged the message,
// so that they compare it with what was known before.
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

// learnResult records what the result of a known request defines.
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

// learnAsked records input requests with the first request of their call.
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

// define records the definitions in a page of a list. The first page replaces them.
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

// offer records a definition in a message, or that there is no room for it.
func (s *Session) offer(m *Message, method, name string, v jsonrpc.Value) {
	if s.checker.offer(m.Entry.Frame.Seq, method, name, v) == nil {
		s.checker.cut = true
	}
}

// keep returns a copy of a value, or nil if there is no room.
func (s *Session) keep(v jsonrpc.Value) jsonrpc.Value {
	if len(v) == 0 || len(v) > maxParams || s.checker.held+len(v) > maxHeld {
		return nil
	}
	s.checker.held += len(v)
	return append(jsonrpc.Value{}, v...)
}

// release frees the room that a value took.
func (s *Session) release(v jsonrpc.Value) { s.checker.held -= len(v) }

func (s *Session) releaseAll(defs map[string]jsonrpc.Value) {
	for _, v := range defs {
		s.release(v)
	}
}
