package check

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// rulesFeature are about tools, resources, prompts and completion.
var rulesFeature = []Rule{
	{
		ID: "feat-01", Class: "client-breaking", In: "A-E", Side: "server", Transport: "any",
		Text:   `Each tool has a name and an inputSchema that is an object with type "object".`,
		Source: "D-E:server/tools#tool; schema Tool; observed: the TypeScript SDK rejects the whole tools/list",
		Fix:    `Give every tool at least {"type":"object"}.`,
		New: eachDefinition(func(m *Message, d definition, v *Verdict) {
			if name := d.Get("name"); name == nil || isNull(name) {
				v.Violate(d.name, d.path+".name", describe(name))
			}
			schema := d.Get("inputSchema")
			if v.need(schema, anObject, d.name, d.path+".inputSchema") && schema.Get("type").Decoded() != "object" {
				v.Violate(d.name, d.path+".inputSchema.type", describe(schema.Get("type")))
			}
		}, "result tools/list"),
	},
	{
		ID: "feat-03", Class: "should@D-E observation@A-C", In: "A-E", Side: "server", Transport: "any",
		Text:   "A tool name is unique in the server, and from 2025-11-25 on has 1 to 128 characters of A-Z a-z 0-9 _ - .",
		Source: "D-E:server/tools#tool-names",
		Fix:    "Rename the tool.",
		New: each(func(m *Message, v *Verdict) {
			seen := map[string]bool{}
			for _, tool := range m.Member("tools").Each {
				value := tool.Get("name")
				name := value.Decoded()
				switch {
				case value.Class() != '"': // see feat-01 and type-03
				case !toolName.MatchString(name) && (m.Revision == "" || m.Revision >= jsonrpc.Rev20251125):
					v.Violate(name, "$.result.tools[*].name", string(value))
				case seen[name]:
					v.Violate(name, "$.result.tools[*].name", string(value)+" occurs twice")
				default:
					v.Hold()
				}
				seen[name] = true
			}
		}, "result tools/list"),
	},
	{
		ID: "feat-04", Class: "client-breaking", In: "A-E", Side: "server", Transport: "any",
		Text:   "The result of a tools/call has an array content, even with structuredContent.",
		Source: "schema CallToolResult; observed: the TypeScript SDK fails the call",
		Fix:    `Put the result into a text block of content; "content":[] is for a result without any.`,
		New: each(func(m *Message, v *Verdict) {
			if m.final() {
				v.clean(func() { v.need(m.Member("content"), anArray, m.Subject(), "$.result.content") })
			}
		}, "result tools/call"),
	},
	{
		ID: "feat-06", Class: "should", In: "C-E", Side: "server", Transport: "any",
		Text:   "A result with structuredContent has a text block with the same JSON.",
		Source: "C-E:server/tools#structured-content",
		Fix:    "Add a text block with the serialized value.",
		New:    each(structuredAsText, "result tools/call"),
	},
	{
		ID: "feat-07", Class: "client-breaking", In: "C-D", Side: "server", Transport: "any",
		Text:   "structuredContent is an object. (2026-07-28 allows any value.)",
		Source: "C-D:server/tools#structured-content; schema CallToolResult; observed: the TypeScript SDK fails the call",
		Fix:    `Wrap the value, for example {"items":[...]}.`,
		New: each(func(m *Message, v *Verdict) {
			if s := m.Member("structuredContent"); s != nil {
				v.clean(func() { v.want(s, anObject, m.Subject(), "$.result.structuredContent") })
			}
		}, "result tools/call"),
	},
	{
		ID: "feat-09", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   "A tools/call of an unknown tool is answered with a JSON-RPC error, not with a result that has isError.",
		Source: "A-E:server/tools#error-handling",
		Fix:    "Return error -32602.",
		New: func(s *Session) Hooks {
			tools := listing{method: "tools/list"}
			return Hooks{Watch: tools.watch, On: []string{"result tools/call", "error tools/call"}, Message: func(m *Message, v *Verdict) {
				name := m.Request.Param("name").Decoded()
				switch {
				case m.Kind == jsonrpc.Response && !m.IsError:
				case m.tool() != nil:
				case !tools.lacks(s, s.Listed["tools/list"], name):
					v.Skip("the list of tools is not complete")
				default:
					v.Check(!m.IsError, name, "$.result.isError", "a result for an unknown tool")
				}
			}}
		},
	},
	{
		ID: "feat-10", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text: "Content blocks are of a type that the revision knows. Tools and prompts: text, image, resource; audio from 2025-03-26; resource_link " +
			"from 2025-06-18. Sampling: text, image; audio from 2025-03-26; tool_use and tool_result from 2025-11-25.",
		Source: "schema CallToolResult, PromptMessage, SamplingMessage, ContentBlock; observed: an unknown type fails the call in the TypeScript and Go SDKs",
		Fix:    "Use a known type; put other data into a text block or an embedded resource.",
		New: eachBlock(func(m *Message, b block, v *Verdict) {
			v.Check(knownType(m.Revision, b), m.Subject(), b.path+".type", describe(b.Get("type")))
		}),
	},
	{
		ID: "feat-11", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text: "data of images and audio, and blob of resources, is base64 in the standard alphabet with padding. " +
			"Resources embedded in prompts have a mimeType.",
		Source: "A-E:server/prompts#image-content, #embedded-resources; B-E:server/prompts#audio-content; schema ImageContent, AudioContent, " +
			"BlobResourceContents; observed: the TypeScript and Go SDKs fail the call on bad base64",
		Fix: "Encode with the standard alphabet and padding, without a data: prefix.",
		New: each(binaries, append([]string{"result resources/read"}, onContent...)...),
	},
	{
		ID: "feat-12", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text: "A missing resource is answered with the error -32002, in 2026-07-28 with -32602, never with empty contents. " +
			"This is judged by the text of the error.",
		Source: "A-E:server/resources#error-handling",
		Fix:    "Return the error with the URI in data.",
		New:    each(missingResource, "result resources/read", "error resources/read"),
	},
	{
		ID: "feat-13", Class: "client-breaking", In: "A-E", Side: "server", Transport: "any",
		Text:   "Each item of contents, and each embedded resource, has a string uri and a string text or blob.",
		Source: "schema ReadResourceResult, EmbeddedResource; A-E:server/prompts#embedded-resources; observed: the TypeScript SDK fails the call",
		Fix:    "Add the URI and the text or blob.",
		New: each(func(m *Message, v *Verdict) {
			eachContents(m, func(c jsonrpc.Value, path string) {
				v.clean(func() {
					v.need(c.Get("uri"), aString, m.Subject(), path+".uri")
					text, blob := c.Get("text"), c.Get("blob")
					switch {
					case text.Class() == '"' || blob.Class() == '"':
					case text != nil:
						v.want(text, aString, m.Subject(), path+".text")
					default:
						v.need(blob, aString, m.Subject(), path+".blob")
					}
				})
			})
		}, "result resources/read", "result tools/call", "result prompts/get", "result tasks/result"),
	},
	{
		ID: "feat-14", Class: "must", In: "A-E", Side: "client", Transport: "any",
		Text:   "A cursor is one that this server issued as nextCursor for the same method, unchanged.",
		Source: "A-E:server/utilities/pagination#implementation-guidelines",
		Fix:    "Send the cursor back byte for byte.",
		New:    issuedCursors,
	},
	{
		ID: "feat-15", Class: "client-breaking", In: "A-E", Side: "server", Transport: "any",
		Text:   "nextCursor is a string, and left out on the last page.",
		Source: "schema PaginatedResult; E:server/utilities/pagination#implementation-guidelines; observed: null makes the TypeScript SDK reject the whole list",
		Fix:    "Leave nextCursor out on the last page.",
		New: each(func(m *Message, v *Verdict) {
			v.clean(func() { v.want(m.Member("nextCursor"), aString, m.Subject(), "$.result.nextCursor") })
		}, append([]string{"result tasks/list"}, onLists...)...),
	},
	{
		ID: "feat-16", Class: "should", In: "A-E", Side: "server", Transport: "any",
		Text:   "An invalid cursor is answered with the error -32602. This is judged by the text of the error.",
		Source: "A-E:server/utilities/pagination#error-handling",
		Fix:    "Return -32602.",
		New: each(func(m *Message, v *Verdict) {
			switch {
			case m.Request.Param("cursor") == nil:
			case m.ErrorCode == "-32602":
				v.Hold()
			case strings.Contains(strings.ToLower(m.ErrorMessage), "cursor"):
				v.Violate(m.Subject(), "$.error.code", m.ErrorCode+" instead of -32602")
			default:
				v.Skip("the error does not name the cursor")
			}
		}, "error tools/list", "error prompts/list", "error resources/list", "error resources/templates/list"),
	},
	{
		ID: "feat-17", Class: "client-breaking", In: "A-E", Side: "server", Transport: "any",
		Text:   "values of a completion has at most 100 items.",
		Source: "A-E:server/utilities/completion#completion-results; schema CompleteResult; observed: the TypeScript SDK rejects more",
		Fix:    "Cut the list and set hasMore.",
		New: each(func(m *Message, v *Verdict) {
			if values := m.Outcome().Get("completion", "values"); values.IsArray() {
				n := 0
				for range values.Each {
					n++
				}
				v.Check(n <= 100, m.Subject(), "$.result.completion.values", fmt.Sprintf("%d values", n))
			}
		}, "result completion/complete"),
	},
	{
		ID: "feat-18", Class: "client-breaking", In: "E", Side: "server", Transport: "any",
		Text: "Complete results of server/discover, of the lists of tools, prompts, resources and templates, and of resources/read have a non-negative " +
			"integer ttlMs and a cacheScope that is public or private.",
		Source: "E:server/utilities/caching#cacheable-results, #time-to-live-ttl-field; schema CacheableResult; " +
			"observed: the TypeScript SDK rejects a tools/list without them",
		Fix: `Add "ttlMs":0,"cacheScope":"private" if nothing better is known.`,
		New: each(func(m *Message, v *Verdict) {
			if !m.final() {
				return
			}
			v.clean(func() {
				ttl, scope := m.Member("ttlMs"), m.Member("cacheScope")
				if !isInteger(ttl) || ttl[0] == '-' && strings.Trim(string(ttl), "-0.") != "" {
					v.Violate(m.Request.Method, "$.result.ttlMs", describe(ttl))
				}
				if s := scope.Decoded(); s != "public" && s != "private" {
					v.Violate(m.Request.Method, "$.result.cacheScope", describe(scope))
				}
			})
		}, append([]string{"result server/discover", "result resources/read"}, onLists...)...),
	},
	{
		ID: "feat-19", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "All pages of one list have the same cacheScope.",
		Source: "E:server/utilities/caching#interaction-with-pagination",
		Fix:    "Set the scope per list, not per page.",
		New: func(s *Session) Hooks {
			scopes := bounded.Map[string, string]{Max: maxKnown} // scope of the page that issued a cursor
			return Hooks{On: onLists, Message: func(m *Message, v *Verdict) {
				method, scope := m.Request.Method, m.Member("cacheScope").Decoded()
				if scope != "public" && scope != "private" {
					return // see feat-18
				}
				if cursor := m.Request.Param("cursor"); cursor != nil {
					if before, ok := scopes.Get(cursorKey(method, cursor)); ok {
						v.Check(scope == before, method, "$.result.cacheScope", fmt.Sprintf("%s after %s", scope, before))
					} else {
						v.Skip("the page before it is not known")
					}
				}
				if next := m.Member("nextCursor"); next.Class() == '"' {
					scopes.Put(cursorKey(method, next), scope)
				}
			}}
		},
	},
	{
		ID: "feat-21", Class: "client-breaking", In: "E", Side: "server", Transport: "any",
		Text: "x-mcp-header is a token as in RFC 9110, unique in the inputSchema without regard to case, and on properties of type string, integer or " +
			"boolean that is reached through properties only.",
		Source: "E:basic/transports/streamable-http#schema-extension; E:server/tools#x-mcp-header (HTTP clients must drop the tool)",
		Fix:    "Correct or remove the annotation.",
		New:    eachDefinition(headerAnnotations, "result tools/list"),
	},
	{
		ID: "feat-22", Class: "observation", In: "E", Side: "server", Transport: "any",
		Text:   "A schema of a tool has a $ref to another document on the network. Peers must not fetch it, and should reject the schema.",
		Source: "E:basic/index#ref-resolution",
		Fix:    "Inline the schema under $defs.",
		New:    eachDefinition(networkReferences, "result tools/list"),
	},
	{
		ID: "feat-23", Class: "observation", In: "D-E", Side: "server", Transport: "any",
		Text:   "The src of an icon is neither an https: nor a data: URI. Clients must not load others.",
		Source: "D-E:basic/index#icons",
		Fix:    "Serve the icon over HTTPS or as a data URI.",
		New: eachDefinition(func(m *Message, d definition, v *Verdict) {
			for _, icon := range d.Get("icons").Each {
				src := icon.Get("src").Decoded() // see type-08 if it is not a string
				if s := scheme(src); src != "" && s != "https" && s != "data" && !isMasked(src) {
					v.Violate(d.name, d.path+".icons[*].src", src)
				}
			}
		}, onLists...),
	},
	{
		ID: "feat-24", Class: "observation", In: "A-D", Side: "server", Transport: "any",
		Text:   "notifications/resources/updated names a URI that is neither subscribed to nor below one that is.",
		Source: "schema ResourceUpdatedNotification; A-D:server/resources#subscriptions",
		Fix:    "Notify subscribers only.",
		New:    subscribedURIs,
	},
	{
		ID: "feat-26", Class: "should", In: "A-E", Side: "server", Transport: "any",
		Text:   "A prompts/get with an unknown name, or without a required argument, is answered with the error -32602.",
		Source: "A-E:server/prompts#error-handling",
		Fix:    "Return -32602.",
		New: func(s *Session) Hooks {
			prompts := listing{method: "prompts/list"}
			return Hooks{Watch: prompts.watch, On: []string{"error prompts/get"}, Message: func(m *Message, v *Verdict) {
				name := m.Request.Param("name").Decoded()
				prompt := s.Listed["prompts/list"][name]
				switch {
				case prompts.lacks(s, s.Listed["prompts/list"], name) || lacksArgument(prompt, m.Request.Param("arguments")):
					v.Check(m.ErrorCode == "-32602", name, "$.error.code", m.ErrorCode+" instead of -32602")
				case prompt == nil:
					v.Skip("the list of prompts is not complete")
				}
			}}
		},
	},
	{
		ID: "feat-27", Class: "should", In: "E", Side: "server", Transport: "any",
		Text:   "tools/list returns an unchanged set of tools in the same order.",
		Source: "E:server/tools#capabilities",
		Fix:    "Sort the list, for example by name.",
		New:    sameOrder,
	},
	{
		ID: "feat-28", Class: "must", In: "A-E", Side: "both", Transport: "any",
		Text:   "The uri of a resource is an absolute URI: it has a scheme. A URI that the server listed is not held against the client.",
		Source: "schema Resource, ReadResourceRequest, ResourceUpdatedNotification (format uri); C-E:server/resources#custom-uri-schemes",
		Fix:    "Use a scheme such as file:// or one of your own.",
		New: each(func(m *Message, v *Verdict) {
			judge := func(value jsonrpc.Value, subject, path string) {
				switch uri := value.Decoded(); {
				case value.Class() != '"': // see type-03, type-12 and feat-13
				case scheme(uri) == "" && isMasked(uri):
					v.Skip("the URI is masked")
				default:
					v.CheckValue(scheme(uri) != "", subject, path, "no scheme", value)
				}
			}
			if m.Kind != jsonrpc.Response {
				uri := m.Param("uri")
				if m.Lane == tap.ToClient || m.Session.Listed["resources/list"][uri.Decoded()] == nil {
					judge(uri, m.Subject(), "$.params.uri")
				}
				return
			}
			if m.Request.Method == "resources/list" {
				for _, r := range m.Member("resources").Each {
					judge(r.Get("uri"), r.Get("uri").Decoded(), "$.result.resources[*].uri")
				}
				return
			}
			eachContents(m, func(c jsonrpc.Value, path string) { judge(c.Get("uri"), m.Subject(), path+".uri") })
			if m.Request.Method == "resources/read" {
				return
			}
			for _, b := range m.allBlocks() {
				if b.kind == "resource_link" {
					judge(b.Get("uri"), m.Subject(), b.path+".uri")
				}
			}
		}, "result resources/list", "result resources/read", "result tools/call", "result prompts/get", "request resources/read",
			"request resources/subscribe", "request resources/unsubscribe", "notification notifications/resources/updated"),
	},
	{
		ID: "feat-29", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text: "A tool name has a dot or more than 64 characters. That is legal in MCP, but some model APIs accept only 1 to 64 characters of " +
			"A-Z a-z 0-9 _ -, and hosts put a prefix in front.",
		Source: "D-E:server/tools#tool-names",
		Fix:    "Keep names short and without dots.",
		New: eachDefinition(func(m *Message, d definition, v *Verdict) {
			name := d.Get("name").Decoded()
			if m.Revision >= jsonrpc.Rev20251125 && !toolName.MatchString(name) {
				return // see feat-03
			}
			if strings.Contains(name, ".") || len([]rune(name)) > 64 {
				v.Violate(d.name, d.path+".name", string(d.Get("name")))
			}
		}, "result tools/list"),
	},
	{
		ID: "feat-30", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   "A tool, or a required parameter, has no description: the model has only the name to go by.",
		Source: "A-E:server/tools#tool",
		Fix:    "Describe what the tool does and what each parameter means.",
		New:    eachDefinition(descriptions, "result tools/list"),
	},
	{
		ID: "feat-31", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   "A required parameter in an inputSchema is not among its properties. That is valid JSON Schema, but some model APIs reject the tool.",
		Source: "A-E:server/tools#tool; JSON Schema 2020-12 validation s6.5.3",
		Fix:    "Add the property, or correct its name in required.",
		New:    eachDefinition(undefinedRequired, "result tools/list"),
	},
}

