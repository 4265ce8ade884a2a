package diff

import (
	"slices"
	"strings"

	"github.com/mcptap/mcptap/internal/jsonpath"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A novelty is a member that came with a revision, and perhaps went with
// another: where only one of two revisions has it, that it is there or not is
// expected.
type novelty struct {
	method string // of the request, "" for any
	path   jsonpath.Pattern
	value  string // as it stands, "" for any
	since  jsonrpc.Revision
	until  jsonrpc.Revision // the first without it, "" for none
	page   string           // without the revision
}

const (
	rev2024  = jsonrpc.Rev20241105
	revMar25 = jsonrpc.Rev20250326
	revJun25 = jsonrpc.Rev20250618
	revNov25 = jsonrpc.Rev20251125
	rev2026  = jsonrpc.Rev20260728
)

// novelties returns what the deltas of the revisions come to on the wire (their
// changelogs and schemas). It is no variable, since mcptap starts faster without.
func novelties() (all []novelty) {
	add := func(since, until jsonrpc.Revision, page, method string, paths ...string) {
		for _, p := range paths {
			path, value, _ := strings.Cut(p, "=")
			all = append(all, novelty{method, jsonpath.Must(path), value, since, until, page})
		}
	}
	// What client and server are able to do.
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

// definitionPaths lead to the definitions in the results of lists.
var definitionPaths = map[string]string{
	"tools/list": "$.result.tools[*]", "prompts/list": "$.result.prompts[*]",
	"resources/list": "$.result.resources[*]", "resources/templates/list": "$.result.resourceTemplates[*]",
}

// known reports whether a revision is one of the specification's.
func known(r jsonrpc.Revision) bool {
	return r >= rev2024 && r != jsonrpc.Dialect && r != jsonrpc.ExtTasks
}

// in reports whether a revision has the novelty.
func (n *novelty) in(r jsonrpc.Revision) bool { return r >= n.since && (n.until == "" || r < n.until) }

// expect makes a finding an expected one if a member is on one side only because
// the revisions differ.
func (e *engine) expect(w *where, f *finding) {
	if e.oneDialect() && w.in == InSession && len(f.path) > 1 && f.path[1].Name == "capabilities" {
		f.class, f.reason = Expected, "the 002 dialect names other capabilities"
		return
	}
	has, lacks, v := e.revB, e.revA, f.b
	if f.kind == Removed {
		has, lacks, v = e.revA, e.revB, f.a
	}
	if has == lacks || !known(has) || !known(lacks) {
		return
	}
	if e.novelties == nil {
		e.novelties = novelties()
	}
	for i := range e.novelties {
		n := &e.novelties[i]
		if !n.in(has) || n.in(lacks) || n.method != "" && n.method != w.method || n.value != "" && n.value != string(v.Raw()) || !n.path.Exactly(f.path) {
			continue
		}
		f.class, f.same = Expected, true
		f.reason, f.page = "it is new in "+string(n.since), string(n.since)+"/"+n.page
		if lacks >= n.since { // it went
			f.reason = "it is gone in " + string(n.until)
			if n.until != "" {
				f.page = string(has) + "/" + n.page
			}
		}
		return
	}
}

// oneDialect reports whether one session speaks the 002 dialect, and the other a
// revision.
func (e *engine) oneDialect() bool {
	return (e.revA == jsonrpc.Dialect) != (e.revB == jsonrpc.Dialect) && e.revA != "" && e.revB != ""
}

// absentIn reports whether a method does not exist in a revision, although it is
// a method of others, and why. Of a revision that nobody here knows, such as one
// that is yet to come, it says nothing.
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

// methodPage is the page of a method in the newest revision that has it.
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
