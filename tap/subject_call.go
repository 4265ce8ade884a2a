package tap

import (
	"strings"

	"github.com/tidwall/gjson"
)

const metaPrefix = "io.modelcontextprotocol/"

// party is the name and version of an Implementation, as the specification
// calls what clients and servers say of themselves.
func party(v gjson.Result) string {
	return joined(text(member(v, "name")), text(member(v, "version")))
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

func aboutInitialize(p gjson.Result) string {
	return listed(party(member(p, "clientInfo")), firstOf(p, "protocolVersion", "mcpVersion"))
}

func aboutDiscover(p gjson.Result) string {
	meta := member(p, "_meta")
	return listed(party(member(meta, metaPrefix+"clientInfo")), text(member(meta, metaPrefix+"protocolVersion")))
}

// aboutCancelled takes requestId, or the dialect's id.
func aboutCancelled(p gjson.Result) string {
	id := member(p, "requestId")
	if !id.Exists() {
		id = member(p, "id")
	}
	return joined(asWritten(id), text(member(p, "reason")))
}

// aboutProgress takes progressToken, progress and total, or the dialect's id
// and percent.
func aboutProgress(p gjson.Result) string {
	if token := member(p, "progressToken"); token.Exists() {
		amount := asWritten(member(p, "progress"))
		if total := member(p, "total"); total.Exists() {
			amount += "/" + asWritten(total)
		}
		return joined(asWritten(token), amount, text(member(p, "message")))
	}
	amount := asWritten(member(p, "percent"))
	if amount != "" {
		amount += "%"
	}
	return joined(asWritten(member(p, "id")), amount, text(member(p, "message")))
}

// aboutListen takes the kinds of notification that are asked for or granted.
func aboutListen(p gjson.Result) string {
	var kinds []string
	member(p, "notifications").ForEach(func(key, value gjson.Result) bool {
		switch {
		case value.Type == gjson.True:
			kinds = append(kinds, key.Str)
		case value.IsArray():
			kinds = append(kinds, key.Str+"="+strings.Join(texts(value), ","))
		}
		return len(kinds) < 16
	})
	return strings.Join(kinds, " ")
}

// texts are the first elements of an array as words.
func texts(array gjson.Result) (all []string) {
	array.ForEach(func(_, v gjson.Result) bool {
		all = append(all, text(v))
		return len(all) < 16
	})
	return all
}

func aboutCompletion(p gjson.Result) string {
	ref, argument := member(p, "ref"), member(p, "argument")
	about := firstOf(ref, "name", "uri")
	if name := member(argument, "name"); name.Exists() {
		about = joined(about, text(name)+"="+text(member(argument, "value")))
	}
	return about
}

func aboutLog(p gjson.Result) string {
	return joined(text(member(p, "level")), text(member(p, "logger")), text(member(p, "data")))
}

// aboutSampling takes the first model asked for and the last thing said.
func aboutSampling(p gjson.Result) string {
	var hint, said string
	at(p, "modelPreferences", "hints").ForEach(func(_, v gjson.Result) bool {
		hint = text(member(v, "name"))
		return false
	})
	member(p, "messages").ForEach(func(_, v gjson.Result) bool {
		if s := contentText(member(v, "content")); s != "" {
			said = s
		}
		return true
	})
	return joined(hint, said)
}

// contentText is the first text in a content block or a list of them.
func contentText(content gjson.Result) (s string) {
	if content.IsObject() {
		return text(member(content, "text"))
	}
	if content.IsArray() {
		content.ForEach(func(_, block gjson.Result) bool {
			s = text(member(block, "text"))
			return s == ""
		})
	}
	return s
}

func aboutElicitation(p gjson.Result) string {
	return joined(text(member(p, "message")), text(member(p, "url")))
}

func aboutTask(p gjson.Result) string {
	return joined(text(member(p, "taskId")), text(member(p, "status")), text(member(p, "statusMessage")))
}

// aboutChanged takes the names in the dialect's added, removed and updated.
func aboutChanged(p gjson.Result) string {
	var parts []string
	for _, list := range []string{"added", "removed", "updated"} {
		var names []string
		member(p, list).ForEach(func(_, v gjson.Result) bool {
			if v.IsObject() {
				v = member(v, "name")
			}
			names = append(names, text(v))
			return len(names) < 16
		})
		if len(names) > 0 {
			parts = append(parts, list+" "+strings.Join(names, ","))
		}
	}
	return strings.Join(parts, ", ")
}