// toolName matches the names that the specification recommends.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// structuredAsText judges feat-06.
func structuredAsText(m *Message, v *Verdict) {
	structured, content := m.Member("structuredContent"), m.Member("content")
	if structured == nil || !content.IsArray() {
		return // see feat-04
	}
	want, err := jsontree.Parse(structured)
	if err != nil {
		return
	}
	masked := isMasked(structured)
	for _, b := range m.allBlocks() {
		value := b.Get("text")
		if b.kind != "text" || value.Class() != '"' {
			continue
		}
		masked = masked || isMasked(value)
		if got, err := jsontree.Parse([]byte(whole(value))); err == nil && got.Equal(want) {
			v.Hold()
			return
		}
	}
	if masked {
		v.Skip("the value is masked")
		return
	}
	v.Violate(m.Subject(), "$.result.content", "no text block has the JSON of structuredContent")
}

// knownType judges feat-10.
func knownType(rev jsonrpc.Revision, b block) bool {
	first := jsonrpc.Rev20241105
	switch t, sampling := b.kind, b.place == "sampling"; {
	case t == "text", t == "image", t == "resource" && !sampling:
	case t == "audio":
		first = jsonrpc.Rev20250326
	case t == "resource_link" && !sampling:
		first = jsonrpc.Rev20250618
	case (t == "tool_use" || t == "tool_result") && sampling:
		first = jsonrpc.Rev20251125
	default:
		return false
	}
	return rev == "" || rev >= first
}

