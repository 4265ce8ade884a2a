package diff

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/internal/jsonpath"
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

const metaPrefix = "io.modelcontextprotocol/"

// neverMeta are the members of _meta whose values are not compared.
var neverMeta = map[string]bool{
	"progressToken": true, "traceparent": true, "tracestate": true, "baggage": true,
	metaPrefix + "subscriptionId": true, metaPrefix + "related-task": true,
}

// usualMeta are the members of _meta that a side repeats in each message. They are compared only
// if they differ from their first value in the session.
var usualMeta = map[string]bool{
	metaPrefix + "protocolVersion": true, metaPrefix + "clientInfo": true, metaPrefix + "clientCapabilities": true, metaPrefix + "serverInfo": true,
}

// neverMember reports whether the value of a member of params, a result or an error is never
// compared.
func neverMember(p part, method, name string) bool {
	switch name {
	case "progressToken":
		return p == params && method == "notifications/progress"
	case "requestId":
		return p == params && method == "notifications/cancelled"
	case "id": // of the 002 dialect
		return p == params && (method == "progress" || method == "cancel")
	case "cursor":
		return p == params && strings.HasSuffix(method, "/list")
	case "requestState":
		return p == params || p == result
	case "inputResponses":
		return p == params
	case "elicitationId":
		return p == params && strings.Contains(method, "elicitation")
	case "taskId", "createdAt", "lastUpdatedAt":
		return strings.Contains(method, "tasks")
	}
	return false
}

// A rule applies to a member that is on one side only. If since is set, the member is new in that
// revision, so its absence is expected in an older one. Otherwise the value is the default, and
// its absence is ignored.
type rule struct {
	method string // the method of the request, "" for any
	path   jsonpath.Pattern
	value  string // the JSON text, "" for any
	since  jsonrpc.Revision
	until  jsonrpc.Revision // the first revision without the member, "" for none
	page   string           // the page of the specification, without the revision
}

const (
	rev2024  = jsonrpc.Rev20241105
	revMar25 = jsonrpc.Rev20250326
	revJun25 = jsonrpc.Rev20250618
	revNov25 = jsonrpc.Rev20251125
	rev2026  = jsonrpc.Rev20260728
)

