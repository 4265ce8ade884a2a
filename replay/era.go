package replay

import (
	"slices"

	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// maxVersions is how many versions are remembered of a recording.
const maxVersions = 32

// eras are the eras and versions that a recording has.
type eras struct {
	// legacy reports that a handshake was asked for, modern that there are requests
	// which name their own version, beside server/discover.
	legacy, modern bool
	// requested are the versions that such requests named, and served those of which
	// one was answered otherwise than with a refusal of the version.
	requested, served []string
	// can is what the recorded client could be asked.
	can capabilities
	// by is the version of each modern request until it is answered.
	by map[uint32]string
}

// asked notes a request.
func (e *eras) asked(t uint32, method string, k *keyed) {
	e.legacy = e.legacy || method == "initialize"
	if !k.modern {
		return
	}
	e.modern = e.modern || method != "server/discover"
	version := k.version
	if !slices.Contains(e.requested, version) && len(e.requested) < maxVersions {
		e.requested = append(e.requested, version)
	}
	if slices.Contains(e.served, version) || len(e.served) == maxVersions {
		return
	}
	e.by[t] = version
}

// answered notes the answer to a request.
func (e *eras) answered(t uint32, m *jsonrpc.Message) {
	version, ok := e.by[t]
	if !ok {
		return
	}
	delete(e.by, t)
	// A method that is not known is how a legacy server refuses to be asked
	// server/discover.
	if m.ErrorCode == codeVersion || m.ErrorCode == codeNoMethod || slices.Contains(e.served, version) {
		return
	}
	e.served = append(e.served, version)
}

// opens reports whether there is a request of the kind that a client of one era begins
// with. What is so stays so, however much follows.
func (e *eras) opens(modern bool) bool {
	if modern {
		return e.modern || len(e.served) > 0
	}
	return e.legacy
}

// finish is called when all is known. A server that answered server/discover is
// modern, even if nothing more was asked.
func (e *eras) finish(facts *session.Facts) {
	e.by = nil
	e.can = readCapabilities(facts.ClientCapabilities)
	e.modern = e.modern || len(e.served) > 0
	if len(e.served) == 0 && e.modern {
		e.served = e.requested
	}
	slices.Sort(e.served)
}

// The error codes that are made or looked for here, as they stand on the wire
// (basic/index#error-codes, and JSON-RPC 2.0).
const (
	codeParse     = "-32700"
	codeNoRequest = "-32600"
	codeNoMethod  = "-32601"
	codeParams    = "-32602"
	codeVersion   = "-32022"
)

// A capabilities is a set of what a client says it can be asked.
type capabilities uint8

const (
	canSampling capabilities = 1 << iota
	canElicitation
	canRoots
	// canAnything is what is taken for granted of a client that has not said.
	canAnything = canSampling | canElicitation | canRoots
)

// capabilityOf are the capabilities of a server that its notifications show.
var capabilityOf = map[string]string{
	"notifications/tools/list_changed":     "tools.listChanged",
	"notifications/prompts/list_changed":   "prompts.listChanged",
	"notifications/resources/list_changed": "resources.listChanged",
	"notifications/resources/updated":      "resources.subscribe",
	"notifications/message":                "logging",
}

// capabilityFor are the capabilities that a client must have declared to be sent a request
// (client/sampling, client/elicitation, client/roots).
var capabilityFor = map[string]capabilities{
	"sampling/createMessage": canSampling, "elicitation/create": canElicitation, "roots/list": canRoots,
}

// readCapabilities reads what a client declared.
func readCapabilities(raw []byte) (c capabilities) {
	for name, can := range map[string]capabilities{
		"sampling": canSampling, "elicitation": canElicitation, "roots": canRoots,
	} {
		if jsonrpc.Value(raw).Get(name).IsObject() {
			c |= can
		}
	}
	return c
}
