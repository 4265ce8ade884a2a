package check

import (
	"cmp"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Message is a message, or a frame that should have been one.
type Message struct {
	*jsonrpc.Message
	Entry   *session.Entry
	Session *Session
	// Part is its role in its call. It is zero for an embedded message.
	Part session.Part
	Lane tap.Lane
	// Path is the path of an embedded message in its frame, "$" for others.
	Path string
	// Revision is the revision in force: that of the message itself for a request of 2026-07-28,
	// that of its request for a response, and that of the session otherwise; "" if not known.
	Revision jsonrpc.Revision
	// Request is the request of a response; nil if it is not known.
	Request *Request
	// Envelope is the text of the whole message, or of its element in a batch; nil for an
	// embedded message.
	Envelope jsonrpc.Value

	// These are read once, because several rules use them.
	cut                 bool // some parts were left out
	top, params, result members
	blocks              once[block]
	metas               once[meta]
}

// Parameters returns the params as a value.
func (m *Message) Parameters() jsonrpc.Value { return jsonrpc.Value(m.Params) }

// Outcome returns the result as a value.
func (m *Message) Outcome() jsonrpc.Value { return jsonrpc.Value(m.Result) }

// Problem returns the error as a value.
func (m *Message) Problem() jsonrpc.Value { return jsonrpc.Value(m.Error) }

// about returns the method of a message, or that of its request.
func (m *Message) about() string {
	if m.Request != nil {
		return m.Request.Method
	}
	return m.Method
}

// named returns the tool, prompt or URI that a message or its request is about, "" for none.
func (m *Message) named() string {
	param := m.Param
	if m.Request != nil {
		param = m.Request.Param
	}
	switch m.about() {
	case "tools/call", "prompts/get":
		return param("name").Decoded()
	case "resources/read":
		return param("uri").Decoded()
	}
	return ""
}

// asked returns the input request that an entry of inputResponses answers, nil if it is not known.
func (m *Message) asked(key string) *Request {
	if first, ok := m.Session.requests.Get(m.Part.Call); ok {
		return first.asked[key]
	}
	return nil
}

// Subject returns what a message is about: see [Message.named], or else [Message.about].
func (m *Message) Subject() string { return cmp.Or(m.named(), m.about()) }

// maxParts limits the parts of a message, such as content blocks, that are judged.
const maxParts = 100_000

// once caches the parts of a message that several rules use.
type once[T any] struct {
	read, cut bool // cut: there are more than maxParts
	parts     []T
}

// all returns the parts, calling read the first time.
func (o *once[T]) all(m *Message, read func(add func(T))) []T {
	if !o.read {
		o.read = true
		read(func(part T) {
			if o.cut = len(o.parts) == maxParts; !o.cut {
				o.parts = append(o.parts, part)
			}
		})
	}
	m.cut = m.cut || o.cut
	return o.parts
}

// few limits the members of an object that are cached.
const few = 64

// members caches up to few members of an object, read on first use.
type members []namedValue

type namedValue struct {
	name  []byte
	value jsonrpc.Value
}

// get is like [jsonrpc.Value.Get]. The object must be the same each time.
func (o *members) get(object jsonrpc.Value, name string) (value jsonrpc.Value) {
	if *o == nil && object.IsObject() {
		*o = make(members, 0, 6)
		for name, value := range object.Each {
			if *o = append(*o, namedValue{name, value}); len(*o) == few {
				break
			}
		}
	}
	if len(*o) == few { // there may be more
		return object.Get(name)
	}
	for _, m := range *o {
		if string(m.name) == name {
			value = m.value
		}
	}
	return value
}

// Top returns a member of the message itself: see Message.Envelope.
func (m *Message) Top(name string) jsonrpc.Value { return m.top.get(m.Envelope, name) }

// Param returns a member of the params.
func (m *Message) Param(name string) jsonrpc.Value { return m.params.get(m.Parameters(), name) }

// Member returns a member of the result.
func (m *Message) Member(name string) jsonrpc.Value { return m.result.get(m.Outcome(), name) }

// Param returns a member of the params.
func (r *Request) Param(name string) jsonrpc.Value { return r.params.get(r.Params, name) }