// rules returns rules for the documented defaults, except that of resultType, which 2026-07-28
// requires, and for the members that are new in a revision (see the changelogs and schemas). It
// is a function, not a variable, to keep the program's startup fast.
func rules() (all []rule) {
	add := func(since, until jsonrpc.Revision, page, method string, paths ...string) {
		for _, p := range paths {
			path, value, _ := strings.Cut(p, "=")
			all = append(all, rule{method, jsonpath.Must(path), value, since, until, page})
		}
	}
	// Defaults.
	add("", "", "", "tools/call", "$.result.isError=false")
	add("", "", "", "elicitation/create", `$.params.mode="form"`)
	add("", "", "", "tools/list", "$.result.tools[*].annotations.readOnlyHint=false", "$.result.tools[*].annotations.destructiveHint=true",
		"$.result.tools[*].annotations.idempotentHint=false", "$.result.tools[*].annotations.openWorldHint=true",
		`$.result.tools[*].execution.taskSupport="forbidden"`)
	add("", "", "", "prompts/list", "$.result.prompts[*].arguments[*].required=false")
	// Capabilities.
	add(revMar25, "", "server/utilities/completion", "", "$.server.capabilities.completions")
	add(revJun25, "", "client/elicitation", "", "$.client.capabilities.elicitation")
	add(revNov25, "", "client/elicitation", "", "$.client.capabilities.elicitation.*")
	add(revNov25, "", "client/sampling", "", "$.client.capabilities.sampling.*")
	add(revNov25, rev2026, "basic/utilities/tasks", "", "$.server.capabilities.tasks", "$.client.capabilities.tasks")
	add(rev2024, rev2026, "client/roots", "", "$.client.capabilities.roots.listChanged")
	add(rev2026, "", "basic/versioning#extension-negotiation", "", "$.server.capabilities.extensions", "$.client.capabilities.extensions")
	add(rev2026, "", "server/discover", "", "$.server.supportedVersions")
	add(revJun25, "", "basic/lifecycle", "", "$.server.info.title", "$.client.info.title")
	add(revNov25, "", "basic/index#icons", "", "$.server.info.icons", "$.client.info.icons")
	add(revNov25, "", "basic/lifecycle", "", "$.server.info.description", "$.client.info.description", "$.server.info.websiteUrl", "$.client.info.websiteUrl")
	// Definitions.
	for list, path := range definitionPaths {
		page := "server/" + strings.TrimSuffix(strings.TrimSuffix(list, "/list"), "/templates")
		add(revJun25, "", page, list, path+".title", path+"._meta")
		add(revNov25, "", "basic/index#icons", list, path+".icons")
	}
	add(revMar25, "", "server/tools", "tools/list", "$.result.tools[*].annotations.*")
	add(revJun25, "", "server/tools#output-schema", "tools/list", "$.result.tools[*].outputSchema")
	add(revNov25, rev2026, "basic/utilities/tasks", "tools/list", "$.result.tools[*].execution.*")
	add(revJun25, "", "server/prompts", "prompts/list", "$.result.prompts[*].arguments[*].title")
	add(rev2026, "", "server/tools#x-mcp-header", "tools/list", "$.result.tools[*].inputSchema..x-mcp-header")
	// Results.
	add(revJun25, "", "server/tools#structured-content", "tools/call", "$.result.structuredContent")
	add(rev2026, "", "basic/index#resulttype", "", `$.result.resultType="complete"`)
	add(rev2026, "", "server/utilities/caching", "", "$.result.ttlMs", "$.result.cacheScope")
	add(revJun25, "", "server/resources#annotations", "", "$.result..annotations.lastModified")
	add(revJun25, "", "basic/index#_meta", "", "$.result.content[*]._meta", "$.result.contents[*]._meta", "$.result.messages[*].content._meta")
	// Requests and notifications.
	add(revMar25, "", "basic/utilities/progress", "notifications/progress", "$.params.message")
	add(revJun25, "", "server/utilities/completion", "completion/complete", "$.params.context")
	add(revNov25, "", "client/elicitation", "elicitation/create", "$.params.mode")
	add(revNov25, "", "client/sampling", "sampling/createMessage", "$.params.tools", "$.params.toolChoice")
	add(revNov25, rev2026, "basic/utilities/tasks", "", "$.params.task")
	add(rev2026, "", "server/utilities/logging", "", `$.params._meta["io.modelcontextprotocol/logLevel"]`)
	return all
}

// definitionPaths are the paths of the definitions in list results.
var definitionPaths = map[string]string{
	"tools/list": "$.result.tools[*]", "prompts/list": "$.result.prompts[*]",
	"resources/list": "$.result.resources[*]", "resources/templates/list": "$.result.resourceTemplates[*]",
}

// known reports whether r is a revision of the specification.
func known(r jsonrpc.Revision) bool {
	return r >= rev2024 && r != jsonrpc.Dialect && r != jsonrpc.ExtTasks
}

// in reports whether the member exists in a revision.
func (r *rule) in(v jsonrpc.Revision) bool { return v >= r.since && (r.until == "" || v < r.until) }

