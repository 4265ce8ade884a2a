package tap

import (
	"strings"

	"github.com/tidwall/gjson"
)

// listMembers are the members of list results and what they hold.
var listMembers = []struct{ member, thing string }{
	{"tools", "tool"}, {"resources", "resource"}, {"resourceTemplates", "resource template"},
	{"prompts", "prompt"}, {"roots", "root"}, {"tasks", "task"},
}

// aboutResult says what a result holds. The method it answers is not known
// here, so it goes by the members.
func aboutResult(r gjson.Result) string {
	if !r.IsObject() {
		return "" // the dialect answers with arrays and null
	}
	switch {
	case member(r, "protocolVersion").Exists():
		return listed(party(member(r, "serverInfo")), text(member(r, "protocolVersion")))
	case member(r, "serverCapabilities").Exists():
		return party(member(r, "server"))
	case member(r, "supportedVersions").Exists():
		return listed(party(at(r, "_meta", metaPrefix+"serverInfo")),
			strings.Join(texts(member(r, "supportedVersions")), ", "))
	case member(r, "inputRequests").IsObject():
		return joined("input required:", listed(inputs(member(r, "inputRequests"))...))
	case member(r, "task").IsObject():
		return aboutTask(member(r, "task"))
	case member(r, "taskId").Exists():
		return aboutTask(r)
	case at(r, "completion", "values").IsArray():
		return listed(texts(at(r, "completion", "values"))...)
	case member(r, "contents").IsArray():
		return firstElement(member(r, "contents"), "uri")
	case member(r, "messages").IsArray():
		return listed(text(member(r, "description")), plural(count(member(r, "messages")), "message"))
	}
	for _, l := range listMembers {
		if v := member(r, l.member); v.IsArray() {
			return plural(count(v), l.thing)
		}
	}
	if action := text(member(r, "action")); action != "" { // elicitation
		return action
	}
	return joined(text(member(r, "status")), contentText(member(r, "content")))
}

// inputs are the methods that a result with inputRequests asks for, each with
// its subject.
func inputs(requests gjson.Result) (all []string) {
	requests.ForEach(func(_, v gjson.Result) bool {
		m := Message{Kind: Request, Method: text(member(v, "method")), Params: []byte(member(v, "params").Raw)}
		all = append(all, joined(m.Method, Subject(m)))
		return len(all) < 8
	})
	return all
}

// firstElement is one member of an array's first element.
func firstElement(array gjson.Result, name string) (s string) {
	array.ForEach(func(_, v gjson.Result) bool {
		s = text(member(v, name))
		return false
	})
	return s
}
