package check

import (
	"slices"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// rulesType are about the JSON types of definitions and content.
var rulesType = []Rule{
	{
		ID: "type-01", Class: "client-breaking", In: "B-E", Side: "server", Transport: "any",
		Text:   "In the annotations of a tool readOnlyHint, destructiveHint, idempotentHint and openWorldHint are booleans, and title is a string.",
		Source: "schema ToolAnnotations; observed: a string instead of a boolean makes the TypeScript and Go SDKs reject the whole tools/list",
		Fix:    "Send true or false, or leave the hint out.",
		New: eachDefinition(func(m *Message, d definition, v *Verdict) {
			annotations, path := d.Get("annotations"), d.path+".annotations"
			if !v.wantOptional(annotations, anObject, d.name, path) {
				return
			}
			for name, value := range annotations.Members("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "title") {
				classes := aBoolean
				if name == "title" {
					classes = aString
				}
				v.want(value, classes, d.name, path+"."+name)
			}
		}, "result tools/list"),
	},
	{
		ID: "type-02", Class: "client-breaking", In: "A-E", Side: "server", Transport: "any",
		Text:   "An optional member of a tool, prompt, resource or template is left out, not null.",
		Source: "schema Tool, Prompt, Resource, ResourceTemplate; observed: null makes the TypeScript SDK reject the whole list",
		Fix:    "Configure the serializer to leave out nulls.",
		New: eachDefinition(func(m *Message, d definition, v *Verdict) {
			eachMember(m, d, optionalMembers, func(path string, value jsonrpc.Value) {
				if isNull(value) {
					v.Violate(d.name, path, "null")
				}
			})
		}, onLists...),
	},
	{
		ID: "type-03", Class: "client-breaking", In: "A-E", Side: "server", Transport: "any",
		Text:   "name, title, description, uri, uriTemplate and mimeType are strings wherever they appear.",
		Source: "schema BaseMetadata, Tool, Prompt, Resource; observed: a number as name or description makes the TypeScript and Go SDKs reject the whole tools/list",
		Fix:    "Convert the value to a string.",
		New: eachDefinition(func(m *Message, d definition, v *Verdict) {
			eachMember(m, d, stringMembers, func(path string, value jsonrpc.Value) {
				if !isNull(value) { // see type-02, feat-01 and type-10
					v.want(value, aString, d.name, path)
				}
			})
		}, onLists...),
	},
	{
		ID: "type-04", Class: "client-breaking", In: "A-E", Side: "server", Transport: "any",
		Text:   "In an inputSchema properties is an object and required is an array of strings.",
		Source: "A-D:schema Tool; JSON Schema 2020-12 validation s6.5.3; observed: the TypeScript SDK rejects the whole tools/list",
		Fix:    "Leave empty members out; an empty properties is {}, not [].",
		New: eachDefinition(func(m *Message, d definition, v *Verdict) {
			schema, path := d.Get("inputSchema"), d.path+".inputSchema"
			v.want(schema.Get("properties"), anObject, d.name, path+".properties")
			if required := schema.Get("required"); v.want(required, anArray, d.name, path+".required") {
				for _, name := range required.Each {
					v.want(name, aString, d.name, path+".required[*]")
				}
			}
		}, "result tools/list"),
	},
	{
		ID: "type-05", Class: "client-breaking", In: "A-D", Side: "server", Transport: "any",
		Text:   "The schema of each property in an inputSchema is an object, not true or false. (2026-07-28 allows these.)",
		Source: "schema Tool; observed: the TypeScript SDK rejects the whole tools/list",
		Fix:    "Write {} instead of true.",
		New: eachDefinition(func(m *Message, d definition, v *Verdict) {
			if properties := d.Get("inputSchema", "properties"); properties.IsObject() {
				for _, p := range properties.Each {
					v.want(p, anObject, d.name, d.path+".inputSchema.properties.*")
				}
			}
		}, "result tools/list"),
	},
	{
		ID: "type-06", Class: "client-breaking", In: "C-D", Side: "server", Transport: "any",
		Text:   `An outputSchema has the type "object" at its root. (2026-07-28 allows any schema.)`,
		Source: "schema Tool; observed: the TypeScript SDK rejects the whole tools/list",
		Fix:    "Wrap the output in an object.",
		New: eachDefinition(func(m *Message, d definition, v *Verdict) {
			schema, path := d.Get("outputSchema"), d.path+".outputSchema"
			if v.wantOptional(schema, anObject, d.name, path) && schema.Get("type").Decoded() != "object" {
				v.Violate(d.name, path+".type", describe(schema.Get("type")))
			}
		}, "result tools/list"),
	},
	{
		ID: "type-08", Class: "client-breaking", In: "D-E", Side: "server", Transport: "any",
		Text:   "icons is an array of objects, each with a string src; sizes is an array of strings, and theme is light or dark.",
		Source: "schema Icon; observed: the TypeScript SDK rejects the whole tools/list, the Go SDK if icons or sizes has another type",
		Fix:    `Write "sizes":["48x48"].`,
		New: each(func(m *Message, v *Verdict) {
			if m.Request.Method == "initialize" {
				v.clean(func() {
					judgeIcons(v, m.Outcome().Get("serverInfo", "icons"), "serverInfo", "$.result.serverInfo.icons")
				})
				return
			}
			eachIn(m, func(d definition) {
				v.clean(func() { judgeIcons(v, d.Get("icons"), d.name, d.path+".icons") })
			})
		}, append([]string{"result initialize"}, onLists...)...),
	},
	{
		ID: "type-09", Class: "client-breaking", In: "D", Side: "server", Transport: "any",
		Text:   "execution.taskSupport of a tool is forbidden, optional or required.",
		Source: "schema ToolExecution; observed: the TypeScript SDK rejects the whole tools/list",
		Fix:    "Use one of the three values or leave execution out.",
		New: eachDefinition(func(m *Message, d definition, v *Verdict) {
			execution := d.Get("execution")
			if !v.wantOptional(execution, anObject, d.name, d.path+".execution") {
				return
			}
			support := execution.Get("taskSupport")
			if support != nil && !slices.Contains([]string{"forbidden", "optional", "required"}, support.Decoded()) {
				v.Violate(d.name, d.path+".execution.taskSupport", string(support))
			}
		}, "result tools/list"),
	},
	{
		ID: "type-10", Class: "client-breaking", In: "A-E", Side: "server", Transport: "any",
		Text: "Every prompt and each of its arguments has a name; arguments is an array and required a boolean. Every resource has a uri and a name, " +
			"every template a uriTemplate and a name; size is a number.",
		Source: "schema Prompt, PromptArgument, Resource, ResourceTemplate; observed: the TypeScript SDK rejects the whole list, the Go SDK on another type",
		Fix:    "Correct the type or leave the member out.",
		New: eachDefinition(func(m *Message, d definition, v *Verdict) {
			named := func(value jsonrpc.Value, name, path string) {
				if got := value.Get(name); got == nil || isNull(got) { // otherwise see type-03
					v.Violate(d.name, path+"."+name, describe(got))
				}
			}
			named(d.Value, "name", d.path)
			switch d.list {
			case "prompts/list":
				arguments := d.Get("arguments")
				if !v.wantOptional(arguments, anArray, d.name, d.path+".arguments") {
					return
				}
				for _, a := range arguments.Each {
					named(a, "name", d.path+".arguments[*]")
					v.want(a.Get("required"), aBoolean, d.name, d.path+".arguments[*].required")
				}
			case "resources/list":
				named(d.Value, "uri", d.path)
				v.want(d.Get("size"), aNumber, d.name, d.path+".size")
			case "resources/templates/list":
				named(d.Value, "uriTemplate", d.path)
			}
		}, "result prompts/list", "result resources/list", "result resources/templates/list"),
	},
	{
		ID: "type-11", Class: "client-breaking", In: "A-E", Side: "server", Transport: "any",
		Text: "In the result of initialize or server/discover every capability is an object ({}, not true), listChanged and subscribe are booleans, and " +
			"instructions is a string.",
		Source: "schema ServerCapabilities, InitializeResult, DiscoverResult; observed: true instead of {} stops the TypeScript and Go SDKs from connecting, " +
			"instructions null the TypeScript SDK",
		Fix: "Write {} for a capability without options.",
		New: each(capabilityTypes, "result initialize", "result server/discover"),
	},
	{
		ID: "type-12", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text: "Content blocks have their members with the right types: text of a text, data and mimeType of an image or audio, resource of a resource, " +
			"uri and name of a resource_link, id, name and input of a tool_use, toolUseId and content of a tool_result.",
		Source: "schema TextContent, ImageContent, AudioContent, EmbeddedResource, ResourceLink, ToolUseContent, ToolResultContent; " +
			"observed: the TypeScript SDK fails the call, the Go SDK on another type",
		Fix: "Fill in the members; an empty text is a string.",
		New: eachBlock(func(m *Message, b block, v *Verdict) {
			members := blockMembers[b.kind]
			if members == nil || !knownType(m.Revision, b) {
				return // see feat-10
			}
			v.clean(func() {
				for _, member := range members {
					v.need(b.Get(member.name), member.class, m.Subject(), b.path+"."+member.name)
				}
			})
		}),
	},
	{
		ID: "type-13", Class: "client-breaking", In: "A-E", Side: "server", Transport: "any",
		Text:   "isError is a boolean.",
		Source: "schema CallToolResult; observed: null fails the call in the TypeScript SDK, a string also in the Go SDK",
		Fix:    "Send true or false, or leave it out.",
		New: each(func(m *Message, v *Verdict) {
			if value := m.Member("isError"); value != nil {
				v.clean(func() { v.want(value, aBoolean, m.Subject(), "$.result.isError") })
			}
		}, "result tools/call", "result tasks/result"),
	},
	{
		ID: "type-14", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text:   "In the annotations of content and resources audience is an array of user and assistant, and priority is a number from 0 to 1.",
		Source: "C-E:server/resources#annotations; schema Annotations, Annotated; observed: the TypeScript SDK fails the call, the Go SDK on a string as audience",
		Fix:    `Write "audience":["user"] and a priority between 0 and 1.`,
		New: eachAnnotations(func(m *Message, annotations jsonrpc.Value, subject, path string, v *Verdict) {
			audience, priority := annotations.Get("audience"), annotations.Get("priority")
			if v.want(audience, anArray, subject, path+".audience") {
				for _, role := range audience.Each {
					if r := role.Decoded(); r != "user" && r != "assistant" {
						v.Violate(subject, path+".audience[*]", string(role))
					}
				}
			}
			if v.want(priority, aNumber, subject, path+".priority") && priority != nil && !isShare(priority) {
				v.Violate(subject, path+".priority", string(priority))
			}
		}),
	},
	{
		ID: "type-15", Class: "client-breaking", In: "C-E", Side: "both", Transport: "any",
		Text:   "lastModified is a date and time in ISO 8601. TypeScript clients also require an offset or Z.",
		Source: "C-E:server/resources#annotations; schema Annotations; observed: a time without an offset fails the call in the TypeScript SDK",
		Fix:    "Write it as 2025-01-12T15:00:58Z.",
		New: eachAnnotations(func(m *Message, annotations jsonrpc.Value, subject, path string, v *Verdict) {
			value := annotations.Get("lastModified")
			if value == nil || !v.want(value, aString, subject, path+".lastModified") {
				return
			}
			switch found := timestamps.FindStringSubmatch(value.Decoded()); {
			case found != nil && found[1] != "":
			case isMasked(value):
				v.Skip("the value is masked")
			default:
				v.Violate(subject, path+".lastModified", string(value))
			}
		}),
	},
	{
		ID: "type-16", Class: "client-breaking", In: "A-E", Side: "client", Transport: "any",
		Text: "Params of requests have the right types: cursor is a string, arguments of a tools/call an object, arguments of a prompts/get an object of " +
			"strings. Members without a value are left out, not null.",
		Source: "schema PaginatedRequest, CallToolRequest, GetPromptRequest; observed: servers refuse them",
		Fix:    "Leave members without a value out and convert the arguments of prompts to strings.",
		New: each(func(m *Message, v *Verdict) {
			v.clean(func() {
				params := m.Parameters()
				if lists[m.Method].key != "" {
					v.want(params.Get("cursor"), aString, m.Method, "$.params.cursor")
					return
				}
				arguments := params.Get("arguments")
				if v.want(arguments, anObject, m.Subject(), "$.params.arguments") && m.Method == "prompts/get" {
					for _, value := range arguments.Each {
						v.want(value, aString, m.Subject(), "$.params.arguments.*")
					}
				}
			})
		}, "request tools/list", "request prompts/list", "request resources/list", "request resources/templates/list", "request tools/call", "request prompts/get"),
	},
}

// eachMember calls judge for some members of a definition, and of the arguments of a prompt.
func eachMember(m *Message, d definition, some func(rev jsonrpc.Revision, list string) []string, judge func(path string, value jsonrpc.Value)) {
	for name, value := range d.Members(some(m.Revision, d.list)...) {
		judge(d.path+"."+name, value)
	}
	if d.list != "prompts/list" {
		return
	}
	for _, argument := range d.Get("arguments").Each {
		for name, value := range argument.Members(some(m.Revision, "argument")...) {
			judge(d.path+".arguments[*]."+name, value)
		}
	}
}

// optionalMembers returns the optional members of a definition in a list, or of a prompt argument.
func optionalMembers(rev jsonrpc.Revision, list string) []string {
	members := []string{"description"}
	switch list {
	case "tools/list":
		if rev >= jsonrpc.Rev20250326 {
			members = append(members, "annotations")
		}
		if rev >= jsonrpc.Rev20250618 {
			members = append(members, "outputSchema")
		}
		if rev == jsonrpc.Rev20251125 {
			members = append(members, "execution")
		}
	case "prompts/list":
		members = append(members, "arguments")
	case "resources/list", "resources/templates/list":
		members = append(members, "mimeType", "annotations")
	}
	if rev >= jsonrpc.Rev20250618 {
		members = append(members, "title")
	}
	if rev >= jsonrpc.Rev20251125 && list != "argument" {
		members = append(members, "icons")
	}
	return members
}

// stringMembers returns the members of a definition in a list that must be strings.
func stringMembers(rev jsonrpc.Revision, list string) []string {
	members := []string{"name", "description"}
	if rev >= jsonrpc.Rev20250618 {
		members = append(members, "title")
	}
	switch list {
	case "resources/list":
		members = append(members, "uri", "mimeType")
	case "resources/templates/list":
		members = append(members, "uriTemplate", "mimeType")
	}
	return members
}

// judgeIcons judges type-08.
func judgeIcons(v *Verdict, icons jsonrpc.Value, subject, path string) {
	if !v.wantOptional(icons, anArray, subject, path) {
		return
	}
	for _, icon := range icons.Each {
		if !v.want(icon, anObject, subject, path+"[*]") {
			continue
		}
		v.need(icon.Get("src"), aString, subject, path+"[*].src")
		if sizes := icon.Get("sizes"); v.want(sizes, anArray, subject, path+"[*].sizes") {
			for _, size := range sizes.Each {
				v.want(size, aString, subject, path+"[*].sizes[*]")
			}
		}
		if theme := icon.Get("theme"); theme != nil && theme.Decoded() != "light" && theme.Decoded() != "dark" {
			v.Violate(subject, path+"[*].theme", string(theme))
		}
	}
}

// capabilityTypes judges type-11.
func capabilityTypes(m *Message, v *Verdict) {
	capabilities := m.Member("capabilities")
	if !capabilities.IsObject() {
		return // see feat-25 and neg-07
	}
	known := []string{"tools", "prompts", "resources", "logging", "experimental"}
	if m.Revision >= jsonrpc.Rev20250326 {
		known = append(known, "completions")
	}
	if m.Revision == jsonrpc.Rev20251125 {
		known = append(known, "tasks")
	}
	if m.Revision >= jsonrpc.Rev20260728 {
		known = append(known, "extensions")
	}
	v.clean(func() {
		v.want(m.Member("instructions"), aString, "instructions", "$.result.instructions")
		for name, value := range capabilities.Members(known...) {
			path := "$.result.capabilities." + name
			if !v.want(value, anObject, name, path) {
				continue
			}
			if name == "tools" || name == "prompts" || name == "resources" {
				v.want(value.Get("listChanged"), aBoolean, name, path+".listChanged")
			}
			if name == "resources" {
				v.want(value.Get("subscribe"), aBoolean, name, path+".subscribe")
			}
		}
	})
}

// blockMembers are the required members of content blocks, by type.
var blockMembers = map[string][]struct{ name, class string }{
	"text":          {{"text", aString}},
	"image":         {{"data", aString}, {"mimeType", aString}},
	"audio":         {{"data", aString}, {"mimeType", aString}},
	"resource":      {{"resource", anObject}},
	"resource_link": {{"uri", aString}, {"name", aString}},
	"tool_use":      {{"id", aString}, {"name", aString}, {"input", anObject}},
	"tool_result":   {{"toolUseId", aString}, {"content", anArray}},
}

// eachAnnotations returns New for a rule about the annotations of content, resources and
// templates.
func eachAnnotations(judge func(m *Message, annotations jsonrpc.Value, subject, path string, v *Verdict)) func(*Session) Hooks {
	on := append([]string{"result resources/list", "result resources/templates/list"}, onContent...)
	return each(func(m *Message, v *Verdict) {
		at := func(value jsonrpc.Value, subject, path string) {
			if annotations := value.Get("annotations"); annotations.IsObject() {
				v.clean(func() { judge(m, annotations, subject, path+".annotations", v) })
			}
		}
		if lists[m.about()].key != "" {
			eachIn(m, func(d definition) { at(d.Value, d.name, d.path) })
			return
		}
		for _, b := range m.allBlocks() {
			at(b.Value, m.Subject(), b.path)
		}
	}, on...)
}

// isShare reports whether a number is between 0 and 1.
func isShare(n jsonrpc.Value) bool {
	below, ok := jsontree.CompareNumbers(n, []byte("0"))
	above, _ := jsontree.CompareNumbers(n, []byte("1"))
	return !ok || below >= 0 && above <= 0
}
