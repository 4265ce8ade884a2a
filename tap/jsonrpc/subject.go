package jsonrpc

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxSubject is the most bytes that [Subject] returns.
const MaxSubject = 512

// Subject describes in a few words what a message is about, for one row of a list:
// the tool, prompt or resource of a request, the text of an error, the name of the
// server in an initialize result. It is "" where there is nothing to report. Words come
// from the wire as they are, cut at MaxSubject bytes: they must be escaped where they
// are shown. Ids and tokens keep their quotes, so that `"1"` and `1` differ. The
// result does not keep the frame in memory.
func Subject(m Message) string {
	switch m.Kind {
	case Request, Notification:
		return Bound(aboutCall(m))
	case ErrorResponse:
		return Bound(joined(m.ErrorCode, m.ErrorMessage))
	case Response:
		return Bound(AboutResult(m.Result))
	case Batch:
		return Bound(aboutBatch(m.Batch))
	}
	return ""
}

// Bound cuts s at MaxSubject bytes, between characters where it has any.
func Bound(s string) string {
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
	params := Value(m.Params)
	known, ok := methodIndex[m.Method]
	switch {
	case !ok: // a custom method: the usual members, if there are any
		return FirstOf(params, "name", "uri", "taskId", "id")
	case known.about != nil:
		return known.about(params)
	case known.Param != "":
		return params.Get(known.Param).Text()
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

// FirstOf returns the first of some members that is not empty, as [Value.Text] does.
func FirstOf(v Value, names ...string) string {
	for _, name := range names {
		if s := v.Get(name).Text(); s != "" {
			return s
		}
	}
	return ""
}

// joined joins what is not empty with spaces, listed with commas.
func joined(parts ...string) string { return strings.Join(nonEmpty(parts), " ") }
func listed(parts ...string) string { return strings.Join(nonEmpty(parts), ", ") }

func nonEmpty(parts []string) []string {
	return slices.DeleteFunc(parts, func(s string) bool { return s == "" })
}

// plural is a count of things: "1 tool", "2 tools".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// count is how many elements an array has.
func count(v Value) (n int) {
	v.Each(func(_ []byte, _ Value) bool {
		n++
		return true
	})
	return n
}

// MetaPrefix begins the names of the members of _meta that the protocol defines.
const MetaPrefix = "io.modelcontextprotocol/"

// party is the name and version of an Implementation: the specification's name for
// the description of a client or a server.
func party(v Value) string {
	return joined(v.Get("name").Text(), v.Get("version").Text())
}

func aboutInitialize(p Value) string {
	return listed(party(p.Get("clientInfo")), FirstOf(p, "protocolVersion", "mcpVersion"))
}

func aboutDiscover(p Value) string {
	meta := p.Get("_meta")
	return listed(party(meta.Get(MetaPrefix+"clientInfo")), meta.Get(MetaPrefix+"protocolVersion").Text())
}

// aboutCancelled takes requestId, or the dialect's id.
func aboutCancelled(p Value) string {
	id := p.Get("requestId")
	if id == nil {
		id = p.Get("id")
	}
	return joined(id.raw(), p.Get("reason").Text())
}

// aboutProgress takes progressToken, or the dialect's id, and the amount.
func aboutProgress(p Value) string {
	about := p.Get("progressToken")
	if about == nil {
		about = p.Get("id")
	}
	return joined(about.raw(), amount(p), p.Get("message").Text())
}

// amount is progress and total, or the dialect's percent.
func amount(p Value) string {
	if p.Get("progressToken") == nil {
		if percent := p.Get("percent").raw(); percent != "" {
			return percent + "%"
		}
		return ""
	}
	done := p.Get("progress").raw()
	if total := p.Get("total"); total != nil {
		done += "/" + total.raw()
	}
	return done
}

// aboutListen takes the kinds of notification that are asked for or granted.
func aboutListen(p Value) string {
	var kinds []string
	p.Get("notifications").Each(func(name []byte, value Value) bool {
		switch {
		case value.IsTrue():
			kinds = append(kinds, string(name))
		case value.IsArray():
			kinds = append(kinds, string(name)+"="+strings.Join(texts(value), ","))
		}
		return len(kinds) < 16
	})
	return strings.Join(kinds, " ")
}

// texts are the first elements of an array as words.
func texts(array Value) (all []string) {
	array.Each(func(_ []byte, v Value) bool {
		all = append(all, v.Text())
		return len(all) < 16
	})
	return all
}

func aboutCompletion(p Value) string {
	ref, argument := p.Get("ref"), p.Get("argument")
	about := FirstOf(ref, "name", "uri")
	if name := argument.Get("name"); name != nil {
		about = joined(about, name.Text()+"="+argument.Get("value").Text())
	}
	return about
}

func aboutLog(p Value) string {
	return joined(p.Get("level").Text(), p.Get("logger").Text(), p.Get("data").Text())
}

// aboutSampling takes the first model hint and the text of the last message.
func aboutSampling(p Value) string {
	var hint, said string
	p.Get("modelPreferences", "hints").Each(func(_ []byte, v Value) bool {
		hint = v.Get("name").Text()
		return false
	})
	p.Get("messages").Each(func(_ []byte, v Value) bool {
		if s := contentText(v.Get("content")); s != "" {
			said = s
		}
		return true
	})
	return joined(hint, said)
}

// contentText is the first text in a content block or a list of them.
func contentText(content Value) (s string) {
	if content.IsObject() {
		return content.Get("text").Text()
	}
	if content.IsArray() {
		content.Each(func(_ []byte, block Value) bool {
			s = block.Get("text").Text()
			return s == ""
		})
	}
	return s
}

func aboutElicitation(p Value) string {
	return joined(p.Get("message").Text(), p.Get("url").Text())
}

func aboutTask(p Value) string {
	return joined(p.Get("taskId").Text(), p.Get("status").Text(), p.Get("statusMessage").Text())
}

// aboutChanged takes the names in the dialect's added, removed and updated.
func aboutChanged(p Value) string {
	var parts []string
	for _, list := range []string{"added", "removed", "updated"} {
		var names []string
		p.Get(list).Each(func(_ []byte, v Value) bool {
			if v.IsObject() {
				v = v.Get("name")
			}
			names = append(names, v.Text())
			return len(names) < 16
		})
		if len(names) > 0 {
			parts = append(parts, list+" "+strings.Join(names, ","))
		}
	}
	return strings.Join(parts, ", ")
}

// AboutResult describes a result in a few words. The method that it answers is not
// known here, so it goes by the members.
func AboutResult(r Value) string {
	if !r.IsObject() {
		return "" // the dialect answers with arrays and null
	}
	x := map[string]Value{}
	r.Each(func(name []byte, v Value) bool {
		if slices.Contains(resultNames, string(name)) {
			x[string(name)] = v
		}
		return true
	})
	switch {
	case x["protocolVersion"] != nil:
		return listed(party(x["serverInfo"]), x["protocolVersion"].Text())
	case x["serverCapabilities"] != nil:
		return party(x["server"])
	case x["supportedVersions"] != nil:
		return listed(party(x["_meta"].Get(MetaPrefix+"serverInfo")), strings.Join(texts(x["supportedVersions"]), ", "))
	case x["inputRequests"].IsObject():
		return joined("input required:", listed(inputs(x["inputRequests"])...))
	case x["task"].IsObject():
		return aboutTask(x["task"])
	case x["taskId"] != nil:
		return aboutTask(r)
	case x["completion"].Get("values").IsArray():
		return listed(texts(x["completion"].Get("values"))...)
	case x["contents"].IsArray():
		return firstElement(x["contents"], "uri")
	case x["messages"].IsArray():
		return listed(x["description"].Text(), plural(count(x["messages"]), "message"))
	}
	for _, l := range resultLists {
		if v := x[l.name]; v.IsArray() {
			return plural(count(v), l.thing)
		}
	}
	if action := x["action"].Text(); action != "" { // elicitation
		return action
	}
	return joined(x["status"].Text(), contentText(x["content"]))
}

// resultNames are the members by which a result is known.
var resultNames = []string{
	"protocolVersion", "serverInfo", "serverCapabilities", "server", "supportedVersions", "_meta", "inputRequests", "task", "taskId",
	"completion", "contents", "messages", "description", "action", "status", "content",
	"tools", "resources", "resourceTemplates", "prompts", "roots", "tasks",
}

// resultLists are the results that are lists, with what they hold.
var resultLists = []struct{ name, thing string }{
	{"tools", "tool"}, {"resources", "resource"}, {"resourceTemplates", "resource template"}, {"prompts", "prompt"},
	{"roots", "root"}, {"tasks", "task"},
}

// inputs are the methods that a result with inputRequests asks for, each with
// its subject.
func inputs(requests Value) (all []string) {
	requests.Each(func(_ []byte, v Value) bool {
		m := Message{Kind: Request, Method: v.Get("method").Text(), Params: v.Get("params")}
		all = append(all, joined(m.Method, Subject(m)))
		return len(all) < 8
	})
	return all
}

// firstElement is one member of an array's first element.
func firstElement(array Value, name string) (s string) {
	array.Each(func(_ []byte, v Value) bool {
		s = v.Get(name).Text()
		return false
	})
	return s
}
