package tap

import (
	"bytes"
	"fmt"
)

// message makes the Message of a frame that is over.
func (s *scan) message() Message {
	var m Message
	switch {
	case s.state == stBroken:
		m = Message{Reason: s.fault}
	case s.base == 2:
		m = s.batchMessage()
	default:
		s.classify(&m)
	}
	m.Duplicates = s.dupes.any
	if s.marked && m.Kind != Invalid {
		m.Reason = remark(m.Reason, "byte order mark")
	}
	return m
}

func (s *scan) batchMessage() Message {
	switch {
	case s.elements == 0:
		return Message{Reason: "empty batch"}
	case s.elements > MaxBatch:
		return Message{Kind: Batch, Batch: s.batch,
			Reason: fmt.Sprintf("batch of %d, only the first %d were read", s.elements, MaxBatch)}
	}
	return Message{Kind: Batch, Batch: s.batch}
}

// classify makes the Message of one envelope. It fills m in place, because a
// Message is large and a batch has many.
func (s *scan) classify(m *Message) {
	if s.top != '{' {
		m.Reason = "JSON, but " + className[s.top] + " where a message should be"
		return
	}
	s.fill(m)
	switch {
	case s.class[fMethod] != 0:
		s.classifyCall(m)
	case s.class[fError] != 0 && (s.class[fError] != 'n' || s.class[fResult] == 0):
		m.Kind = ErrorResponse
		s.classifyError(m)
	case s.class[fResult] != 0:
		m.Kind = Response
		m.IsError = s.class[fIsError] == 't'
		if s.class[fError] != 0 {
			m.Reason = remark(m.Reason, "error is null beside a result")
		}
	default:
		m.Reason = "object without method, result or error"
		return
	}
	s.classifyID(m)
	if v := s.text[fJSONRPC]; s.class[fJSONRPC] == 0 {
		m.Reason = remark(m.Reason, "no jsonrpc member")
	} else if !bytes.Equal(v, []byte(`"2.0"`)) && (s.class[fJSONRPC] != '"' || unquote(v) != "2.0") {
		m.Reason = remark(m.Reason, "jsonrpc is not \"2.0\"")
	}
}

// fill copies what the envelope holds, whatever it amounts to.
func (s *scan) fill(m *Message) {
	if s.raw != nil {
		m.Params, m.Result, m.Error = s.span(fParams), s.span(fResult), s.span(fError)
		m.DuplicateKeys = s.dupes.take()
	}
	m.ID = s.text[fID]
	m.Long = len(m.ID) > MaxWord
	if s.class[fMethod] == '"' {
		m.Long = m.Long || len(s.text[fMethod]) > MaxWord
		m.Method = methodName(s.text[fMethod])
	}
	if s.class[fResultType] == '"' {
		m.ResultType = unquote(clip(s.text[fResultType], MaxWord))
	}
	if s.class[fCode] == '0' {
		m.ErrorCode = string(clip(s.text[fCode], MaxWord))
	}
	if s.class[fMessage] == '"' {
		m.ErrorMessage = unquote(clip(s.text[fMessage], MaxWord))
	} else if s.class[fError] == '"' {
		m.ErrorMessage = unquote(clip(s.text[fError], MaxWord))
	}
}

// span is the part of the frame that one member's value takes.
func (s *scan) span(f field) []byte {
	if s.class[f] == 0 {
		return nil
	}
	return s.raw[s.from[f]:s.to[f]:s.to[f]]
}

// classifyCall decides between request and notification.
func (s *scan) classifyCall(m *Message) {
	switch {
	case s.class[fMethod] != '"':
		m.Reason = "method is " + className[s.class[fMethod]]
	case s.class[fID] == 0:
		m.Kind = Notification
	case s.class[fID] == 'n':
		m.Reason = "a method with id null is neither request nor notification"
	default:
		m.Kind = Request
	}
	if s.class[fResult] != 0 {
		m.Reason = remark(m.Reason, "both method and result")
	}
	if s.class[fError] != 0 {
		m.Reason = remark(m.Reason, "both method and error")
	}
	if c := s.class[fParams]; c != 0 && c != '{' {
		m.Reason = remark(m.Reason, "params is "+className[c])
	}
}

// classifyError says what is odd about an error response.
func (s *scan) classifyError(m *Message) {
	if s.class[fResult] != 0 {
		m.Reason = remark(m.Reason, "both result and error")
	}
	if c := s.class[fError]; c != '{' {
		m.Reason = remark(m.Reason, "error is "+className[c])
		return
	}
	if s.class[fCode] != '0' || bytes.ContainsAny(s.text[fCode], ".eE") {
		m.Reason = remark(m.Reason, "error code is not an integer")
	}
	if s.class[fMessage] != '"' {
		m.Reason = remark(m.Reason, "error message is not a string")
	}
}

// classifyID says what is odd about the id. One that is no string, number or
// null makes the message invalid (basic/index).
func (s *scan) classifyID(m *Message) {
	switch c := s.class[fID]; c {
	case '"':
	case '0':
		if bytes.ContainsAny(m.ID, ".eE") {
			m.Reason = remark(m.Reason, "id is not written as an integer")
		}
	case 0:
		if m.Kind == Response || m.Kind == ErrorResponse {
			m.Reason = remark(m.Reason, "response without id")
		}
	case 'n':
		if m.Kind != Invalid {
			m.Reason = remark(m.Reason, "id is null")
		}
	default:
		m.Kind, m.IsError = Invalid, false
		m.Reason = remark(m.Reason, "id is "+className[c])
	}
}

var className = [256]string{
	'{': "an object", '[': "an array", '"': "a string", '0': "a number",
	't': "true", 'f': "false", 'n': "null",
}

// methodName decodes a method. A known one costs no memory.
func methodName(token []byte) string {
	body := token[1:]
	if n := len(body); n > 0 && body[n-1] == '"' {
		body = body[:n-1]
	}
	if m, ok := methodIndex[string(body)]; ok {
		return m.Name
	}
	return unquote(token)
}

func clip(b []byte, n int) []byte {
	if len(b) > n {
		return b[:n]
	}
	return b
}
