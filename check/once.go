package check

import "github.com/mcptap/mcptap/tap/jsonrpc"

// maxParts is how many parts of a message, such as content blocks, are judged.
const maxParts = 100_000

// once keeps the parts of a message that several rules ask for.
type once[T any] struct {
	read, cut bool // cut: there are more than maxParts
	parts     []T
}

// all returns the parts, which read yields the first time.
func (o *once[T]) all(m *Message, read func(yield func(T) bool)) []T {
	if !o.read {
		o.read = true
		read(func(part T) bool {
			if o.cut = len(o.parts) == maxParts; !o.cut {
				o.parts = append(o.parts, part)
			}
			return !o.cut
		})
	}
	m.cut = m.cut || o.cut
	return o.parts
}

// few is how many members of an object are kept.
const few = 64

// members are those of an object, read when one is asked for.
type members struct {
	read, many bool // many: more than few, and all is not complete
	all        []namedValue
}

type namedValue struct {
	name  []byte
	value jsonrpc.Value
}

// get is like [jsonrpc.Value.Get]. The object must be the same each time.
func (o *members) get(object jsonrpc.Value, name string) (value jsonrpc.Value) {
	if !o.read && object.IsObject() {
		o.all = make([]namedValue, 0, 6)
		for name, value := range object.Each {
			if o.many = len(o.all) == few; o.many {
				break
			}
			o.all = append(o.all, namedValue{name, value})
		}
	}
	o.read = true
	if o.many {
		return object.Get(name)
	}
	for i := range o.all {
		if string(o.all[i].name) == name {
			value = o.all[i].value
		}
	}
	return value
}

// Top returns a member of the message itself, see [Message.Envelope].
func (m *Message) Top(name string) jsonrpc.Value { return m.envelope.get(m.Envelope(), name) }

// Param returns a member of the params, and Member one of the result.
func (m *Message) Param(name string) jsonrpc.Value { return m.params.get(m.Parameters(), name) }

// Member returns a member of the result: see [Message.Param].
func (m *Message) Member(name string) jsonrpc.Value { return m.result.get(m.Outcome(), name) }

// Param returns a member of the params.
func (r *Request) Param(name string) jsonrpc.Value { return r.params.get(r.Params, name) }
