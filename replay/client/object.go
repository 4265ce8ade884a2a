package client

import (
	"bytes"
	"encoding/json"
	"slices"
)

// An object is a JSON object whose members keep their order and their bytes, so
// that what is changed in a recorded message is what has to be and nothing else.
type object []member

// A member is a name, decoded, and its value as it stands.
type member struct {
	name  string
	value json.RawMessage
}

// readObject reads an object; ok is false for any other value, and for what is no
// JSON.
func readObject(raw []byte) (o object, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		var m member
		m.name, _ = name.(string)
		if err := d.Decode(&m.value); err != nil {
			return nil, false
		}
		o = append(o, m)
	}
	return o, true
}

// get returns the value of a member, of two of one name the last, nil for none.
func (o object) get(name string) json.RawMessage {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].name == name {
			return o[i].value
		}
	}
	return nil
}

// text returns a member that is a string, decoded.
func (o object) text(name string) (string, bool) { return textOf(o.get(name)) }

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

// lookup returns the value that names lead to from an object on, nil for none.
func lookup(raw []byte, names ...string) []byte {
	for _, name := range names {
		o, ok := readObject(raw)
		if !ok {
			return nil
		}
		raw = o.get(name)
	}
	return raw
}

// edit returns the object raw with the value at a path replaced, as far as the path
// leads somewhere.
func edit(raw []byte, value []byte, names ...string) []byte {
	if len(names) == 0 {
		return value
	}
	o, ok := readObject(raw)
	if !ok {
		return raw
	}
	inner := o.get(names[0])
	if inner == nil && len(names) > 1 {
		return raw
	}
	return o.set(names[0], edit(inner, value, names[1:]...)).bytes()
}
