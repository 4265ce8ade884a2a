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
