package jsonrpc

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxSubject is the maximum number of bytes that [Subject] returns.
const MaxSubject = 512

// Subject describes in a few words what a message is about, for one row of a list:
// the tool, prompt or resource of a request, the text of an error, the name of the
// server in an initialize result. It is "" if there is nothing to report. The words are
// those of the message, cut at MaxSubject bytes; escape them before printing. Ids and
// tokens keep their quotes, so that `"1"` and `1` differ. The result does not keep the
// frame in memory.
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

// Bound cuts s at MaxSubject bytes, between two characters.
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

// FirstOf returns the [Value.Text] of the first of the members that is not empty.
func FirstOf(v Value, names ...string) string {
	for _, name := range names {
		if s := v.Get(name).Text(); s != "" {
			return s
		}
	}
	return ""
}

// joined joins the texts that are not empty with spaces, listed with commas.
func joined(parts ...string) string { return strings.Join(nonEmpty(parts), " ") }
func listed(parts ...string) string { return strings.Join(nonEmpty(parts), ", ") }

func nonEmpty(parts []string) []string {
	return slices.DeleteFunc(parts, func(s string) bool { return s == "" })
}

// plural returns a count with its noun: "1 tool", "2 tools".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// count returns the number of elements of an array.
func count(v Value) (n int) {
	for range v.Each {
		n++
	}
	return n
}

// MetaPrefix begins the names of the members of _meta that the protocol defines.
const MetaPrefix = "io.modelcontextprotocol/"

// party returns the name and version of an Implementation, which describes a client or
// a server.
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
	return joined(cmp.Or(id.raw(), noID), p.Get("reason").Text())
}

// aboutProgress takes progressToken, or the dialect's id, and the amount.
func aboutProgress(p Value) string {
	about := p.Get("progressToken")
	if about == nil {
		about = p.Get("id")
	}
	return joined(cmp.Or(about.raw(), noID), amount(p), p.Get("message").Text())
}

// noID stands for a missing id or token.
const noID = "(none)"

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

// aboutListen takes the kinds of notification that are requested or granted.
func aboutListen(p Value) string {
	var kinds []string
	for name, value := range p.Get("notifications").Each {
		switch {
		case len(kinds) == maxListed:
			return strings.Join(kinds, " ")
		case value.IsTrue():
			kinds = append(kinds, string(name))
		case value.IsArray():
			kinds = append(kinds, string(name)+"="+strings.Join(texts(value), ","))
		}
	}
	return strings.Join(kinds, " ")
}

// maxListed is the maximum number of elements of a list that a subject names.
const maxListed = 16

// texts returns the first elements of an array.
func texts(array Value) (all []string) {
	for _, v := range array.Each {
		if all = append(all, v.Text()); len(all) == maxListed {
			break
		}
	}
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
	last := ""
	for _, v := range p.Get("messages").Each {
		last = cmp.Or(contentText(v.Get("content")), last)
	}
	return joined(firstElement(p.Get("modelPreferences", "hints"), "name"), last)
}

// contentText returns the first text in a content block or a list of them.
func contentText(content Value) string {
	if content.IsObject() {
		return content.Get("text").Text()
	}
	for _, block := range content.Each {
		if s := block.Get("text").Text(); s != "" {
			return s
		}
	}
	return ""
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
		for _, v := range p.Get(list).Each {
			if v.IsObject() {
				v = v.Get("name")
			}
			if names = append(names, v.Text()); len(names) == maxListed {
				break
			}
		}
		if len(names) > 0 {
			parts = append(parts, list+" "+strings.Join(names, ","))
		}
	}
	return strings.Join(parts, ", ")
}

// AboutResult describes a result in a few words. It looks only at the members, since the
// method is not known.
func AboutResult(r Value) string {
	if !r.IsObject() {
		return "" // the dialect answers with arrays and null
	}
	x := r.Members(resultNames...)
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
			more := ""
			if x["nextCursor"].Decoded() != "" {
				more = "more pages"
			}
			return listed(plural(count(v), l.thing), more)
		}
	}
	if action := x["action"].Text(); action != "" { // elicitation
		return action
	}
	return joined(x["status"].Text(), contentText(x["content"]))
}

// resultNames are the members by which results are recognized.
var resultNames = []string{
	"protocolVersion", "serverInfo", "serverCapabilities", "server", "supportedVersions", "_meta", "inputRequests", "task", "taskId",
	"completion", "contents", "messages", "description", "action", "status", "content",
	"tools", "resources", "resourceTemplates", "prompts", "roots", "tasks", "nextCursor",
}

// resultLists are the results that are lists, with the names of their elements.
var resultLists = []struct{ name, thing string }{
	{"tools", "tool"}, {"resources", "resource"}, {"resourceTemplates", "resource template"}, {"prompts", "prompt"},
	{"roots", "root"}, {"tasks", "task"},
}

// inputs returns the methods of some inputRequests, each with its subject.
func inputs(requests Value) (all []string) {
	for _, v := range requests.Each {
		m := Message{Kind: Request, Method: v.Get("method").Text(), Params: v.Get("params")}
		if all = append(all, joined(m.Method, Subject(m))); len(all) == 8 {
			break
		}
	}
	return all
}

