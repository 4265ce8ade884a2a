package check

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// Classes of values, see [jsonrpc.Value.Class].
const (
	aString  = `"`
	anObject = "{"
	anArray  = "["
	aNumber  = "0"
	aBoolean = "tf"
)

// maxKnown limits the names or ids that a rule remembers per session.
const maxKnown = 4096

// isMasked reports whether a value, or a part of it, was replaced by a pseudonym.
func isMasked[T ~string | ~[]byte](value T) bool {
	return bytes.Contains([]byte(value), []byte("redacted-")) || bytes.Contains([]byte(value), []byte("masked:"))
}

// clean reports that the rule holds unless judge reports something.
func (v *Verdict) clean(judge func()) {
	before := v.Violated + v.NotJudged
	if judge(); v.Violated+v.NotJudged == before {
		v.Hold()
	}
}

// want reports a value that is present and not of one of the classes. It returns false in
// that case.
func (v *Verdict) want(value jsonrpc.Value, classes, subject, path string) bool {
	switch {
	case value == nil || strings.IndexByte(classes, value.Class()) >= 0:
		return true
	case value.Class() == '"' && isMasked(value):
		v.Skip("the value is masked")
	default:
		v.Violate(subject, path, string(value))
	}
	return false
}

// need is like want, but the value must be present.
func (v *Verdict) need(value jsonrpc.Value, classes, subject, path string) bool {
	if value == nil {
		v.Violate(subject, path, "missing")
		return false
	}
	return v.want(value, classes, subject, path)
}

// wantOptional is like want, but returns false for a value that is absent or null: see type-02.
func (v *Verdict) wantOptional(value jsonrpc.Value, classes, subject, path string) bool {
	return value != nil && !isNull(value) && v.want(value, classes, subject, path)
}

// isEmpty reports whether a value has no members or elements.
func isEmpty(v jsonrpc.Value) bool {
	for range v.Each {
		return false
	}
	return true
}

// keyOf returns a key that is the same for equal values: see [jsonrpc.AppendKey].
func keyOf(v []byte) string { return string(jsonrpc.AppendKey(nil, v)) }

// isNull reports whether a value is null.
func isNull(v jsonrpc.Value) bool { return string(v) == "null" }

// isInteger reports whether a number is written as an integer, such as 1 or 1.0.
func isInteger(v jsonrpc.Value) bool {
	return v.Class() == '0' && (!bytes.ContainsAny(v, ".eE") || !bytes.Contains(jsontree.AppendDecimal(nil, v), []byte("e")))
}

