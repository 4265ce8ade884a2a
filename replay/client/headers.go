package client

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A headerField is a field that repeats an argument of a tool (2026-07-28
// basic/transports/streamable-http: x-mcp-header).
type headerField struct {
	name string
	path []string // of the argument
}

// learnFields reads from a list of tools which arguments are repeated.
func learnFields(to map[string][]headerField, result []byte) {
	jsonrpc.Value(lookup(result, "tools")).Each(func(_ []byte, tool jsonrpc.Value) bool {
		name, _ := textOf(tool.Get("name"))
		if fields := annotated(nil, tool.Get("inputSchema"), nil); fields != nil || to[name] != nil {
			to[name] = fields
		}
		return true
	})
}

// maxFieldDepth is how deep in the arguments a field may be.
const maxFieldDepth = 16

// annotated collects the annotated properties of a schema.
func annotated(to []headerField, schema []byte, path []string) []headerField {
	properties, ok := readObject(lookup(schema, "properties"))
	if !ok || len(path) >= maxFieldDepth {
		return to
	}
	for _, property := range properties {
		at := append(append([]string(nil), path...), property.name)
		if name, ok := textOf(lookup(property.value, "x-mcp-header")); ok {
			to = append(to, headerField{fieldParam + name, at})
		}
		to = annotated(to, property.value, at)
	}
	return to
}

// The header fields that depend on the message.
const (
	fieldAccept  = "Accept"
	fieldVersion = "Mcp-Protocol-Version"
	fieldMethod  = "Mcp-Method"
	fieldName    = "Mcp-Name"
	fieldParam   = "Mcp-Param-"
)

// header returns the fields of HTTP that depend on a recorded message: as clients fill
// them now, but where the recorded client did otherwise as that did.
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

// usual returns the fields of a message as clients fill them (basic/transports of each
// revision).
func usual(kind jsonrpc.Kind, method string, params []byte, agreed jsonrpc.Revision, fields map[string][]headerField) [][2]string {
	all := [][2]string{{fieldAccept, "application/json, text/event-stream"}}
	version, modern := textOf(lookup(params, "_meta", metaVersion))
	if !modern && kind == jsonrpc.Notification && jsonrpc.EraOf(agreed) == jsonrpc.Modern {
		version, modern = string(agreed), true // its header has it all the same
	}
	if !modern {
		if agreed >= jsonrpc.Rev20250618 && jsonrpc.EraOf(agreed) == jsonrpc.Legacy && method != "initialize" && method != "server/discover" {
			all = append(all, [2]string{fieldVersion, string(agreed)})
		}
		return all
	}
	all = append(all, [2]string{fieldVersion, version}, [2]string{fieldMethod, method})
	name := ""
	switch method {
	case "tools/call", "prompts/get":
		name, _ = textOf(lookup(params, "name"))
	case "resources/read":
		name, _ = textOf(lookup(params, "uri"))
	case "tasks/get", "tasks/update", "tasks/cancel":
		name, _ = textOf(lookup(params, "taskId"))
	}
	if name != "" {
		all = append(all, [2]string{fieldName, fieldValue(name)})
	}
	if method != "tools/call" {
		return all
	}
	arguments := lookup(params, "arguments")
	for _, f := range fields[name] {
		if value := lookup(arguments, f.path...); len(value) > 0 && string(value) != "null" {
			text, ok := textOf(value)
			if !ok {
				text = string(value)
			}
			all = append(all, [2]string{f.name, fieldValue(text)})
		}
	}
	return all
}

// merged returns the fields to send, from those that are usual now, those that were
// usual for the recorded message, and the recorded head. A field that was as usual is
// so again, in the recorded spelling if it has the same value; any other is as
// recorded, missing ones included. What was masked is not known.
func (p *player) merged(now, then [][2]string, head tap.Event) (out [][2]string) {
	var names []string
	add := func(fields [][2]string) {
		for _, f := range fields {
			if matters(f[0]) && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, f[0]) }) {
				names = append(names, f[0])
			}
		}
	}
	add(now)
	add(head.Header)
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
				f[1] = string(p.target.speaks) // some clients name it in the header of initialize too
			}
			out = append(out, f)
		}
	}
	return out
}

// matters reports whether a header field is sent as recorded.
func matters(name string) bool {
	return slices.ContainsFunc([]string{fieldAccept, fieldVersion, fieldMethod, fieldName}, func(n string) bool { return strings.EqualFold(n, name) }) ||
		len(name) > len(fieldParam) && strings.EqualFold(name[:len(fieldParam)], fieldParam)
}

// named are the fields of a name.
func named(fields [][2]string, name string) (all [][2]string) {
	for _, f := range fields {
		if strings.EqualFold(f[0], name) {
			all = append(all, f)
		}
	}
	return all
}

func sameValue(a, b [2]string) bool { return decoded(a[1]) == decoded(b[1]) }

// pseudonymous reports whether a field has a pseudonym in the place of a secret.
func pseudonymous(f [2]string) bool {
	value := decoded(f[1])
	return strings.Contains(value, "masked:") || strings.Contains(value, "redacted-")
}

// fieldValue is a text as the value of a header field.
func fieldValue(s string) string {
	plain := !strings.HasPrefix(s, "=?base64?") && s == strings.TrimSpace(s)
	for i := 0; i < len(s); i++ {
		plain = plain && s[i] >= ' ' && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// decoded is the text that the value of a header field stands for.
func decoded(value string) string {
	if body, ok := strings.CutPrefix(value, "=?base64?"); ok {
		if text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(body, "?=")); err == nil {
			return string(text)
		}
	}
	return value
}
