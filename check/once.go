package check

import "github.com/mcptap/mcptap/tap/jsonrpc"

// once keeps the parts of a message that several rules ask for, if they are not many.
type once[T any] struct {
	read, many bool
	parts      []T
}

// each yields what all yields, which must be the same each time.
func (o *once[T]) each(all func(yield func(T) bool), yield func(T) bool) {
	const few = 64
	if !o.read {
		o.read, o.parts = true, make([]T, 0, 4)
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

// A pair is a member of an object.
type pair struct {
	name  []byte
	value jsonrpc.Value
}

// get is like [jsonrpc.Value.Get].
func get(o *once[pair], object jsonrpc.Value, name string) (value jsonrpc.Value) {
	if !o.read {
		o.each(func(yield func(pair) bool) {
			if object.IsObject() {
				object.Each(func(name []byte, value jsonrpc.Value) bool { return yield(pair{name, value}) })
			}
		}, func(pair) bool { return false })
	}
	if o.many {
		return object.Get(name)
	}
	for i := range o.parts {
		if string(o.parts[i].name) == name {
			value = o.parts[i].value
		}
	}
	return value
}

// Top returns a member of the message itself, see [Message.Envelope].
func (m *Message) Top(name string) jsonrpc.Value { return get(&m.envelope, m.Envelope(), name) }

// Param returns a member of the params, and Member one of the result.
func (m *Message) Param(name string) jsonrpc.Value { return get(&m.params, m.Parameters(), name) }

// Member returns a member of the result: see [Message.Param].
func (m *Message) Member(name string) jsonrpc.Value { return get(&m.result, m.Outcome(), name) }

// Param returns a member of the params.
func (r *Request) Param(name string) jsonrpc.Value { return get(&r.params, r.Params, name) }