// eachContents calls judge for each item of contents, or each embedded resource, with its path.
func eachContents(m *Message, judge func(contents jsonrpc.Value, path string)) {
	if m.about() == "resources/read" {
		for _, c := range m.Member("contents").Each {
			if c.IsObject() {
				judge(c, "$.result.contents[*]")
			}
		}
		return
	}
	for _, b := range m.allBlocks() {
		if c := b.Get("resource"); b.kind == "resource" && c.IsObject() {
			judge(c, b.path+".resource")
		}
	}
}

// binaries judges feat-11.
func binaries(m *Message, v *Verdict) {
	judge := func(value jsonrpc.Value, path string) {
		switch {
		case value.Class() != '"': // absent, or see type-12 and feat-13
		case isBase64(value):
			v.Hold()
		case isMasked(value):
			v.Skip("the value is masked")
		default:
			v.Violate(m.Subject(), path, string(value[:min(len(value), maxText+1)]))
		}
	}
	eachContents(m, func(c jsonrpc.Value, path string) {
		judge(c.Get("blob"), path+".blob")
		if m.about() == "prompts/get" && c.Get("mimeType") == nil {
			v.Violate(m.Subject(), path+".mimeType", "missing")
		}
	})
	if m.about() == "resources/read" {
		return
	}
	for _, b := range m.allBlocks() {
		if t := b.kind; t == "image" || t == "audio" {
			judge(b.Get("data"), b.path+".data")
		}
	}
}

