package tap

import "strconv"

// PeekFrame says what a frame is in JSON-RPC whatever its form. It does not look
// at the lane: what stands on stderr or on life is no message's. Of a frame that
// was too large to load it reads the beginning, and says so in Reason: members that
// stand behind it are not known, and neither are the values of params, result and
// error.
//
//   - A line, and the text of a WebSocket message, is read by [Peek].
//   - So is the data of an event. One without data, as sent to keep a connection
//     open or to give out an id, and one with another name than "message", such
//     as "endpoint" (2024-11-05, basic/transports), is [Other].
//   - A body is read if it means to be JSON-RPC. It does if it is an object with
//     a member jsonrpc, or with an id beside a method, a result or an error, or
//     with a method that is known; or if it is an array with a message in it. A
//     body that breaks off or is broken is [Invalid] if what stands before that
//     has one of jsonrpc, method and result, or an error that is an object. Any
//     other body is Other: a page, a token response, nothing at all.
//   - What a WebSocket's control frames carry, and bytes that could not be read,
//     is Other.
//
// Byte slices of the message point into Raw, but for an event with several lines
// of data: then they point into a copy.
func PeekFrame(f *Frame) Message {
	if int64(len(f.Raw)) < f.Size {
		return peekHead(f)
	}
	switch f.Form {
	case FormLine, FormText, FormBinary:
		return Peek(f.Raw)
	case FormBody:
		return peekBody(f.Raw)
	case FormEvent:
		if data, ok := messageData(f.Raw); ok {
			return Peek(data)
		}
	}
	return Message{Kind: Other}
}

// peekHead reads the beginning of a frame that is not whole.
func peekHead(f *Frame) Message {
	raw := f.Raw
	switch f.Form {
	case FormEvent:
		x := parseEventLines(raw)
		if raw = x.data; !namesMessage(x.name) {
			return Message{Kind: Other}
		}
	case FormLine, FormText, FormBinary, FormBody:
	default:
		return Message{Kind: Other}
	}
	var s scan
	s.raw = raw
	s.feed(raw)
	unread := "too large to be read: " + strconv.FormatInt(f.Size, 10) + " bytes"
	switch {
	case s.state == stBroken && f.Form != FormBody:
		return Message{Reason: s.fault}
	case s.state == stBroken || s.base != 1 && f.Form == FormBody:
		return Message{Kind: Other}
	case s.base == 0:
		return Message{Kind: Other, Reason: unread}
	case s.base == 2:
		return Message{Kind: Batch, Reason: unread}
	}
	for i := range s.from {
		s.to[i] = s.from[i] // no value is whole for certain
	}
	m := s.message()
	if m.Params, m.Result, m.Error = nil, nil, nil; f.Form == FormBody && !s.envelope.meant() {
		return Message{Kind: Other}
	}
	m.Reason = unread
	return m
}

// Payload returns what of a frame is for showing and searching: the data of an
// event that has any, without a copy if it is one line; of any other frame, Raw.
func Payload(f *Frame) []byte {
	if f.Form == FormEvent {
		if x := parseEventLines(f.Raw); len(x.data) > 0 {
			return x.data
		}
	}
	return f.Raw
}

// messageData returns the data of an event, and whether it should be a message.
func messageData(raw []byte) (data []byte, ok bool) {
	x := parseEventLines(raw)
	return x.data, namesMessage(x.name) && len(trimSpace(x.data)) > 0
}

// namesMessage reports whether an event of that name carries a message.
func namesMessage(name []byte) bool { return len(name) == 0 || string(name) == "message" }

// peekBody is [Peek] for a body, which may be anything.
func peekBody(raw []byte) Message {
	if mayQuick(raw) {
		var q quick
		if q.read(raw) {
			m := Message{Kind: Other}
			if q.meant() {
				m = Message{}
				q.classify(&m, raw)
			}
			return m
		}
	}
	return peekOddBody(raw)
}

// peekOddBody is [peekOdd] for a body.
func peekOddBody(raw []byte) Message {
	var s scan
	s.raw = raw
	s.feed(raw)
	s.close()
	if !s.meant() {
		return Message{Kind: Other}
	}
	m := s.message()
	if i := invalidUTF8(raw); i >= 0 && m.Kind != Invalid {
		m.Reason = remark(m.Reason, "not UTF-8 at byte "+strconv.Itoa(i))
	}
	return m
}

// meant reports whether a body that is over means to be JSON-RPC.
func (s *scan) meant() bool {
	broken := s.state == stBroken
	switch {
	case s.base == 2 && broken: // in its last element, or behind it
		return min(s.elements, MaxBatch) > s.invalid+1 || s.looksMeant()
	case s.base == 2:
		return min(s.elements, MaxBatch) > s.invalid
	case broken:
		return s.looksMeant()
	}
	return s.envelope.meant()
}

// meant reports whether a value that is no array means to be JSON-RPC.
func (e *envelope) meant() bool {
	switch {
	case e.class[fJSONRPC] != 0:
		return true
	case e.class[fMethod] == '"':
		if _, known := methodIndex[methodName(e.text[fMethod])]; known {
			return true
		}
	}
	return e.class[fID] != 0 && (e.class[fMethod] != 0 || e.class[fResult] != 0 || e.class[fError] != 0)
}

// looksMeant reports whether what was read of a broken object reads like a
// message.
func (e *envelope) looksMeant() bool {
	return e.class[fJSONRPC] != 0 || e.class[fMethod] == '"' || e.class[fResult] != 0 || e.class[fError] == '{'
}
