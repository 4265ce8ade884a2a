package jsonrpc

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/mcptap/mcptap/tap"
)

// PeekFrame reads the message of a frame of any form. It ignores the lane: frames of
// stderr and lifecycle are not messages. Of a frame that was too large to load it
// reads the beginning, which Reason reports: members that follow are not known, and
// neither are the values of params, result and error.
//
//   - A line, and the text of a WebSocket message, is read by [Peek].
//   - So is the data of an event. One without data, as sent to keep a connection
//     open or to give out an id, and one with another name than "message", such
//     as "endpoint" (2024-11-05, basic/transports), is [Other].
//   - A body is read if it is meant to be JSON-RPC. It is if it is an object with
//     a member jsonrpc, or with an id beside a method, a result or an error, or
//     with a method that is known; or if it is an array with a message in it. A
//     body that breaks off or is broken is [Invalid] if the part before that
//     has one of jsonrpc, method and result, or an error that is an object. Any
//     other body is Other: a page, a token response, nothing at all.
//   - A WebSocket's control frame, and bytes that could not be read, are Other.
//
// Byte slices of the message point into Raw, but for an event with several lines
// of data: then they point into a copy.
func PeekFrame(f *tap.Frame) Message {
	if int64(len(f.Raw)) < f.Size {
		return peekHead(f)
	}
	switch f.Form {
	case tap.FormLine, tap.FormText, tap.FormBinary:
		return Peek(f.Raw)
	case tap.FormBody:
		return peekBody(f.Raw)
	case tap.FormEvent:
		if data, ok := messageData(f.Raw); ok {
			return Peek(data)
		}
	}
	return Message{Kind: Other}
}

// Payload returns the part of a frame to show and to search: the data of an
// event that has any, without a copy if it is one line; of any other frame, Raw.
func Payload(f *tap.Frame) []byte {
	if f.Form == tap.FormEvent {
		if x := tap.ParseServerSentEvent(f.Raw); len(x.Data) > 0 {
			return x.Data
		}
	}
	return f.Raw
}

// messageData returns the data of an event, and whether it should be a message.
func messageData(raw []byte) (data []byte, ok bool) {
	x := tap.ParseServerSentEvent(raw)
	return x.Data, namesMessage(x.Name) && len(trimJSON(x.Data)) > 0
}

// namesMessage reports whether an event of that name carries a message.
func namesMessage(name string) bool { return name == "" || name == "message" }

// meant reports whether an object is meant to be a message.
func (e *envelope) meant() bool {
	switch {
	case e.jsonrpc.Class() != 0:
		return true
	case e.method.Class() == '"':
		if _, known := methodIndex[methodName(e.method)]; known {
			return true
		}
	}
	return e.id.Class() != 0 && (e.method.Class() != 0 || e.result.Class() != 0 || e.err.Class() != 0)
}

// looksMeant reports whether what was read of a broken object looks like a message.
func (e *envelope) looksMeant() bool {
	method := e.method.Class()
	return e.jsonrpc.Class() != 0 || method == '"' || method == cutOff || e.result.Class() != 0 || e.err.Class() == '{'
}

// peekBody is [Peek] for a body, which may be anything.
func peekBody(raw []byte) Message {
	text := trimJSON(bytes.TrimPrefix(raw, []byte(bom)))
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return Message{Kind: Other}
	}
	m := Peek(raw)
	var meant bool
	switch {
	case m.Kind == Batch:
		meant = slices.ContainsFunc(m.Batch, func(m Message) bool { return m.Kind != Invalid })
	case text[0] == '{':
		var e envelope
		e.read(text)
		meant = e.meant() || m.Kind == Invalid && !valid(text) && e.looksMeant()
	case m.Kind == Invalid: // broken: an array in which something reads like a message
		Value(text).Each(func(_ []byte, v Value) bool {
			var e envelope
			e.read(v)
			meant = meant || e.looksMeant()
			return !meant
		})
	}
	if !meant {
		return Message{Kind: Other}
	}
	return m
}

// peekHead reads the beginning of a frame that is not whole.
func peekHead(f *tap.Frame) Message {
	text := f.Raw
	switch f.Form {
	case tap.FormEvent:
		x := tap.ParseServerSentEvent(f.Raw)
		if text = x.Data; !namesMessage(x.Name) {
			return Message{Kind: Other}
		}
	case tap.FormLine, tap.FormText, tap.FormBinary, tap.FormBody:
	default:
		return Message{Kind: Other}
	}
	text = trimJSON(bytes.TrimPrefix(text, []byte(bom)))
	var e envelope
	e.read(text)
	unread := "too large to be read: " + strconv.FormatInt(f.Size, 10) + " bytes"
	switch {
	case len(text) == 0:
		return Message{Kind: Other, Reason: unread}
	case e.class == '[' && f.Form != tap.FormBody:
		return Message{Kind: Batch, Reason: unread}
	case e.class == '{' && (f.Form != tap.FormBody || e.meant() || e.looksMeant()):
	case f.Form == tap.FormBody:
		return Message{Kind: Other}
	default:
		return Message{Reason: notJSON(text, len(f.Raw)-len(text))}
	}
	for _, v := range []*Value{&e.jsonrpc, &e.id, &e.method, &e.params, &e.result, &e.err, &e.isError, &e.resultType, &e.errorCode, &e.errMessage} {
		if v.Class() == cutOff {
			*v = nil
		}
	}
	var m Message
	e.classify(&m)
	m.Params, m.Result, m.Error, m.Reason = nil, nil, nil, unread
	m.Unread = true
	if m.Kind == Notification && !isNotification(m.Method) {
		m.Kind = Request
	}
	return m
}
