package tap

import "fmt"

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

// classify makes the Message of the envelope that is over. It fills m in place,
// because a Message is large and a batch has many.
func (s *scan) classify(m *Message) {
	s.envelope.classify(m, s.raw)
	if s.raw != nil && s.top == '{' {
		m.DuplicateKeys = s.dupes.take()
	}
}

// classify makes the Message of one envelope, which stands in raw; nil when the
// frame came in chunks.
func (e *envelope) classify(m *Message, raw []byte) {
	if e.top != '{' {
		m.Reason = "JSON, but " + className[e.top] + " where a message should be"
		return
	}
	e.fill(m, raw)
	switch {
	case e.class[fMethod] != 0:
		e.classifyCall(m)
	case e.class[fError] != 0 && (e.class[fError] != 'n' || e.class[fResult] == 0):
		m.Kind = ErrorResponse
		e.classifyError(m)
	case e.class[fResult] != 0:
		m.Kind = Response
		m.IsError = e.class[fIsError] == 't'
		if e.class[fError] != 0 {
			m.Reason = remark(m.Reason, "error is null beside a result")
		}
	default:
		m.Reason = "object without method, result or error"
		return
	}
	e.classifyID(m)
	if v := e.text[fJSONRPC]; e.class[fJSONRPC] == 0 {
		m.Reason = remark(m.Reason, "no jsonrpc member")
	} else if string(v) != `"2.0"` && (e.class[fJSONRPC] != '"' || unquote(v) != "2.0") {
		m.Reason = remark(m.Reason, "jsonrpc is not \"2.0\"")
	}
}

// fill copies what the envelope holds, whatever it amounts to.
func (e *envelope) fill(m *Message, raw []byte) {
	if raw != nil {
		m.Params, m.Result, m.Error = e.span(raw, fParams), e.span(raw, fResult), e.span(raw, fError)
	}
	m.ID = e.text[fID]
	m.Long = len(m.ID) > MaxWord
	if e.class[fMethod] == '"' {
		m.Long = m.Long || len(e.text[fMethod]) > MaxWord
		m.Method = methodName(e.text[fMethod])
	}
	if e.class[fResultType] == '"' {
		m.ResultType = unquote(clip(e.text[fResultType], MaxWord))
	}
	if e.class[fCode] == '0' {
		m.ErrorCode = string(clip(e.text[fCode], MaxWord))
	}
	if e.class[fMessage] == '"' {
		m.ErrorMessage = unquote(clip(e.text[fMessage], MaxWord))
	} else if e.class[fError] == '"' {
		m.ErrorMessage = unquote(clip(e.text[fError], MaxWord))
	}
}

// span is the part of the frame that one member's value takes.
func (e *envelope) span(raw []byte, f field) []byte {
	if e.class[f] == 0 {
		return nil
	}
	return raw[e.from[f]:e.to[f]:e.to[f]]
}

// classifyCall decides between request and notification.
func (e *envelope) classifyCall(m *Message) {
	switch {
	case e.class[fMethod] != '"':
		m.Reason = "method is " + className[e.class[fMethod]]
	case e.class[fID] == 0:
		m.Kind = Notification
	case e.class[fID] == 'n':
		m.Reason = "a method with id null is neither request nor notification"
	default:
		m.Kind = Request
	}
	if e.class[fResult] != 0 {
		m.Reason = remark(m.Reason, "both method and result")
	}
	if e.class[fError] != 0 {
		m.Reason = remark(m.Reason, "both method and error")
	}
	if c := e.class[fParams]; c != 0 && c != '{' {
		m.Reason = remark(m.Reason, "params is "+className[c])
	}
}

// classifyError says what is odd about an error response.
func (e *envelope) classifyError(m *Message) {
	if e.class[fResult] != 0 {
		m.Reason = remark(m.Reason, "both result and error")
	}
	if c := e.class[fError]; c != '{' {
		m.Reason = remark(m.Reason, "error is "+className[c])
		return
	}
	if e.class[fCode] != '0' || !integral(e.text[fCode]) {
		m.Reason = remark(m.Reason, "error code is not an integer")
	}
	if e.class[fMessage] != '"' {
		m.Reason = remark(m.Reason, "error message is not a string")
	}
}

// classifyID says what is odd about the id. One that is no string, number or
// null makes the message invalid (basic/index).
func (e *envelope) classifyID(m *Message) {
	switch c := e.class[fID]; c {
	case '"':
	case '0':
		if !integral(m.ID) {
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