// isMissing matches the texts of errors about something that does not exist.
var isMissing = regexp.MustCompile(`(?i)not found|does ?n[o']t exist|no such|unknown (?:resource|uri)`)

// missingResource judges feat-12.
func missingResource(m *Message, v *Verdict) {
	if m.Revision == "" {
		v.Skip("the revision is not known")
		return
	}
	modern := m.Revision >= jsonrpc.Rev20260728
	if m.Kind == jsonrpc.Response {
		if contents := m.Member("contents"); modern && contents.IsArray() && m.final() {
			v.Check(!isEmpty(contents), m.Subject(), "$.result.contents", "[]")
		}
		return
	}
	want := "-32002"
	if modern {
		want = "-32602"
	}
	code, _ := strconv.Atoi(m.ErrorCode) // otherwise rpc-09
	switch {
	case isReserved(code) && modern && isModern(m.Session): // see rpc-21 and rpc-22
	case m.ErrorCode == "-32601" || modern && m.ErrorCode == "-32002": // no such method; see rpc-22
	case m.ErrorCode == "-32002":
		v.Hold()
	case !isMissing.MatchString(m.ErrorMessage):
		v.Skip("whether the resource exists is not known")
	default:
		v.Check(m.ErrorCode == want, m.Subject(), "$.error.code", m.ErrorCode+" instead of "+want)
	}
}

