package session

import (
	"encoding/json"
	"slices"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Party is what a client or a server reports about itself (Implementation in the
// schemas). Each text is cut at [jsonrpc.MaxSubject] bytes.
type Party struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	Title   string `json:"title,omitempty"`
}

// maxCapabilities is the maximum size of the capabilities that are kept. Longer ones are
// left out, since they cannot be cut.
const maxCapabilities = 16 << 10

// Facts are what a session reports about itself: its client and server, and its
// revision. Later frames may add to them or correct them, never remove.
type Facts struct {
	// Era is legacy or modern; "" as long as only a probe was seen. An
	// initialize that was answered makes it legacy permanently.
	Era jsonrpc.Era `json:"era,omitempty"`
	// Revision is the version agreed on: the one in the initialize result, or
	// the one of the requests that the server answers (2026-07-28). The 002
	// dialect's servers do not name one.
	Revision jsonrpc.Revision `json:"revision,omitempty"`
	// Requested is the version that the client last requested before that.
	Requested jsonrpc.Revision `json:"requested,omitempty"`
	// Client and Server are what the two sides call themselves.
	Client Party `json:"client,omitzero"`
	Server Party `json:"server,omitzero"`
	// ClientCapabilities are what the client declared, as compact JSON.
	ClientCapabilities json.RawMessage `json:"client_capabilities,omitempty"`
	// Dialect is [jsonrpc.Dialect002] in a session of that dialect.
	Dialect string `json:"dialect,omitempty"`
	// Probe reports that the client sent only server/discover and got no
	// answer or a refusal: the throw-away process that dual-era clients start
	// to find out which versions a server supports.
	Probe bool `json:"probe,omitempty"`
}

// A finding is the state that is kept between frames to learn [Facts].
type finding struct {
	// initialize and discover are the keys of the ids of such requests that are open,
	// nil for none.
	initialize, discover []byte
	// asked reports that the client sent a request other than server/discover,
	// discovered that a server/discover succeeded, modern that a request carried its
	// own version, settled that era and revision are agreed on.
	asked, discovered, modern, settled bool
}

// learn adds the message of the next frame of a session. State is the zero finding before
// the first.
func (x *Facts) learn(state *finding, lane tap.Lane, m *jsonrpc.Message) {
	for m := range m.All {
		switch {
		case m.Kind == jsonrpc.Request && lane == tap.ToServer:
			x.request(state, m)
		case (m.Kind == jsonrpc.Response || m.Kind == jsonrpc.ErrorResponse) && lane == tap.ToClient:
			x.answer(state, m)
		}
	}
}

func (x *Facts) request(state *finding, m *jsonrpc.Message) {
	params := jsonrpc.Value(m.Params)
	switch m.Method {
	case "initialize":
		state.initialize = jsonrpc.AppendKey(nil, m.ID)
		state.asked, x.Probe = true, false
		x.initialize(state, params)
		return
	case "server/discover":
		state.discover = jsonrpc.AppendKey(nil, m.ID)
		x.Probe = !state.asked && !state.discovered
	default:
		state.asked, x.Probe = true, false
	}
	if state.settled {
		return
	}
	meta := params.Get("_meta")
	version := meta.Get(jsonrpc.MetaPrefix + "protocolVersion").Text()
	if version == "" {
		return
	}
	x.Requested = jsonrpc.Revision(sane(version))
	x.Client.refine(meta.Get(jsonrpc.MetaPrefix + "clientInfo"))
	x.capabilities(meta.Get(jsonrpc.MetaPrefix + "clientCapabilities"))
	if m.Method != "server/discover" {
		x.Era, state.modern = jsonrpc.Modern, true
	}
}

// initialize reads the params of an initialize (basic/lifecycle), or of the
// dialect's.
func (x *Facts) initialize(state *finding, params jsonrpc.Value) {
	if !state.settled {
		x.Era = jsonrpc.Legacy
	}
	if inDialect(params, "mcpVersion", "clientCapabilities") {
		x.Dialect = jsonrpc.Dialect002
	}
	if v := versionOf(params); v != "" {
		x.Requested = v
	}
	x.Client.refine(params.Get("clientInfo"))
	x.Client.refine(params.Get("client"))
	x.capabilities(params.Get("clientCapabilities"))
	x.capabilities(params.Get("capabilities"))
}

// inDialect reports whether the params or the result of an initialize are in the 002
// dialect, which has members of its own.
func inDialect(v jsonrpc.Value, own ...string) bool {
	if v.Get("protocolVersion") != nil {
		return false
	}
	return slices.ContainsFunc(own, func(name string) bool { return v.Get(name) != nil })
}

// versionOf returns the version in the params or the result of an initialize.
func versionOf(v jsonrpc.Value) jsonrpc.Revision {
	return jsonrpc.Revision(sane(jsonrpc.FirstOf(v, "protocolVersion", "mcpVersion")))
}

func (x *Facts) answer(state *finding, m *jsonrpc.Message) {
	key := jsonrpc.AppendKey(nil, m.ID)
	result := jsonrpc.Value(m.Result)
	switch {
	case state.initialize != nil && string(key) == string(state.initialize) && !state.ofProbe(key, m, result):
		state.initialize = nil
		if m.Kind == jsonrpc.Response {
			x.initialized(state, result)
		}
	case state.discover != nil && string(key) == string(state.discover):
		state.discover = nil
		if m.Kind == jsonrpc.Response {
			x.discovered(state, result)
		}
	case m.Kind == jsonrpc.Response && x.Era == jsonrpc.Modern:
		if x.Server == (Party{}) {
			x.Server.refine(result.Get("_meta", jsonrpc.MetaPrefix+"serverInfo"))
		}
		if state.modern && !state.settled {
			state.settled, state.discover = true, nil
			x.Revision = x.Requested
		}
	}
}

// ofProbe reports whether an answer with the id of an open initialize is that of a
// server/discover with the same id: a client that gave up waiting may reuse the id. A result
// shows which one it answers; an error counts as that of the probe, which was sent first.
func (state *finding) ofProbe(key []byte, m *jsonrpc.Message, result jsonrpc.Value) bool {
	if state.discover == nil || string(key) != string(state.discover) {
		return false
	}
	return m.Kind == jsonrpc.ErrorResponse || result.Get("supportedVersions") != nil
}

// initialized reads the result of an initialize, which settles the era.
func (x *Facts) initialized(state *finding, result jsonrpc.Value) {
	x.Era = jsonrpc.Legacy
	*state = finding{asked: true, discovered: state.discovered, settled: true}
	if inDialect(result, "server", "serverCapabilities") {
		x.Dialect = jsonrpc.Dialect002
	}
	if v := versionOf(result); v != "" {
		x.Revision = v
	}
	x.Server.refine(result.Get("server"))
	x.Server.refine(result.Get("serverInfo"))
}

// discovered reads a DiscoverResult (2026-07-28 server/discover).
func (x *Facts) discovered(state *finding, result jsonrpc.Value) {
	state.discovered, x.Probe = true, false
	if state.settled {
		return
	}
	x.Era = jsonrpc.Modern
	x.Server.refine(result.Get("_meta", jsonrpc.MetaPrefix+"serverInfo"))
	result.Get("supportedVersions").Each(func(_ []byte, v jsonrpc.Value) bool {
		if x.Requested != "" && v.Decoded() == string(x.Requested) {
			x.Revision = x.Requested
		}
		return true
	})
}

// refine sets the fields that an Implementation has, and leaves the others.
func (p *Party) refine(v jsonrpc.Value) {
	take := func(name string, to *string) {
		if s := sane(v.Get(name).Text()); s != "" {
			*to = s
		}
	}
	take("name", &p.Name)
	take("version", &p.Version)
	take("title", &p.Title)
}

// sane bounds a text and makes it UTF-8, so that JSON does not change it.
func sane(s string) string { return string([]rune(jsonrpc.Bound(s))) }

// capabilities copies an object of capabilities as encoding/json writes it, so that JSON
// does not change it.
func (x *Facts) capabilities(v jsonrpc.Value) {
	if !v.IsObject() || len(v) > maxCapabilities {
		return
	}
	if b, err := json.Marshal(json.RawMessage(v)); err == nil {
		x.ClientCapabilities = b
	}
}
