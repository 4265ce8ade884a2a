package replay

import "github.com/mcptap/mcptap/tap/jsonrpc"

// A Claim is what a message of the client's says that the fields of its HTTP request
// say too (2026-07-28 basic/transports#standard-request-headers), and who sends it.
type Claim struct {
	// Kind and Method are the message's.
	Kind   jsonrpc.Kind
	Method string
	// ID is the request's id as it stands, nil for none.
	ID []byte
	// Modern says that it names its own version, which is Version. That of an
	// initialize is the one that the client asks for.
	Modern  bool
	Version string
	// Incomplete says that it names its own version, but not the client's capabilities,
	// which it must.
	Incomplete bool
	// Client is what the client calls itself, as it stands, nil for nothing.
	Client []byte
	// Name is the tool, prompt, resource or task that it is about; HasName says
	// that its method has one.
	Name    string
	HasName bool
}

// ReadClaim reads what a message claims.
func ReadClaim(m *jsonrpc.Message) Claim {
	c := Claim{Kind: m.Kind, Method: m.Method, ID: m.ID}
	if m.Kind != jsonrpc.Request && m.Kind != jsonrpc.Notification || classAt(m.Params, 0) != '{' {
		return c
	}
	if at, ok := find(m.Params, 0, "_meta", metaPrefix+"protocolVersion"); ok {
		c.Modern, c.Version = true, string(decode(at.of(m.Params)))
		_, ok = find(m.Params, 0, "_meta", metaPrefix+"clientCapabilities")
		c.Incomplete = !ok
	}
	if at, ok := find(m.Params, 0, "_meta", metaPrefix+"clientInfo"); ok {
		c.Client = at.of(m.Params)
	}
	if m.Method == "initialize" && !c.Modern {
		c.Client = firstMember(m.Params, "clientInfo", "client")
		c.Version = string(decode(firstMember(m.Params, "protocolVersion", "mcpVersion")))
	}
	var name []byte
	switch m.Method {
	case "tools/call", "prompts/get":
		name = firstMember(m.Params, "name")
	case "resources/read":
		name = firstMember(m.Params, "uri")
	case "tasks/get", "tasks/update", "tasks/cancel":
		name = firstMember(m.Params, "taskId")
	}
	if classAt(name, 0) == '"' {
		c.Name, c.HasName = string(decode(name)), true
	}
	return c
}

// Key is what a request or a notification of a recording is matched by, with what its
// head says beside it.
func (b *Builder) Key(m *jsonrpc.Message, variant string) Key {
	return Key{b.keyer.varied(b.keyer.key(m).exact, variant)}
}

// Key is [Builder.Key] for a live message.
func (s *Script) Key(m *jsonrpc.Message, variant string) Key {
	k := newKeyer(s.seeds, &s.opt)
	return Key{k.varied(k.key(m).exact, variant)}
}