// cursorKey returns a map key for a cursor of a method.
func cursorKey(method string, cursor jsonrpc.Value) string {
	return method + " " + keyOf(cursor)
}

// issuedCursors judges feat-14.
func issuedCursors(s *Session) Hooks {
	issued, more := bounded.Map[string, bool]{Max: maxKnown}, false
	watch := func(m *Message) {
		more = more || m.isPartial()
		if m.Kind != jsonrpc.Response || m.Request == nil || lists[m.Request.Method].key == "" {
			return
		}
		if next := m.Member("nextCursor"); next.Class() == '"' {
			_, dropped := issued.Put(cursorKey(m.Request.Method, next), true)
			more = more || dropped
		}
	}
	judge := func(m *Message, v *Verdict) {
		cursor := m.Param("cursor")
		if cursor.Class() != '"' {
			return // see type-16
		}
		_, known := issued.Get(cursorKey(m.Method, cursor))
		switch {
		case known:
			v.Hold()
		case !s.Start || s.Gap || more || m.Revision >= jsonrpc.Rev20260728:
			v.Skip("the cursor may have been issued outside of the recording")
		case isMasked(cursor):
			v.Skip("the cursor is masked")
		default:
			v.Violate(m.Method, "$.params.cursor", "not a nextCursor of the server: "+string(cursor))
		}
	}
	return Hooks{Watch: watch, Message: judge, On: []string{
		"request tools/list", "request prompts/list", "request resources/list", "request resources/templates/list",
	}}
}

