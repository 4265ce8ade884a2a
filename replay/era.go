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
	// legacy says that a handshake was asked for, modern that there are requests
	// which name their own version, beside server/discover.
	legacy, modern bool
	// asks are the versions that such requests named, and served those of which
	// one was answered otherwise than with a refusal of the version.
	asks, served []string
	// can is what the recorded client could be asked.
	can capabilities
	// by is the version of each modern request until it is answered.
	by map[uint32]string
}

// asked notes a request.
func (e *eras) asked(c uint32, method string, k *keyed) {
	e.legacy = e.legacy || method == "initialize"
	if !k.modern {
		return
	}
	e.modern = e.modern || method != "server/discover"
	version := k.version
	if !slices.Contains(e.asks, version) && len(e.asks) < maxVersions {
		e.asks = append(e.asks, version)
	}
	if slices.Contains(e.served, version) || len(e.served) == maxVersions {
		return
	}
	if e.by == nil {
		e.by = map[uint32]string{}
	}
	e.by[c] = version
}

// answered notes the answer to a request.
func (e *eras) answered(c uint32, m *jsonrpc.Message) {
	version, ok := e.by[c]
	if !ok {
		return
	}
	delete(e.by, c)
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
		e.served = e.asks
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
