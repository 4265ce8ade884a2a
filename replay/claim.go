package replay

import (
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

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
	params := readTree(new(jsontree.Reader), m.Params, 2)
	if m.Kind != jsonrpc.Request && m.Kind != jsonrpc.Notification {
		return c
	}
	meta := params.Get("_meta")
	if version := meta.Get(jsonrpc.MetaPrefix + "protocolVersion"); version.Exists() {
		c.Modern, c.Version = true, version.Text()
		c.Incomplete = !meta.Get(jsonrpc.MetaPrefix + "clientCapabilities").Exists()
	}
	c.Client = meta.Get(jsonrpc.MetaPrefix + "clientInfo").Raw()
	if m.Method == "initialize" && !c.Modern {
		c.Client = first(params, "clientInfo", "client").Raw()
		c.Version = first(params, "protocolVersion", "mcpVersion").Text()
	}
	if member := nameOf[m.Method]; member != "" {
		name := params.Get(member)
		c.Name, c.HasName = name.Text(), name.Kind() == jsontree.String
	}
	return c
}

// nameOf are the params that the field Mcp-Name repeats.
var nameOf = map[string]string{
	"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
	"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
}

// first is the first of the members that is there.
func first(object jsontree.Value, names ...string) (v jsontree.Value) {
	for _, name := range names {
		if v = object.Get(name); v.Exists() {
			break
		}
	}
	return v
}

// Key is what a request or a notification of a recording is matched by, with what its
// head says beside it.
func (b *Builder) Key(m *jsonrpc.Message, variant string) Key {
	x := b.keyer.key(m)
	return Key{x.variant(variant)}
}

// Key is [Builder.Key] for a live message.
func (s *Script) Key(m *jsonrpc.Message, variant string) Key {
	k := newKeyer(&s.opt)
	x := k.key(m)
	return Key{x.variant(variant)}
}
