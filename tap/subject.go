package tap

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxSubject is the most bytes that [Subject] returns.
const MaxSubject = 512

// Subject says in a few words what a message is about, for one row of a list:
// the tool, prompt or resource of a request, the text of an error, who answers
// an initialize. It is "" where there is nothing to say, and for a message from
// a [Scanner]. Words come from the wire as they are, cut at MaxSubject bytes:
// whoever shows them escapes them. Ids and tokens keep their quotes, so that
// `"1"` and `1` differ. What it returns has no hold on the frame.
func Subject(m Message) string {
	switch m.Kind {
	case Request, Notification:
		return bound(aboutCall(m))
	case ErrorResponse:
		return bound(joined(m.ErrorCode, m.ErrorMessage))
	case Response:
		return bound(aboutResult(m.Result))
	case Batch:
		return bound(aboutBatch(m.Batch))
	}
	return ""
}

// bound cuts s at MaxSubject bytes, between characters where it has any.
func bound(s string) string {
	if len(s) <= MaxSubject {
		return s
	}
	n := MaxSubject
	for n > MaxSubject-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n])
}

func aboutCall(m Message) string {
	params := written(m.Params)
	known, ok := methodIndex[m.Method]
	switch {
	case !ok: // a word of somebody's own: the usual members, if there are any
		return firstOf(params, "name", "uri", "taskId", "id")
	case known.about != nil:
		return known.about(params)
	case known.Param != "":
		return params.get(known.Param).text()
	}
	return ""
}

func aboutBatch(batch []Message) string {
	var b strings.Builder
	for i := range batch {
		if b.Len() > MaxSubject {
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		word := batch[i].Method
		if word == "" {
			word = batch[i].Kind.String()
		}
		b.WriteString(word)
	}
	return b.String()
}

// firstOf is the first of some members that is not empty.
func firstOf(v written, names ...string) string {
	for _, name := range names {
		if s := v.get(name).text(); s != "" {
			return s
		}
	}
	return ""
}

// joined joins what is not empty with spaces.
func joined(parts ...string) string {
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, " ")
}

// plural is a count of things: "1 tool", "2 tools".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// count is how many elements an array has.
func count(v written) (n int) {
	v.each(func(_ []byte, _ written) bool {
		n++
		return true
	})
	return n
}

const metaPrefix = "io.modelcontextprotocol/"

// party is the name and version of an Implementation, as the specification
// calls what clients and servers say of themselves.
func party(v written) string {
	return joined(v.get("name").text(), v.get("version").text())
}

// listed joins two descriptions with a comma.
func listed(parts ...string) string {
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ", ")
}

func aboutInitialize(p written) string {
	return listed(party(p.get("clientInfo")), firstOf(p, "protocolVersion", "mcpVersion"))
}

func aboutDiscover(p written) string {
	meta := p.get("_meta")
	return listed(party(meta.get(metaPrefix+"clientInfo")), meta.get(metaPrefix+"protocolVersion").text())
}

// aboutCancelled takes requestId, or the dialect's id.
func aboutCancelled(p written) string {
	id := p.get("requestId")
	if id == nil {
		id = p.get("id")
	}
	return joined(id.raw(), p.get("reason").text())
}

// aboutProgress takes progressToken, progress and total, or the dialect's id
// and percent.
func aboutProgress(p written) string {
	var token, progress, total, id, percent, message written
	p.each(func(name []byte, v written) bool {
		switch string(name) {
		case "progressToken":
			token = v
		case "progress":
			progress = v
		case "total":
			total = v
		case "id":
			id = v
		case "percent":
			percent = v
		case "message":
			message = v
		}
		return true
	})
	if token != nil {
		amount := progress.raw()
		if total != nil {
			amount += "/" + total.raw()
		}
		return joined(token.raw(), amount, message.text())
	}
	amount := percent.raw()
	if amount != "" {
		amount += "%"
	}
	return joined(id.raw(), amount, message.text())
}

// aboutListen takes the kinds of notification that are asked for or granted.
func aboutListen(p written) string {
	var kinds []string
	p.get("notifications").each(func(name []byte, value written) bool {
		switch {
		case value.isTrue():
			kinds = append(kinds, string(name))
		case value.isArray():
			kinds = append(kinds, string(name)+"="+strings.Join(texts(value), ","))
		}
		return len(kinds) < 16
	})
	return strings.Join(kinds, " ")
}

// texts are the first elements of an array as words.
func texts(array written) (all []string) {
	array.each(func(_ []byte, v written) bool {
		all = append(all, v.text())
		return len(all) < 16
	})
	return all
}

func aboutCompletion(p written) string {
	ref, argument := p.get("ref"), p.get("argument")
	about := firstOf(ref, "name", "uri")
	if name := argument.get("name"); name != nil {
		about = joined(about, name.text()+"="+argument.get("value").text())
	}
	return about
}

func aboutLog(p written) string {
	return joined(p.get("level").text(), p.get("logger").text(), p.get("data").text())
}

// aboutSampling takes the first model asked for and the last thing said.
func aboutSampling(p written) string {
	var hint, said string
	p.get("modelPreferences", "hints").each(func(_ []byte, v written) bool {
		hint = v.get("name").text()
		return false
	})
	p.get("messages").each(func(_ []byte, v written) bool {
		if s := contentText(v.get("content")); s != "" {
			said = s
		}
		return true
	})
	return joined(hint, said)
}

// contentText is the first text in a content block or a list of them.
func contentText(content written) (s string) {
	if content.isObject() {
		return content.get("text").text()
	}
	if content.isArray() {
		content.each(func(_ []byte, block written) bool {
			s = block.get("text").text()
			return s == ""
		})
	}
	return s
}

func aboutElicitation(p written) string {
	return joined(p.get("message").text(), p.get("url").text())
}

func aboutTask(p written) string {
	return joined(p.get("taskId").text(), p.get("status").text(), p.get("statusMessage").text())
}

// aboutChanged takes the names in the dialect's added, removed and updated.
func aboutChanged(p written) string {
	var parts []string
	for _, list := range []string{"added", "removed", "updated"} {
		var names []string
		p.get(list).each(func(_ []byte, v written) bool {
			if v.isObject() {
				v = v.get("name")
			}
			names = append(names, v.text())
			return len(names) < 16
		})
		if len(names) > 0 {
			parts = append(parts, list+" "+strings.Join(names, ","))
		}
	}
	return strings.Join(parts, ", ")
}

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
