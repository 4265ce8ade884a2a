package check

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// metaPlaces lists, by method, the places of values with a _meta in the params of a request and
// in the result. An element [*] may also be the value itself.
var metaPlaces = map[string][]string{
	"request sampling/createMessage":  {"messages.[*]", "messages.[*].content.[*]", "tools.[*]"},
	"result tools/list":               {"tools.[*]"},
	"result resources/list":           {"resources.[*]"},
	"result resources/templates/list": {"resourceTemplates.[*]"},
	"result resources/read":           {"contents.[*]"},
	"result prompts/list":             {"prompts.[*]"},
	"result prompts/get":              {"messages.[*].content", "messages.[*].content.resource"},
	"result tools/call":               {"content.[*]", "content.[*].resource"},
	"result sampling/createMessage":   {"content.[*]"},
	"result roots/list":               {"roots.[*]"},
}

// A meta is a _meta in a message, with its path and a name for its owner.
type meta struct {
	jsonrpc.Value
	subject, path string
}

// allMetas returns each _meta in a message, except in data of tools, where a _meta may mean
// anything.
func (m *Message) allMetas() []meta { return m.metas.all(m, m.readMetas) }

func (m *Message) readMetas(add func(meta)) {
	if text := m.Entry.Frame.Raw; !bytes.Contains(text, []byte("_meta")) && bytes.IndexByte(text, '\\') < 0 {
		return
	}
	take := func(path string, v jsonrpc.Value) {
		if own := v.Get("_meta"); own != nil {
			add(meta{own, cmp.Or(v.Get("name").Decoded(), v.Get("uri").Decoded(), m.Subject()), path + "._meta"})
		}
	}
	root, path, places := m.Parameters(), m.root(), metaPlaces["request "+m.Method]
	if m.Kind == jsonrpc.Response {
		root, places = m.Outcome(), metaPlaces["result "+m.about()]
	}
	take(path, root)
	if m.Revision < jsonrpc.Rev20250618 {
		return // older schemas have no other _meta
	}
	for _, place := range places {
		descend(root, path, place, take)
	}
}

// descend calls f for each value at a place.
func descend(v jsonrpc.Value, path, place string, f func(path string, v jsonrpc.Value)) {
	step, rest, _ := strings.Cut(place, ".")
	switch {
	case place == "":
		f(path, v)
	case step != "[*]":
		descend(v.Get(step), path+"."+step, rest, f)
	case v.IsArray():
		path += "[*]"
		for _, inner := range v.Each {
			descend(inner, path, rest, f)
		}
	default:
		descend(v, path, rest, f)
	}
}

var (
	metaPrefixes = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)
	metaNames    = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$`)
)

// validMetaKey reports whether a key of a _meta follows the grammar.
func validMetaKey(key string) bool {
	prefix, name, has := strings.Cut(key, "/")
	if !has {
		return metaNames.MatchString(key)
	}
	return metaPrefixes.MatchString(prefix) && metaNames.MatchString(name)
}

// reservedPrefix reports whether the prefix of a key is reserved for MCP in a revision.
func reservedPrefix(key string, rev jsonrpc.Revision) bool {
	prefix, _, has := strings.Cut(key, "/")
	labels := strings.Split(prefix, ".")
	ours := func(label string) bool { return label == "modelcontextprotocol" || label == "mcp" }
	switch {
	case !has:
		return false
	case rev == jsonrpc.Rev20250618:
		return slices.ContainsFunc(labels[:len(labels)-1], ours)
	}
	return len(labels) > 1 && ours(labels[1])
}

// knownMeta are the keys with the MCP prefix that schemas and extensions define.
var knownMeta = []string{
	"protocolVersion", "clientInfo", "clientCapabilities", "logLevel", "subscriptionId", "serverInfo", "related-task",
	"model-immediate-response",
}

// The formats of W3C Trace Context and W3C Baggage.
var (
	traceparent = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)
	tracestate  = regexp.MustCompile(`^[ \t]*([a-z0-9][a-z0-9_*/@-]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~])?[ \t]*$`)
	baggage     = regexp.MustCompile("^[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*=[ \t]*[!#-+\\--:<-\\[\\]-~]*[ \t]*(;.*)?$")
)

// validTrace reports whether a member of _meta with one of the three trace context names has
// the required format.
func validTrace(name string, v jsonrpc.Value) bool {
	if v.Class() != '"' {
		return false
	}
	text, form := whole(v), baggage
	switch name {
	case "traceparent":
		p := traceparent.FindStringSubmatch(text)
		return p != nil && p[1] != "ff" && strings.Trim(p[2], "0") != "" && strings.Trim(p[3], "0") != "" && (p[1] != "00" || p[4] == "")
	case "tracestate":
		form = tracestate
	}
	for member := range strings.SplitSeq(text, ",") {
		if !form.MatchString(member) {
			return false
		}
	}
	return true
}
