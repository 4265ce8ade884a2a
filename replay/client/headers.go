package client

import (
	"slices"
	"strings"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// The header fields that depend on the message.
const (
	fieldAccept  = "Accept"
	fieldVersion = "Mcp-Protocol-Version"
	fieldMethod  = "Mcp-Method"
	fieldName    = "Mcp-Name"
	fieldParam   = "Mcp-Param-"
)

// header returns the header fields for a recorded message: the usual ones, except where the
// recorded client deviated from them.
func (p *player) header(m *Outgoing, now [][2]string) [][2]string {
	f, err := p.plan.load(m.head)
	if err != nil {
		return now
	}
	head, err := tap.ParseEvent(f.Raw)
	if err != nil {
		return now
	}
	was := m.was
	if was == nil {
		was = &jsonrpc.Message{Kind: m.kind}
	}
	then := usual(was.Kind, was.Method, was.Params, p.target.recorded, p.plan.fields)
	return p.merged(now, then, head)
}

// usual returns the header fields of a message as the specification requires them
// (basic/transports of each revision).
func usual(kind jsonrpc.Kind, method string, params []byte, agreed jsonrpc.Revision, fields replay.ParamFields) [][2]string {
	all := [][2]string{{fieldAccept, "application/json, text/event-stream"}}
	version, modern := textOf(lookup(params, "_meta", metaVersion))
	if !modern && kind == jsonrpc.Notification && jsonrpc.EraOf(agreed) == jsonrpc.Modern {
		version, modern = string(agreed), true // only its header names the version
	}
	if !modern {
		if agreed >= jsonrpc.Rev20250618 && jsonrpc.EraOf(agreed) == jsonrpc.Legacy && method != "initialize" && method != "server/discover" {
			all = append(all, [2]string{fieldVersion, string(agreed)})
		}
		return all
	}
	all = append(all, [2]string{fieldVersion, version}, [2]string{fieldMethod, method})
	name := replay.ReadClaim(&jsonrpc.Message{Kind: jsonrpc.Request, Method: method, Params: params}).Name
	if name != "" {
		all = append(all, [2]string{fieldName, replay.EncodeField(name)})
	}
	if method == "tools/call" {
		all = append(all, fields.Of(params)...)
	}
	return all
}

// merged returns the header fields to send, given the usual fields of the new message (now) and
// of the recorded message (then), and the recorded head. A field that had the usual value gets
// the usual value, in the recorded spelling if the value is unchanged. Any other field is sent,
// or omitted, as recorded. A masked value is unknown, so the usual value is sent.
func (p *player) merged(now, then [][2]string, head tap.Event) (out [][2]string) {
	var names []string
	for _, f := range slices.Concat(now, head.Header) {
		if matters(f[0]) && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, f[0]) }) {
			names = append(names, f[0])
		}
	}
	for _, name := range names {
		is, should, was := named(now, name), named(then, name), named(head.Header, name)
		known := !slices.ContainsFunc(head.Masked, func(n string) bool { return strings.EqualFold(n, name) }) &&
			!slices.ContainsFunc(was, pseudonymous) && (!p.target.crosses || name == fieldAccept)
		usual := slices.EqualFunc(was, should, sameValue)
		if !known || usual && !slices.EqualFunc(should, is, sameValue) {
			out = append(out, is...)
			continue
		}
		for _, f := range was {
			if p.target.changes && strings.EqualFold(name, fieldVersion) && f[1] == string(p.target.recorded) {
				f[1] = string(p.target.speaks) // some clients send it with initialize too
			}
			out = append(out, f)
		}
	}
	return out
}

// matters reports whether a header field is one that is sent as recorded.
func matters(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "accept", "mcp-protocol-version", "mcp-method", "mcp-name":
		return true
	}
	return len(name) > len(fieldParam) && strings.HasPrefix(name, "mcp-param-")
}

// named returns the fields with a name.
func named(fields [][2]string, name string) (all [][2]string) {
	for _, f := range fields {
		if strings.EqualFold(f[0], name) {
			all = append(all, f)
		}
	}
	return all
}

func sameValue(a, b [2]string) bool { return replay.DecodeField(a[1]) == replay.DecodeField(b[1]) }

// pseudonymous reports whether a field has a pseudonym in place of a secret.
func pseudonymous(f [2]string) bool {
	value := replay.DecodeField(f[1])
	return strings.Contains(value, "masked:") || strings.Contains(value, "redacted-")
}
