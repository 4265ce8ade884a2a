package tap

import "strings"

// aboutResult says what a result holds. The method it answers is not known
// here, so it goes by the members.
func aboutResult(r written) string {
	if !r.isObject() {
		return "" // the dialect answers with arrays and null
	}
	var x resultMembers
	r.each(func(name []byte, v written) bool {
		if to := x.member(name); to != nil {
			*to = v
		}
		return true
	})
	switch {
	case x.protocolVersion != nil:
		return listed(party(x.serverInfo), x.protocolVersion.text())
	case x.serverCapabilities != nil:
		return party(x.server)
	case x.supportedVersions != nil:
		return listed(party(x.meta.get(metaPrefix+"serverInfo")), strings.Join(texts(x.supportedVersions), ", "))
	case x.inputRequests.isObject():
		return joined("input required:", listed(inputs(x.inputRequests)...))
	case x.task.isObject():
		return aboutTask(x.task)
	case x.taskID != nil:
		return aboutTask(r)
	case x.completion.get("values").isArray():
		return listed(texts(x.completion.get("values"))...)
	case x.contents.isArray():
		return firstElement(x.contents, "uri")
	case x.messages.isArray():
		return listed(x.description.text(), plural(count(x.messages), "message"))
	}
	for i, v := range x.lists {
		if v.isArray() {
			return plural(count(v), listedThings[i])
		}
	}
	if action := x.action.text(); action != "" { // elicitation
		return action
	}
	return joined(x.status.text(), contentText(x.content))
}

// resultMembers are the members of a result that tell what it is.
type resultMembers struct {
	protocolVersion, serverInfo, serverCapabilities, server written
	supportedVersions, meta, inputRequests, task, taskID    written
	completion, contents, messages, description             written
	action, status, content                                 written
	lists                                                   [len(listedThings)]written
}

// listedThings are what the lists hold.
var listedThings = [...]string{"tool", "resource", "resource template", "prompt", "root", "task"}

// member finds where a member belongs; nil for one that tells nothing.
func (x *resultMembers) member(name []byte) *written {
	switch string(name) {
	case "protocolVersion":
		return &x.protocolVersion
	case "serverInfo":
		return &x.serverInfo
	case "serverCapabilities":
		return &x.serverCapabilities
	case "server":
		return &x.server
	case "supportedVersions":
		return &x.supportedVersions
	case "_meta":
		return &x.meta
	case "inputRequests":
		return &x.inputRequests
	case "task":
		return &x.task
	case "taskId":
		return &x.taskID
	case "completion":
		return &x.completion
	case "contents":
		return &x.contents
	case "messages":
		return &x.messages
	case "description":
		return &x.description
	case "action":
		return &x.action
	case "status":
		return &x.status
	case "content":
		return &x.content
	case "tools":
		return &x.lists[0]
	case "resources":
		return &x.lists[1]
	case "resourceTemplates":
		return &x.lists[2]
	case "prompts":
		return &x.lists[3]
	case "roots":
		return &x.lists[4]
	case "tasks":
		return &x.lists[5]
	}
	return nil
}

// inputs are the methods that a result with inputRequests asks for, each with
// its subject.
func inputs(requests written) (all []string) {
	requests.each(func(_ []byte, v written) bool {
		m := Message{Kind: Request, Method: v.get("method").text(), Params: v.get("params")}
		all = append(all, joined(m.Method, Subject(m)))
		return len(all) < 8
	})
	return all
}

// firstElement is one member of an array's first element.
func firstElement(array written, name string) (s string) {
	array.each(func(_ []byte, v written) bool {
		s = v.get(name).text()
		return false
	})
	return s
}
