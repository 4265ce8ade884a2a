package client

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// An object is a JSON object whose members keep their order and their bytes, so
// that what is changed in a recorded message is what has to be and nothing else.
type object []member

// A member is a name, decoded, and its value as it stands.
type member struct {
	name  string
	value []byte
}

// readObject reads an object of a message; ok is false for any other value.
func readObject(raw []byte) (o object, ok bool) {
	v := jsonrpc.Value(raw)
	if !v.IsObject() {
		return nil, false
	}
	v.Each(func(name []byte, value jsonrpc.Value) bool {
		o = append(o, member{string(name), value})
		return true
	})
	return o, true
}

// get returns the value of a member, of two of one name the last, nil for none.
func (o object) get(name string) []byte {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].name == name {
			return o[i].value
		}
	}
	return nil
}

// set puts a value in the place of a member, or behind the others.
func (o object) set(name string, value []byte) object {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].name == name {
			o[i].value = value
			return o
		}
	}
	return append(o, member{name, value})
}

// without returns the object without some members.
func (o object) without(drop func(name string) bool) object {
	return slices.DeleteFunc(o, func(m member) bool { return drop(m.name) })
}

// bytes returns the object as JSON.
func (o object) bytes() []byte {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, quoted(m.name)...)
		out = append(out, ':')
		out = append(out, m.value...)
	}
	return append(out, '}')
}

// textOf decodes a string.
func textOf(raw []byte) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// quoted is a text as a JSON string.
func quoted(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// texts are the strings of an array.
func texts(raw []byte) (all []string) {
	jsonrpc.Value(raw).Each(func(_ []byte, x jsonrpc.Value) bool {
		if s, ok := textOf(x); ok {
			all = append(all, s)
		}
		return true
	})
	return all
}

// lookup returns the value that names lead to from an object of a message on, nil for
// none.
func lookup(raw []byte, names ...string) []byte { return jsonrpc.Value(raw).Get(names...) }
