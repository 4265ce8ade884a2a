package replay

import "github.com/mcptap/mcptap/tap/jsonrpc"

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

// capabilityFor is what a client must have said for a server to ask it something
// (client/sampling, client/elicitation, client/roots).
func capabilityFor(method string) capabilities {
	switch method {
	case "sampling/createMessage":
		return canSampling
	case "elicitation/create":
		return canElicitation
	case "roots/list":
		return canRoots
	}
	return 0
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
