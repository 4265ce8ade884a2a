package check

import "github.com/mcptap/mcptap/tap/jsonrpc"

// few is how many parts of a message, or members of an object, are kept.
const few = 64

// once keeps the parts of a message that several rules ask for, if they are not many.
type once[T any] struct {
	read, many bool
	parts      []T
}

// each yields what all yields, which must be the same each time.
func (o *once[T]) each(all func(yield func(T) bool), yield func(T) bool) {
	if !o.read {
		o.read, o.parts = true, make([]T, 0, 2)
		for part := range all {
			if o.many = len(o.parts) == few; o.many {
				o.parts = nil
				break
			}
			o.parts = append(o.parts, part)
		}
	}
	if o.many {
		all(yield)
		return
	}
	for i := range o.parts {
		if !yield(o.parts[i]) {
			return
		}
	}
}

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
