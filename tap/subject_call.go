package tap

import "strings"

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