// isToken matches the tokens of RFC 9110.
var isToken = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// headerAnnotations judges feat-21.
func headerAnnotations(m *Message, d definition, v *Verdict) {
	path, names := d.path+".inputSchema", map[string]bool{}
	d.walk(v, "inputSchema", func(schema jsonrpc.Value, fixed bool) {
		value := schema.Get("x-mcp-header")
		if value == nil {
			return
		}
		name, what := value.Decoded(), string(value)
		switch {
		case value.Class() != '"' || !isToken.MatchString(name):
			v.Violate(d.name, path, what+" is not a token")
		case names[strings.ToLower(name)]:
			v.Violate(d.name, path, what+" occurs twice")
		case !fixed:
			v.Violate(d.name, path, what+" is not on a property that is reached through properties only")
		case !isHeaderType(schema.Get("type")):
			v.Violate(d.name, path, what+" is on the type "+string(schema.Get("type")))
		}
		names[strings.ToLower(name)] = true
	})
}

// isHeaderType reports whether values of a type can be sent in a header field. It accepts a
// property without a type.
func isHeaderType(t jsonrpc.Value) bool {
	if t == nil {
		return true
	}
	for _, name := range t.Each {
		if !slices.Contains([]string{"string", "integer", "boolean", "null"}, name.Decoded()) {
			return false
		}
	}
	return true
}

// networkReferences judges feat-22.
func networkReferences(m *Message, d definition, v *Verdict) {
	for _, member := range []string{"inputSchema", "outputSchema"} {
		ids, refs := map[string]bool{}, []string{}
		d.walk(v, member, func(schema jsonrpc.Value, _ bool) {
			ids[strings.TrimSuffix(schema.Get("$id").Decoded(), "#")] = true
			refs = append(refs, schema.Get("$ref").Decoded())
		})
		for _, ref := range refs {
			to, _, _ := strings.Cut(ref, "#")
			if s := scheme(to); (s == "http" || s == "https" || strings.HasPrefix(to, "//")) && !ids[to] {
				v.Violate(d.name, d.path+"."+member, "a $ref to another document: "+ref)
			}
		}
	}
}