// whole returns a whole string, which [jsonrpc.Value.Decoded] would truncate, or "" for other values.
func whole(v jsonrpc.Value) (s string) {
	if v.Class() != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// isBase64 reports whether a string is base64 in the standard alphabet with padding.
func isBase64(v jsonrpc.Value) bool {
	_, err := base64.StdEncoding.DecodeString(whole(v))
	return err == nil
}

// schemes matches the scheme of a URI.
var schemes = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*):`)

// scheme returns the scheme of a URI in lower case, "" if it has none.
func scheme(uri string) string {
	if found := schemes.FindStringSubmatch(uri); found != nil {
		return strings.ToLower(found[1])
	}
	return ""
}

// timestamps matches dates with a time in ISO 8601. The last group is the offset.
var timestamps = regexp.MustCompile(`^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?(Z|[+-]\d\d(?::?\d\d)?)?$`)

// other returns the lane of the other direction.
func other(lane tap.Lane) tap.Lane { return tap.ToServer + tap.ToClient - lane }

// root returns the path of the params or result of a message.
func (m *Message) root() string {
	switch {
	case m.Kind == jsonrpc.Request || m.Kind == jsonrpc.Notification:
		return m.Path + ".params"
	case m.Path == "$":
		return "$.result"
	}
	return m.Path
}

// final reports whether a result is the method's own: neither a task nor a request for input.
func (m *Message) final() bool {
	result := m.Outcome()
	return result.IsObject() && result.Get("task") == nil && (m.ResultType == "" || m.ResultType == "complete")
}

// A definition is a tool, prompt, resource or template in the result of a list.
type definition struct {
	jsonrpc.Value
	// name is its name or URI, or else the method of the list.
	name string
	// path is its path, and list the method of the list.
	path, list string
}

// lists describes the methods whose results list definitions: the member with the list, the
// member that names a definition, and the notification of changes.
var lists = map[string]struct{ member, key, changed string }{
	"tools/list":               {"tools", "name", "notifications/tools/list_changed"},
	"prompts/list":             {"prompts", "name", "notifications/prompts/list_changed"},
	"resources/list":           {"resources", "uri", "notifications/resources/list_changed"},
	"resources/templates/list": {"resourceTemplates", "uriTemplate", ""},
}

// onLists selects the results of all lists of definitions.
var onLists = []string{"result tools/list", "result prompts/list", "result resources/list", "result resources/templates/list"}

// eachIn calls judge for each definition in the result of a list.
func eachIn(m *Message, judge func(d definition)) {
	method := m.Request.Method
	list := lists[method]
	for _, value := range m.Member(list.member).Each {
		if !value.IsObject() {
			continue
		}
		d := definition{value, value.Get(list.key).Decoded(), "$.result." + list.member + "[*]", method}
		if d.name == "" {
			d.name = method
		}
		judge(d)
	}
}

// eachDefinition returns New for a rule that judges definitions one by one.
func eachDefinition(judge func(m *Message, d definition, v *Verdict), on ...string) func(*Session) Hooks {
	return each(func(m *Message, v *Verdict) {
		eachIn(m, func(d definition) { v.clean(func() { judge(m, d, v) }) })
	}, on...)
}

// A block is a content block.
type block struct {
	jsonrpc.Value
	path string
	// place is where the block is: tool, prompt or sampling. kind is its type.
	place, kind string
}

// onContent selects the messages that have content blocks.
var onContent = []string{
	"result tools/call", "result prompts/get", "result tasks/result", "request sampling/createMessage", "result sampling/createMessage",
}

// allBlocks returns the content blocks of a message that onContent selects.
func (m *Message) allBlocks() []block { return m.blocks.all(m, m.readBlocks) }

func (m *Message) readBlocks(add func(block)) {
	switch {
	case m.about() == "prompts/get":
		blocksOfMessages(m.Outcome(), m.root(), "prompt", add)
	case m.Kind == jsonrpc.Request:
		blocksOfMessages(m.Parameters(), m.root(), "sampling", add)
	case m.about() == "sampling/createMessage" || m.Lane == tap.ToServer: // tasks of a client are sampling or elicitation
		blocksOf(m.Member("content"), m.root()+".content", "sampling", add)
	default:
		blocksOf(m.Member("content"), m.root()+".content", "tool", add)
	}
}

func blocksOfMessages(v jsonrpc.Value, path, place string, add func(block)) {
	for _, message := range v.Get("messages").Each {
		blocksOf(message.Get("content"), path+".messages[*].content", place, add)
	}
}

func blocksOf(v jsonrpc.Value, path, place string, add func(block)) {
	switch {
	case v.IsArray():
		path += "[*]"
		for _, b := range v.Each {
			blockOf(b, path, place, add)
		}
	case place != "tool":
		blockOf(v, path, place, add)
	}
}

func blockOf(v jsonrpc.Value, path, place string, add func(block)) {
	if !v.IsObject() {
		return
	}
	kind := v.Get("type").Decoded()
	add(block{v, path, place, kind})
	if place == "sampling" && kind == "tool_result" {
		blocksOf(v.Get("content"), path+".content", "tool", add)
	}
}

// eachBlock returns New for a rule that judges content blocks one by one.
func eachBlock(judge func(m *Message, b block, v *Verdict)) func(*Session) Hooks {
	return each(func(m *Message, v *Verdict) {
		for _, b := range m.allBlocks() {
			judge(m, b, v)
		}
	}, onContent...)
}

// A listing tracks whether a session has all pages of a list.
type listing struct {
	method string
	// on reports that all pages so far were read, from the first; next is a key of the
	// cursor of the next page; complete reports that there is none.
	on, complete bool
	next         string
}

// isPartial reports whether a part of a message is not known.
func (m *Message) isPartial() bool { return m.Unread || m.Entry.Frame.Truncated }

// watch adds a message.
func (l *listing) watch(m *Message) {
	switch {
	case m.Kind == jsonrpc.Notification && m.Method == lists[l.method].changed || m.isPartial():
		l.on, l.complete = false, false
	case m.Kind == jsonrpc.Request && m.Method == l.method:
		l.complete = false
	case m.Kind == jsonrpc.Response && m.Request != nil && m.Request.Method == l.method:
		cursor, next := m.Request.Param("cursor"), m.Member("nextCursor")
		l.on = cursor == nil || l.on && l.next == keyOf(cursor)
		l.next = keyOf(next)
		l.complete = l.on && l.next == ""
	}
}

// lacks reports whether the definitions are complete and none has the name.
func (l *listing) lacks(s *Session, defs map[string]jsonrpc.Value, name string) bool {
	_, ok := defs[name]
	return !ok && name != "" && l.complete && !s.Gap && len(defs) < maxRequests
}

// walk calls visit for the schemas in a member of a definition: see walkSchema.
func (d definition) walk(v *Verdict, member string, visit func(schema jsonrpc.Value, fixed bool)) {
	switch schema := d.Get(member); {
	case len(schema) > maxParams:
		v.Skip("the schema is too large")
	case !walkSchema(schema, true, 0, visit):
		v.Skip("the schema is nested too deep")
	}
}

// walkSchema calls visit for a JSON Schema and its subschemas. fixed reports whether a schema
// is that of a property reached through properties only. walkSchema returns false if schemas
// are nested too deep.
func walkSchema(schema jsonrpc.Value, fixed bool, depth int, visit func(schema jsonrpc.Value, fixed bool)) bool {
	if !schema.IsObject() {
		return true
	}
	if depth > 32 {
		return false
	}
	visit(schema, fixed)
	for name, v := range schema.Each {
		switch string(name) {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "allOf", "anyOf", "oneOf", "prefixItems", "items",
			"dependencies":
			if string(name) == "items" && v.IsObject() {
				break
			}
			for _, inner := range v.Each {
				if !walkSchema(inner, fixed && string(name) == "properties", depth+1, visit) {
					return false
				}
			}
			continue
		case "additionalItems", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else", "unevaluatedItems",
			"unevaluatedProperties", "contentSchema":
		default:
			continue
		}
		if !walkSchema(v, false, depth+1, visit) {
			return false
		}
	}
	return true
}