// expect applies the rules to a member that is on one side only. It reports whether the member
// must be ignored.
func (e *engine) expect(w *where, f *finding) bool {
	if e.oneDialect() && w.in == InSession && len(f.path) > 1 && f.path[1].Name == "capabilities" {
		f.class, f.reason = Expected, "the 002 dialect has other capabilities"
		return false
	}
	has, lacks, v := e.revB, e.revA, f.b
	if f.kind == Removed {
		has, lacks, v = e.revA, e.revB, f.a
	}
	if e.rules == nil {
		e.rules = rules()
	}
	differ := has != lacks && known(has) && known(lacks)
	for i := range e.rules {
		switch r := &e.rules[i]; {
		case r.since != "" && (!differ || !r.in(has) || r.in(lacks)):
		case r.method != "" && r.method != w.method || r.value != "" && r.value != string(v.Raw()) || !r.path.Exactly(f.path):
		case r.since == "":
			return true
		default:
			f.class, f.same = Expected, true
			f.reason, f.page = "new in "+string(r.since), string(r.since)+"/"+r.page
			if lacks >= r.since { // it was removed
				f.reason = "removed in " + string(r.until)
				if r.until != "" {
					f.page = string(has) + "/" + r.page
				}
			}
			return false
		}
	}
	return false
}

// classify sets the class of a difference if that is not Behaviour.
func (e *engine) classify(w *where, f *finding) {
	switch {
	case f.kind == Changed && e.samePseudonyms(f.a, f.b):
		f.class, f.same = Cosmetic, true
		f.reason = "each recording has its own pseudonyms"
	case w.part == fault:
		e.errorMember(w, f)
	case isEmpty(w, f):
		f.class, f.reason = Cosmetic, "an empty object means the same as an absent one"
	case w.of == ofGreeting:
		classifyGreeting(f)
	case w.of == ofDefinition:
		classifyDefinition(f)
	}
}

// samePseudonyms reports whether two texts differ only in the pseudonyms with which the HTTP tap
// and mcptap redact replace secrets.
func (e *engine) samePseudonyms(a, b jsontree.Value) bool {
	if a.Kind() != jsontree.String || b.Kind() != jsontree.String {
		return false
	}
	if e.pseudonym == nil {
		e.pseudonym = regexp.MustCompile(`\b(?:masked:|redacted-)[0-9a-f]{12}\b`)
	}
	x, y := e.pseudonym.ReplaceAllLiteralString(a.Text(), "\x00"), e.pseudonym.ReplaceAllLiteralString(b.Text(), "\x00")
	return x == y && x != a.Text()
}

// isEmpty reports whether params, or the arguments in them, are an empty object on one side
// and absent on the other.
func isEmpty(w *where, f *finding) bool {
	v := f.a
	if f.kind == Added {
		v = f.b
	}
	return w.part == params && (f.kind == Added || f.kind == Removed) && v.Kind() == jsontree.Object && v.Len() == 0 &&
		(len(f.path) == 1 || len(f.path) == 2 && f.path[1].Name == "arguments")
}

// errorMember classifies a change in an error: the code matters, the message does not.
func (e *engine) errorMember(w *where, f *finding) {
	if len(f.path) < 2 {
		return
	}
	switch f.path[1].Name {
	case "message":
		if f.kind == Changed {
			f.class, f.reason = Cosmetic, "the error code matters, not the message"
		}
	case "code":
		if e.missingResource(w, f) {
			f.expected("a missing resource is -32602 in 2026-07-28", "2026-07-28/basic/index#error-codes")
		}
	}
}

// missingResource reports whether two codes are those for a missing resource before and since
// 2026-07-28.
func (e *engine) missingResource(w *where, f *finding) bool {
	old, new, revOld, revNew := string(f.a.Raw()), string(f.b.Raw()), e.revA, e.revB
	if old == "-32602" {
		old, new, revOld, revNew = new, old, revNew, revOld
	}
	return w.method == "resources/read" && old == "-32002" && new == "-32602" &&
		known(revOld) && known(revNew) && revOld < rev2026 && revNew >= rev2026
}

// classifyGreeting classifies a change in the description of a client or a server.
func classifyGreeting(f *finding) {
	who, what, last := f.path[0].Name, f.path[1].Name, f.path[len(f.path)-1].Name
	switch {
	case what == "info" && (last != "name" || who == "client"):
		f.class = Cosmetic
		if last == "version" {
			f.what = "the " + who + " has another version"
		}
	case what == "instructions":
		f.reason = "models read this text"
	case who == "server" && (f.kind == Removed || f.kind == Changed && f.a.True()):
		f.class, f.what = Breaking, "the server no longer supports it"
	}
}