// subscribedURIs judges feat-24.
func subscribedURIs(s *Session) Hooks {
	uris, more := bounded.Map[string, bool]{Max: 256}, false
	watch := func(m *Message) {
		more = more || m.isPartial()
		switch {
		case m.Kind == jsonrpc.Request && m.Method == "resources/subscribe":
			_, dropped := uris.Put(strings.Clone(m.Param("uri").Decoded()), true)
			more = more || dropped
		case m.Kind == jsonrpc.Response && m.Request != nil && m.Request.Method == "resources/unsubscribe" && s.Transport == "stdio":
			uris.Delete(m.Request.Param("uri").Decoded())
		}
	}
	judge := func(m *Message, v *Verdict) {
		uri := m.Param("uri").Decoded()
		for known := range uris.All {
			if strings.HasPrefix(uri, known) {
				v.Hold()
				return
			}
		}
		if !s.Start || s.Gap || more || uri == "" {
			v.Skip("the subscription may have been made outside of the recording")
			return
		}
		v.Violate(uri, "$.params.uri", "not subscribed to")
	}
	return Hooks{Watch: watch, Message: judge, On: []string{"notification notifications/resources/updated"}}
}

// lacksArgument reports whether arguments lack one that a prompt requires.
func lacksArgument(prompt, arguments jsonrpc.Value) bool {
	given := map[string]bool{"": true}
	if arguments.IsObject() {
		for name := range arguments.Each {
			given[string(name)] = true
		}
	}
	for _, a := range prompt.Get("arguments").Each {
		if a.Get("required").IsTrue() && !given[whole(a.Get("name"))] {
			return true
		}
	}
	return false
}

// sameOrder judges feat-27 for first pages.
func sameOrder(*Session) Hooks {
	var set, order uint64
	known := false
	return Hooks{On: []string{"result tools/list"}, Message: func(m *Message, v *Verdict) {
		if m.Request.Param("cursor") != nil || !m.Member("tools").IsArray() {
			return
		}
		var names []string
		for _, tool := range m.Member("tools").Each {
			names = append(names, tool.Get("name").Decoded())
		}
		newOrder := jsontree.HashString(strings.Join(names, "\n"))
		slices.Sort(names)
		newSet := jsontree.HashString(strings.Join(names, "\n"))
		if known && newSet == set {
			v.Check(newOrder == order, "tools/list", "$.result.tools", "the same tools in another order")
		}
		set, order, known = newSet, newOrder, true
	}}
}

// descriptions judges feat-30.
func descriptions(m *Message, d definition, v *Verdict) {
	if text := d.Get("description"); text == nil || text.Class() == '"' && len(bytes.TrimSpace([]byte(text.Decoded()))) == 0 {
		v.Violate(d.name, d.path+".description", describe(text))
	}
	schema := d.Get("inputSchema")
	properties, required := schema.Get("properties"), map[string]bool{}
	for _, name := range schema.Get("required").Each {
		required[name.Decoded()] = true
	}
	var bare []string
	if properties.IsObject() {
		for name, p := range properties.Each {
			if required[string(name)] && p.IsObject() && p.Get("description").Text() == "" && p.Get("$ref") == nil {
				bare = append(bare, string(name))
			}
		}
	}
	if len(bare) > 0 {
		v.Violate(d.name, d.path+".inputSchema.properties.*.description", "missing for "+strings.Join(bare, ", "))
	}
}

// otherProperties are schema members that may allow or define more properties.
var otherProperties = []string{
	"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies", "patternProperties", "additionalProperties",
}

// undefinedRequired judges feat-31.
func undefinedRequired(_ *Message, d definition, v *Verdict) {
	var missing []string
	d.walk(v, "inputSchema", func(schema jsonrpc.Value, fixed bool) {
		properties := schema.Get("properties")
		if !fixed || properties != nil && !properties.IsObject() { // see type-04
			return
		}
		for _, value := range schema.Members(otherProperties...) {
			if string(value) != "false" {
				return
			}
		}
		known := map[string]bool{}
		if properties != nil {
			for name := range properties.Each {
				known[string(name)] = true
			}
		}
		for _, value := range schema.Get("required").Each {
			if name := whole(value); name != "" && !known[name] {
				missing = append(missing, name)
			}
		}
	})
	if len(missing) > 0 {
		v.Violate(d.name, d.path+".inputSchema.required", "not in properties: "+strings.Join(missing, ", "))
	}
}
