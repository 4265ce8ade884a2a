package replay

import (
	"encoding/base64"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// ParamFields has the header fields that repeat the arguments of each tool (2026-07-28
// basic/transports#custom-headers-from-tool-parameters).
type ParamFields map[string][]paramField

type paramField struct {
	name string
	path []string // of the argument
}

// Limits of what header fields repeat: the number of arguments of a tool, and the depth of each.
const (
	maxFields     = 64
	maxFieldDepth = 16
)

// Learn adds the tools of a tools/list result. A tool of the same name is replaced.
func (p ParamFields) Learn(result []byte) {
	jsonrpc.Value(result).Get("tools").Each(func(_ []byte, tool jsonrpc.Value) bool {
		p[tool.Get("name").Decoded()] = annotated(nil, tool.Get("inputSchema"), nil)
		return true
	})
}

// annotated appends the properties of a schema that have an x-mcp-header annotation.
func annotated(to []paramField, schema jsonrpc.Value, path []string) []paramField {
	if len(path) >= maxFieldDepth {
		return to
	}
	schema.Get("properties").Each(func(name []byte, property jsonrpc.Value) bool {
		if len(to) >= maxFields {
			return false
		}
		at := append(slices.Clone(path), string(name))
		if header := property.Get("x-mcp-header").Decoded(); isToken(header) {
			to = append(to, paramField{"Mcp-Param-" + header, at})
		}
		to = annotated(to, property, at)
		return true
	})
	return to
}

// isToken reports whether a text can be part of the name of a field (RFC 9110).
func isToken(s string) bool {
	other := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}
	return s != "" && !strings.ContainsFunc(s, other)
}

// each yields the fields that a tools/call must have, and the arguments that they repeat.
func (p ParamFields) each(params jsonrpc.Value) iter.Seq2[string, jsonrpc.Value] {
	return func(yield func(string, jsonrpc.Value) bool) {
		for _, f := range p[params.Get("name").Decoded()] {
			argument := params.Get("arguments").Get(f.path...)
			if len(argument) > 0 && string(argument) != "null" && !yield(f.name, argument) {
				return
			}
		}
	}
}

// fieldText returns an argument as a field repeats it, before it is encoded.
func fieldText(argument jsonrpc.Value) string {
	var s string
	if argument.Class() == '"' && json.Unmarshal(argument, &s) == nil {
		return s
	}
	return string(argument)
}

// Of returns the names and the encoded values of the fields of a tools/call.
func (p ParamFields) Of(params jsonrpc.Value) (fields [][2]string) {
	for name, argument := range p.each(params) {
		fields = append(fields, [2]string{name, EncodeField(fieldText(argument))})
	}
	return fields
}

// Wrong returns the name of the first field that the head of a tools/call of 2026-07-28 lacks or
// has with another value, "" for none. Numbers are compared by value. It returns "" for other
// messages.
func (p ParamFields) Wrong(h *Head, m *jsonrpc.Message) string {
	if m.Method != "tools/call" || !h.Modern() {
		return ""
	}
	for name, argument := range p.each(m.Params) {
		prefix := strings.ToLower(name) + ": "
		i := slices.IndexFunc(h.Params, func(line string) bool { return strings.HasPrefix(line, prefix) })
		if i < 0 {
			return name
		}
		got, want := DecodeField(h.Params[i][len(prefix):]), fieldText(argument)
		if argument.Class() == '0' {
			if order, ok := jsontree.CompareNumbers([]byte(got), []byte(want)); ok && order == 0 {
				continue
			}
		}
		if got != want {
			return name
		}
	}
	return ""
}

// EncodeField encodes the value of a header field: see [DecodeField].
func EncodeField(s string) string {
	plain := !strings.HasPrefix(s, "=?base64?") && s == strings.TrimSpace(s)
	for i := range len(s) {
		plain = plain && s[i] >= ' ' && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// DecodeField decodes the value of a header field, which is base64-encoded if it cannot be sent
// as it is (2026-07-28 basic/transports#value-encoding).
func DecodeField(value string) string {
	if inner, ok := strings.CutPrefix(value, "=?base64?"); ok && strings.HasSuffix(inner, "?=") {
		if b, err := base64.StdEncoding.DecodeString(inner[:len(inner)-2]); err == nil {
			return string(b)
		}
	}
	return value
}