// classifyDefinition classifies a change in a definition.
func classifyDefinition(f *finding) {
	last := f.path[len(f.path)-1].Name
	switch {
	case onPath(f.path, "title"), onPath(f.path, "icons"):
		f.class, f.reason = Cosmetic, "only shown to people"
	case last == "description":
		f.reason = "models read this text"
	case last == "outputSchema" && f.kind == Removed:
		f.class, f.what = Breaking, "results no longer have a schema"
	case last == "taskSupport":
		if before, after := taskSupport(f.a), taskSupport(f.b); after == "required" || before != after && after == "forbidden" {
			f.class, f.what = Breaking, "calls with or without a task are now refused"
		}
	case last == "required" && f.b.True():
		f.class, f.what = Breaking, "the argument is now required"
	}
}

// taskSupport returns the value of a taskSupport member, or its default (2025-11-25 server/tools).
func taskSupport(v jsontree.Value) string {
	if s := v.Text(); s != "" {
		return s
	}
	return "forbidden"
}

// onPath reports whether a path has a step to the named member.
func onPath(path jsontree.Path, name string) bool {
	for _, s := range path {
		if s.Kind == jsontree.Member && s.Name == name {
			return true
		}
	}
	return false
}

// oneDialect reports whether one session uses the 002 dialect and the other a revision.
func (e *engine) oneDialect() bool {
	return (e.revA == jsonrpc.Dialect) != (e.revB == jsonrpc.Dialect) && e.revA != "" && e.revB != ""
}

// absentIn reports whether a known method does not exist in a revision, and why. It returns false
// for an unknown revision, such as a later one.
func absentIn(method string, r jsonrpc.Revision) (reason, page string, ok bool) {
	m, known1 := jsonrpc.LookupMethod(method)
	if !known1 || !slices.Contains(jsonrpc.Revisions, r) {
		return "", "", false
	}
	if m.In(r) || r >= rev2026 && m.In(jsonrpc.ExtTasks) {
		return "", "", false
	}
	if r == jsonrpc.Dialect || m.In(jsonrpc.Dialect) && !m.In(rev2024) {
		return "the 002 dialect has other methods", "", true
	}
	return "there is no " + method + " in " + string(r), methodPage(method, m), true
}

// methodPage returns the page for a method in the newest revision that has it.
func methodPage(method string, m jsonrpc.Method) string {
	at := ""
	for _, r := range []jsonrpc.Revision{rev2024, revMar25, revJun25, revNov25, rev2026} {
		if m.In(r) {
			at = string(r)
		}
	}
	if at == "" {
		return ""
	}
	for _, p := range methodPages {
		if strings.Contains(method, p.part) {
			if p.part == "progress" && at == string(rev2026) || p.part == "cancelled" && at == string(rev2026) {
				return at + "/basic/patterns/" + p.page[strings.LastIndexByte(p.page, '/')+1:]
			}
			return at + "/" + p.page
		}
	}
	return at
}

var methodPages = []struct{ part, page string }{
	{"initialize", "basic/lifecycle"}, {"discover", "server/discover"}, {"ping", "basic/utilities/ping"},
	{"cancelled", "basic/utilities/cancellation"}, {"progress", "basic/utilities/progress"},
	{"subscriptions/", "basic/patterns/subscriptions"}, {"tasks", "basic/utilities/tasks"},
	{"tools/", "server/tools"}, {"resources/", "server/resources"}, {"prompts/", "server/prompts"},
	{"completion/", "server/utilities/completion"}, {"logging/", "server/utilities/logging"},
	{"notifications/message", "server/utilities/logging"}, {"sampling/", "client/sampling"},
	{"roots", "client/roots"}, {"elicitation", "client/elicitation"},
}
