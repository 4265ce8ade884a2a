package replay

import (
	"bytes"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

const metaPrefix = "io.modelcontextprotocol/"

// A keyed is what a request or a notification is matched by, and what else is
// read from its params on the way. Slices point into the params.
type keyed struct {
	// exact is its key. loose leaves _meta out, chain the answers to what the
	// server asked for (inputResponses), which is known only if chained.
	exact, loose, chain sum
	chained             bool
	// near is the method and the tool, prompt, resource or task; method the
	// method alone.
	near, method sum
	// subject is the name, uri or taskId, as it stands, nil when absent.
	subject []byte
	// token is _meta.progressToken as it stands, nil when absent.
	token []byte
	// modern says that it names its own version, which is in version, as it
	// stands.
	modern  bool
	version []byte
}

// A keyer makes keys.
type keyer struct {
	hasher
	ignore []Path
	// led says which of the paths have led to something.
	led []bool
}

func newKeyer(seeds seeds, opt *Options) keyer {
	return keyer{hasher{seeds: seeds}, opt.Ignore, make([]bool, len(opt.Ignore))}
}

// key makes the keys of a request or a notification.
func (k *keyer) key(m *jsonrpc.Message) (x keyed) {
	base := len(k.members)
	params := m.Params
	if classAt(params, 0) == '{' {
		w := into(params, 0)
		for token, at, ok := w.member(); ok; token, at, ok = w.member() {
			name := decode(token)
			if m.Method == "cancel" && string(name) == "id" {
				w.i = skip(params, at) // of the 002 dialect: the client's own id
				continue
			}
			w.i = k.param(params, name, at, &x)
			if word := subjectWord(name, params, at); word != nil {
				x.subject = word
			}
		}
	} else if len(params) > 0 {
		s, _ := k.value(params, 0, k.ignore)
		k.members = append(k.members, hashed{nil, s})
	}
	k.finish(m, base, &x)
	k.members = k.members[:base]
	return x
}

// subjectWord is the member that says what a request is about.
func subjectWord(name, params []byte, at int) []byte {
	switch string(name) {
	case "name", "uri", "taskId":
		if classAt(params, at) == '"' {
			return params[at:skipString(params, at)]
		}
	}
	return nil
}

// param sums one member of params and returns the offset behind it.
func (k *keyer) param(params, name []byte, at int, x *keyed) (end int) {
	rest, here := k.ignore, false
	if k.ignore != nil {
		rest, here = below(k.ignore, string(name))
	}
	var s sum
	switch {
	case string(name) == "_meta" && classAt(params, at) == '{':
		return k.meta(params, at, rest, here, x)
	case here:
		return skip(params, at)
	case string(name) == "task" && classAt(params, at) == '{':
		s, end = k.object(params, at, rest, func(name []byte) bool { return string(name) == "ttl" })
	default:
		s, end = k.value(params, at, rest)
	}
	switch string(name) {
	case "inputResponses", "requestState":
		x.chained = true
	}
	k.members = append(k.members, hashed{name, s})
	return end
}

// meta reads _meta. What a client says of itself there, the token and trace
// context are no part of a key; when nothing else is in it, it might as well not
// be there.
func (k *keyer) meta(params []byte, at int, ignore []Path, here bool, x *keyed) (end int) {
	kept := false
	w := into(params, at)
	for token, v, ok := w.member(); ok; token, v, ok = w.member() {
		w.i = skip(params, v)
		name := decode(token)
		switch own, ours := bytes.CutPrefix(name, []byte(metaPrefix)); {
		case string(name) == "progressToken":
			x.token = params[v:w.i]
		case !ours:
			kept = kept || !traceContext(name)
		case string(own) == "protocolVersion":
			x.modern, x.version = true, params[v:w.i]
		}
	}
	if !kept || here {
		return w.i
	}
	s, end := k.object(params, at, ignore, unkeyed)
	k.members = append(k.members, hashed{[]byte("_meta"), s})
	return end
}

// unkeyed names the members of _meta that are no part of a key.
func unkeyed(name []byte) bool {
	return string(name) == "progressToken" || traceContext(name) || bytes.HasPrefix(name, []byte(metaPrefix))
}

// traceContext names the members of W3C trace context (2026-07-28 basic/index).
func traceContext(name []byte) bool {
	switch string(name) {
	case "traceparent", "tracestate", "baggage":
		return true
	}
	return false
}

// finish makes the keys of the members.
func (k *keyer) finish(m *jsonrpc.Message, base int, x *keyed) {
	k.sort(base)
	members := k.members[base:]
	if m.Method == "initialize" {
		members = nil
	}
	all := k.sorted(members, nil)
	kind := byte('k')
	if m.Kind == jsonrpc.Notification {
		kind = 'n'
	}
	x.exact = k.joined(kind, m.Method, x.modern, all)
	x.loose = x.exact
	if hasMember(members, "_meta") {
		loose := k.sorted(members, func(name []byte) bool { return string(name) == "_meta" })
		x.loose = k.joined('k', m.Method, x.modern, loose)
	}
	if x.chained {
		chain := k.sorted(members, func(name []byte) bool { return string(name) == "inputResponses" })
		x.chain = k.joined('c', m.Method, x.modern, chain)
	}
	x.method = k.of('m', []byte(m.Method))
	x.near = x.method
	if x.subject != nil && m.Method != "initialize" {
		x.near = k.joined('a', m.Method, false, k.scalar(x.subject))
	}
}

// hasMember looks a name up.
func hasMember(members []hashed, name string) bool {
	for i := range members {
		if string(members[i].name) == name {
			return true
		}
	}
	return false
}

// joined is the sum of a method, an era and what the params come to.
func (k *keyer) joined(kind byte, method string, modern bool, params sum) sum {
	base := len(k.buf)
	k.buf = append(k.buf, method...)
	k.buf = append(k.buf, 0, era(modern))
	k.buf = appendSum(k.buf, params)
	s := k.of(kind, k.buf[base:])
	k.buf = k.buf[:base]
	return s
}

func era(modern bool) byte {
	if modern {
		return 1
	}
	return 0
}

// variant is the exact key of a request whose head says more than its message.
func (k *keyer) variant(x *keyed, http *Exchange) sum {
	if http == nil {
		return x.exact
	}
	return k.varied(x.exact, http.Head.Variant(&http.Claim))
}

func (k *keyer) varied(exact sum, variant string) sum {
	if variant == "" {
		return exact
	}
	return k.of('v', append(appendSum(nil, exact), variant...))
}

// orphan is the key of a response of the client's to nothing.
func (k *keyer) orphan(m *jsonrpc.Message) sum { return k.of('o', []byte(word(m.ID))) }
