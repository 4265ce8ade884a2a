package jsonrpc

import (
	"strconv"
	"strings"
)

// Preview shows what a message carries beside its [Subject]: the arguments of a
// request as JSON without white space, or what a result holds. Of a result that is its
// structured content, else its first text in quotes, else what Subject says, such as
// "3 tools". Of a notification it is what stands beside the id or the progress token:
// the reason of a cancellation, the amount and the message of progress. It is "" where
// there is nothing to show, as for an error response. Like that of Subject the text is cut
// at MaxSubject bytes and must be escaped where it is shown.
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
		return Bound(holds(m.Result))
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

// arguments shows those of a tool or a prompt, or the params of a method that is not
// known, and the answers that a request brings for a result with inputRequests.
func arguments(m Message) string {
	params := Value(m.Params)
	var args string
	switch m.Method {
	case "tools/call", "prompts/get", "tools/invoke":
		args = shown(params.Get("arguments"))
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

// holds shows a result.
func holds(r Value) string {
	if !r.IsObject() {
		return compact(r)
	}
	x := map[string]Value{}
	r.Each(func(name []byte, v Value) bool {
		switch string(name) {
		case "structuredContent", "output", "status", "inputRequests", "content", "action", "contents":
			x[string(name)] = v
		}
		return true
	})
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

// blocks shows the first of some blocks of content, and how many others there are.
func blocks(list Value) string {
	first, others := "", -1
	list.Each(func(_ []byte, v Value) bool {
		if others++; others == 0 {
			first = block(v)
		}
		return true
	})
	if others > 0 {
		return joined(first, "+"+strconv.Itoa(others)+" more")
	}
	return first
}

// block shows a block of content or the contents of a resource: its text, else what it is.
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

// shown is compact, "" for an empty object.
func shown(v Value) string {
	if s := compact(v); s != "{}" {
		return s
	}
	return ""
}

// without shows an object without some of its members, anything else as compact does.
func without(v Value, names ...string) string {
	if !v.IsObject() {
		return compact(v)
	}
	var b strings.Builder
	b.WriteByte('{')
	v.Each(func(name []byte, value Value) bool {
		for _, n := range names {
			if string(name) == n {
				return true
			}
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + string(name) + `":` + compact(value))
		return b.Len() < textLimit
	})
	if b.Len() < textLimit {
		b.WriteByte('}')
	}
	return b.String()
}

// compact is the beginning of a value without the white space between its tokens, and
// with characters in place of their escapes.
func compact(v Value) string {
	var b []byte
	inString := false
	for i := 0; i < len(v) && len(b) < textLimit; i++ {
		c := v[i]
		switch {
		case inString && c == '\\' && i+1 < len(v) && v[i+1] == 'u':
			n := 6
			for i+n+6 <= len(v) && v[i+n] == '\\' && v[i+n+1] == 'u' && n < textLimit {
				n += 6
			}
			run := clip(v[i:], n)
			if s := unquote(append([]byte{'"'}, run...)); !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
				run = []byte(s)
			}
			b = append(b, run...)
			i += n - 1
			continue
		case inString && c == '\\' && i+1 < len(v):
			b = append(b, c)
			i++
			c = v[i]
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		b = append(b, c)
	}
	return string(b)
}