// firstElement returns a member of an array's first element.
func firstElement(array Value, name string) string {
	for _, v := range array.Each {
		return v.Get(name).Text()
	}
	return ""
}

// Preview returns what a message carries in addition to its [Subject]: for a request, the
// arguments as JSON without white space; for a result, its structured content, else its
// first text in quotes, else the subject, such as "3 tools"; for a cancellation, its reason;
// and for progress, the amount and the message. It is "" if there is nothing to show, as for
// an error response. Like the subject it is cut at MaxSubject bytes and must be escaped
// before printing.
func Preview(m Message) string {
	switch m.Kind {
	case Request:
		return Bound(arguments(m))
	case Notification:
		switch params := Value(m.Params); {
		case IsCancelled(m.Method):
			return Bound(params.Get("reason").Text())
		case IsProgress(m.Method):
			return Bound(joined(amount(params), params.Get("message").Text()))
		}
	case Response:
		return Bound(previewResult(m.Result))
	}
	return ""
}

// IsCancelled reports whether a method is that of a cancellation, in any vocabulary.
func IsCancelled(method string) bool {
	return method == "notifications/cancelled" || method == "cancel"
}

// IsProgress reports whether a method is that of progress, in any vocabulary.
func IsProgress(method string) bool {
	return method == "notifications/progress" || method == "progress"
}

// arguments returns the arguments of a tool or a prompt, or the params of an unknown method,
// and the inputResponses.
func arguments(m Message) string {
	params := Value(m.Params)
	var args string
	switch m.Method {
	case "tools/call", "prompts/get", "tools/invoke":
		if args = compact(params.Get("arguments")); args == "{}" {
			args = ""
		}
	default:
		if _, known := methodIndex[m.Method]; !known {
			args = without(params, "_meta")
		}
	}
	if answers := params.Get("inputResponses"); answers != nil {
		args = joined(args, "inputResponses "+compact(answers))
	}
	return args
}

func previewResult(r Value) string {
	if !r.IsObject() {
		return compact(r)
	}
	x := r.Members("structuredContent", "output", "status", "inputRequests", "content", "action", "contents")
	switch content := x["content"]; {
	case x["structuredContent"] != nil:
		return compact(x["structuredContent"])
	case x["output"] != nil: // of the dialect
		return joined(x["status"].Text(), compact(x["output"]))
	case x["inputRequests"] != nil:
	case content.IsArray():
		return blocks(content)
	case content.IsObject() && x["action"] != nil:
		return joined(x["action"].Text(), compact(content))
	case content.IsObject():
		return block(content)
	case x["contents"].IsArray():
		return blocks(x["contents"])
	}
	if s := AboutResult(r); s != "" {
		return s
	}
	return without(r, "_meta", "resultType")
}

// blocks returns the first of some blocks of content, and how many others there are.
func blocks(list Value) string {
	for _, first := range list.Each {
		if n := count(list); n > 1 {
			return joined(block(first), "+"+strconv.Itoa(n-1)+" more")
		}
		return block(first)
	}
	return ""
}

// block returns the text of a block of content or of a resource, or else its type.
func block(v Value) string {
	if !v.IsObject() {
		return compact(v)
	}
	if text := v.Get("text"); text.Class() == '"' {
		return `"` + strings.Join(strings.Fields(text.Decoded()), " ") + `"`
	}
	if inside := v.Get("resource"); inside.IsObject() {
		return joined("resource", inside.Get("uri").Text())
	}
	kind := v.Get("type").Text()
	for _, name := range []string{"data", "blob"} {
		if data := v.Get(name); data.Class() == '"' {
			kind = joined(FirstOf(v, "mimeType", "type"), strconv.Itoa(max(len(data)-2, 0)/4*3), "bytes")
		}
	}
	return joined(kind, FirstOf(v, "uri", "name"))
}

// without is like compact, but leaves out some members of an object.
func without(v Value, names ...string) string {
	if !v.IsObject() {
		return compact(v)
	}
	var b strings.Builder
	b.WriteByte('{')
	for name, value := range v.Each {
		if slices.Contains(names, string(name)) {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + string(name) + `":` + compact(value))
		if b.Len() >= textLimit {
			return b.String()
		}
	}
	return b.String() + "}"
}

// compact returns the beginning of a value without the white space between its tokens,
// and with characters in place of their \u escapes.
func compact(v Value) string {
	var b []byte
	inString := false
	for i := 0; i < len(v) && len(b) < textLimit; i++ {
		c := v[i]
		switch {
		case inString && c == '\\' && i+1 < len(v):
			r, n := Unescape(v[i:])
			if n > 2 && r >= ' ' && r != '"' && r != '\\' {
				b = utf8.AppendRune(b, r)
			} else {
				b = append(b, v[i:i+max(n, 2)]...)
			}
			i += max(n, 2) - 1
			continue
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		b = append(b, c)
	}
	return string(b)
}
