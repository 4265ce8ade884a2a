package client

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// A headerField is a field that repeats an argument of a tool (2026-07-28
// basic/transports/streamable-http: x-mcp-header).
type headerField struct {
	name string
	path []string // of the argument
}

// learnFields reads from a list of tools which arguments are repeated.
func (p *player) learnFields(result []byte) {
	var list struct {
		Tools []struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	if json.Unmarshal(result, &list) != nil {
		return
	}
	for _, t := range list.Tools {
		p.fields[t.Name] = annotated(nil, t.InputSchema, nil)
	}
}

// maxFieldDepth is how deep in the arguments a field may be.
const maxFieldDepth = 16

// annotated collects the annotated properties of a schema.
func annotated(to []headerField, schema []byte, path []string) []headerField {
	properties, ok := readObject(lookup(schema, "properties"))
	if !ok || len(path) >= maxFieldDepth {
		return to
	}
	for _, property := range properties {
		at := append(append([]string(nil), path...), property.name)
		if name, ok := textOf(lookup(property.value, "x-mcp-header")); ok {
			to = append(to, headerField{"Mcp-Param-" + name, at})
		}
		to = annotated(to, property.value, at)
	}
	return to
}

// headers returns what the header of a request repeats of its params: what it is
// about, and arguments.
func (p *player) headers(method string, params []byte) (name string, fields [][2]string) {
	switch method {
	case "tools/call", "prompts/get":
		name, _ = textOf(lookup(params, "name"))
	case "resources/read":
		name, _ = textOf(lookup(params, "uri"))
	case "tasks/get", "tasks/update", "tasks/cancel":
		name, _ = textOf(lookup(params, "taskId"))
	}
	if method == "tools/call" {
		arguments := lookup(params, "arguments")
		for _, f := range p.fields[name] {
			if value := lookup(arguments, f.path...); len(value) > 0 && string(value) != "null" {
				text, ok := textOf(value)
				if !ok {
					text = string(value)
				}
				fields = append(fields, [2]string{f.name, fieldValue(text)})
			}
		}
	}
	return fieldValue(name), fields
}

// fieldValue is a text as the value of a header field.
func fieldValue(s string) string {
	plain := !strings.HasPrefix(s, "=?base64?") && s == strings.TrimSpace(s)
	for i := 0; i < len(s); i++ {
		plain = plain && s[i] >= ' ' && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// decoded is the text that the value of a header field stands for.
func decoded(value string) string {
	if body, ok := strings.CutPrefix(value, "=?base64?"); ok {
		if text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(body, "?=")); err == nil {
			return string(text)
		}
	}
	return value
}

// texts are the strings of an array.
func texts(raw []byte) (all []string) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	for _, x := range list {
		if s, ok := textOf(x); ok {
			all = append(all, s)
		}
	}
	return all
}
