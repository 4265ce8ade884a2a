package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap"
)

// PeekFrame reads the message of a frame of any form. It ignores the lane: frames of
// stderr and lifecycle carry no messages. Of a frame that was too large to load it
// reads the beginning and reports that in Reason: later members are unknown, and so are
// the values of params, result and error.
//
//   - A line, and the text of a WebSocket message, is read by [Peek].
//   - So is the data of an event. An event without data, which keeps a connection
//     open or carries an id, and one with a name other than "message", such as
//     "endpoint" (2024-11-05, basic/transports), is [Other].
//   - A body is read if it is meant to be JSON-RPC: if it is an object with a member
//     jsonrpc, with an id and a method, a result or an error, or with a known method;
//     or if it is an array with a message in it. A body that is cut off or invalid
//     JSON is [Invalid] if the part before the error has one of jsonrpc, method and
//     result, or an error that is an object. Any other body is Other: a page, a token
//     response, nothing at all.
//   - A WebSocket control frame, and bytes that could not be read, are Other.
//
// Byte slices of the message point into Raw, except those of an event with several
// lines of data, which point into a copy.
func PeekFrame(f *tap.Frame) Message {
	text, truncated := f.Raw, int64(len(f.Raw)) < f.Size
	switch f.Form {
	case tap.FormLine, tap.FormText, tap.FormBinary, tap.FormBody:
	case tap.FormEvent:
		e := tap.ParseServerSentEvent(f.Raw)
		if text = e.Data; e.Name != "" && e.Name != "message" || !truncated && len(trimJSON(text)) == 0 {
			return Message{Kind: Other}
		}
	default:
		return Message{Kind: Other}
	}
	switch {
	case truncated:
		return peekHead(f, text)
	case f.Form == tap.FormBody:
		return peekBody(text)
	}
	return Peek(text)
}

// Payload returns the part of a frame to show and to search: the data of an event that
// has any, without a copy if it is one line; of any other frame, Raw.
func Payload(f *tap.Frame) []byte {
	if f.Form == tap.FormEvent {
		if x := tap.ParseServerSentEvent(f.Raw); len(x.Data) > 0 {
			return x.Data
		}
	}
	return f.Raw
}

// Peek reads the envelope of one frame. It takes any bytes: terminators, white space
// around the message, a byte order mark, banners, cut off or hostile JSON. All of the
// frame is checked to be JSON. The message points into raw.
func Peek(raw []byte) Message {
	m, _, _ := peek(raw)
	return m
}

// Within returns the first message in a line that is not a message but holds one, from its first
// brace on, and its position; nil if there is none.
func Within(line []byte) (at int, message []byte) {
	at = max(bytes.IndexByte(line, '{'), 0)
	for _, first := range Value(append([]byte("["), line[at:]...)).Each {
		if len(first) < len(line) && first.Get("jsonrpc") != nil && Peek(first).Kind != Invalid {
			return at, first
		}
		break
	}
	return 0, nil
}

// peek is [Peek], and reports whether the frame is JSON and, if it is not an array, its
// envelope.
func peek(raw []byte) (m Message, e envelope, ok bool) {
	text, marked := bytes.CutPrefix(raw, []byte(bom))
	if !Valid(text, MaxDepth) {
		return Message{Reason: notJSON(text, len(raw)-len(text))}, e, false
	}
	if m, e = readMessage(trimJSON(text)); m.Kind == Invalid {
		return m, e, true
	}
	if marked {
		m.remark("byte order mark")
	}
	if !utf8.Valid(raw) {
		i := 0
		for r, n := utf8.DecodeRune(raw); r != utf8.RuneError || n != 1; r, n = utf8.DecodeRune(raw[i:]) {
			i += n
		}
		m.remark(fmt.Sprintf("not UTF-8 at byte %d", i))
	}
	return m, e, true
}

// peekBody is [Peek] for a body, which may be anything.
func peekBody(raw []byte) Message {
	text := Value(trimJSON(bytes.TrimPrefix(raw, []byte(bom))))
	if !text.IsObject() && !text.IsArray() {
		return Message{Kind: Other}
	}
	m, e, ok := peek(raw)
	meant := false
	switch {
	case m.Kind == Batch:
		meant = slices.ContainsFunc(m.Batch, func(m Message) bool { return m.Kind != Invalid })
	case text.IsObject():
		if !ok {
			e = readEnvelope(text)
		}
		meant = e.meant() || !ok && e.looksMeant()
	case m.Kind == Invalid: // a broken array
		for _, v := range text.Each {
			e := readEnvelope(v)
			meant = meant || e.looksMeant()
		}
	}
	if !meant {
		return Message{Kind: Other}
	}
	return m
}

// peekHead reads the beginning of the text of a frame that is not whole.
func peekHead(f *tap.Frame, text Value) Message {
	text = trimJSON(bytes.TrimPrefix(text, []byte(bom)))
	e := readEnvelope(text)
	m := Message{Reason: fmt.Sprintf("too large to be read: %d bytes", f.Size)}
	body := f.Form == tap.FormBody
	switch {
	case len(text) == 0:
		m.Kind = Other
		return m
	case text.IsArray() && !body:
		m.Kind = Batch
		return m
	case text.IsObject() && (!body || e.meant() || e.looksMeant()):
	case body:
		return Message{Kind: Other}
	default:
		return Message{Reason: notJSON(text, len(f.Raw)-len(text))}
	}
	for _, v := range []*Value{&e.jsonrpc, &e.id, &e.method, &e.params, &e.result, &e.err, &e.isError, &e.resultType, &e.errorCode, &e.errorMessage} {
		if v.Class() == cutOff {
			*v = nil
		}
	}
	reason := m.Reason
	m = e.message()
	m.Params, m.Result, m.Error, m.Reason, m.Unread = nil, nil, nil, reason, true
	if m.Kind == Notification && !isNotification(m.Method) {
		m.Kind = Request
	}
	return m
}

// bom, the byte order mark, must not precede JSON but may be ignored (RFC 8259, section
// 8.1).
const bom = "\xef\xbb\xbf"

// nesting returns how many arrays and objects are open at the end of text, and whether it
// ends inside a string.
func nesting(text []byte) (open int, inString bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			open++
		case c == '}' || c == ']':
			open--
		}
	}
	return open, inString
}

// notJSON returns the reason why a text at an offset in its frame is not JSON.
func notJSON(text []byte, offset int) string {
	switch {
	case len(trimJSON(text)) == 0:
		return "blank"
	case offset == 0 && bytes.HasPrefix([]byte(bom), text):
		return fmt.Sprintf("not JSON: ends inside a byte order mark at byte %d", len(text))
	}
	var value json.RawMessage
	var fault *json.SyntaxError
	// The added space makes the error of a text that is cut off one after its end.
	if !errors.As(json.Unmarshal(append(slices.Clip(text), ' '), &value), &fault) {
		return "not JSON"
	}
	at := min(int(fault.Offset)-1, len(text))
	open, inString := nesting(text[:at])
	what := ""
	switch {
	case at == len(text) && inString:
		what = "ends inside a string"
	case at == len(text):
		what = "ends too early"
	case inString && text[at] < ' ':
		what = "control character in a string"
	case inString:
		what = "bad escape"
	case open == MaxDepth && (text[at] == '[' || text[at] == '{'):
		return fmt.Sprintf("nested more than %d deep at byte %d", MaxDepth, offset+at)
	case text[at] < ' ' || text[at] >= 0x7f:
		what = fmt.Sprintf("unexpected 0x%02X", text[at])
	default:
		what = fmt.Sprintf("unexpected %q", text[at])
	}
	return fmt.Sprintf("not JSON: %s at byte %d", what, offset+at)
}

// readMessage reads the message of a text that is JSON, and its envelope if it is not an
// array.
func readMessage(text Value) (m Message, e envelope) {
	if !text.IsArray() {
		e = readEnvelope(text)
		return e.message(), e
	}
	elements := 0
	for _, v := range text.Each {
		if elements++; elements <= MaxBatch {
			m.Batch = append(m.Batch, readEnvelope(v).message())
		}
	}
	if elements == 0 {
		return Message{Reason: "empty batch"}, e
	}
	if m.Kind = Batch; elements > MaxBatch {
		m.Reason = fmt.Sprintf("batch of %d, only the first %d were read", elements, MaxBatch)
	}
	return m, e
}

// An envelope has the values of the members of a message and of its result or error, nil
// for absent ones.
type envelope struct {
	class                                        byte // of the message
	jsonrpc, id, method, params, result, err     Value
	isError, resultType, errorCode, errorMessage Value
	duplicates                                   []string // names of members that occur more than once
}

// maxNames is the number of names of other members that are compared with one another.
const maxNames = 32

// readEnvelope reads a message, which may be cut off. The last of several members with
// one name counts.
func readEnvelope(text Value) (e envelope) {
	e.class = text.Class()
	if e.class != '{' {
		return e
	}
	var others []string
	for name, v := range text.Each {
		to := e.member(name)
		if to != nil && *to != nil || to == nil && slices.Contains(others, string(name)) {
			if len(e.duplicates) < maxNames && !slices.Contains(e.duplicates, string(name)) {
				e.duplicates = append(e.duplicates, string(name))
			}
		} else if to == nil && len(others) < maxNames {
			others = append(others, string(name))
		}
		if to != nil {
			*to = v
		}
	}
	e.isError, e.resultType = e.result.pair("isError", "resultType")
	e.errorCode, e.errorMessage = e.err.pair("code", "message")
	return e
}

// member returns the field of the envelope for a member name, nil for other names.
func (e *envelope) member(name []byte) *Value {
	switch string(name) {
	case "jsonrpc":
		return &e.jsonrpc
	case "id":
		return &e.id
	case "method":
		return &e.method
	case "params":
		return &e.params
	case "result":
		return &e.result
	case "error":
		return &e.err
	}
	return nil
}

// meant reports whether an object is meant to be a message.
func (e *envelope) meant() bool {
	if e.jsonrpc != nil || e.id != nil && (e.method != nil || e.result != nil || e.err != nil) {
		return true
	}
	_, known := methodIndex[e.method.Decoded()]
	return known
}

// looksMeant reports whether the part of a broken object before the error looks like a
// message.
func (e *envelope) looksMeant() bool {
	method := e.method.Class()
	return e.jsonrpc != nil || method == '"' || method == cutOff || e.result != nil || e.err.IsObject()
}

// message returns the message of the envelope.
func (e envelope) message() (m Message) {
	if e.class != '{' {
		return Message{Reason: "JSON, but " + className[e.class] + " where a message should be"}
	}
	m.Params, m.Result, m.Error, m.DuplicateKeys = e.params, e.result, e.err, e.duplicates
	if c := e.id.Class(); c != '{' && c != '[' {
		m.ID = e.id
	}
	m.Long = len(m.ID) > MaxWord || len(e.method) > MaxWord
	m.Method = e.method.word(len(e.method))
	m.ResultType = e.resultType.word(MaxWord)
	if e.errorCode.Class() == '0' {
		m.ErrorCode = string(clip(e.errorCode, MaxWord))
	}
	if m.ErrorMessage = e.err.word(MaxWord); e.errorMessage != nil {
		m.ErrorMessage = e.errorMessage.word(MaxWord)
	}
	switch {
	case e.method != nil:
		m.Kind = e.callKind(&m)
	case e.err != nil && (e.err.Class() != 'n' || e.result == nil):
		m.Kind = ErrorResponse
		e.checkError(&m)
	case e.result != nil:
		m.Kind = Response
		m.IsError = e.isError.IsTrue()
		if e.err != nil {
			m.remark("error is null next to a result")
		}
	default:
		m.Reason = "object without method, result or error"
		return m
	}
	e.checkID(&m)
	if e.jsonrpc == nil {
		m.remark("no jsonrpc member")
	} else if string(e.jsonrpc) != `"2.0"` && e.jsonrpc.Decoded() != "2.0" {
		m.remark("jsonrpc is not \"2.0\"")
	}
	return m
}

// word returns a string decoded, of at most n bytes of JSON, and "" for any other value.
func (v Value) word(n int) string {
	if v.Class() != '"' {
		return ""
	}
	return unquote(clip(v, n))
}

// callKind decides between request and notification.
func (e *envelope) callKind(m *Message) (kind Kind) {
	switch {
	case e.method.Class() != '"':
		m.remark("method is " + className[e.method.Class()])
	case e.id == nil:
		kind = Notification
	case e.id.Class() == 'n':
		m.remark("a method with id null is neither request nor notification")
	default:
		kind = Request
	}
	if e.result != nil {
		m.remark("both method and result")
	}
	if e.err != nil {
		m.remark("both method and error")
	}
	if e.params != nil && !e.params.IsObject() {
		m.remark("params is " + className[e.params.Class()])
	}
	return kind
}

// checkError remarks on an error response.
func (e *envelope) checkError(m *Message) {
	if e.result != nil {
		m.remark("both result and error")
	}
	if !e.err.IsObject() {
		m.remark("error is " + className[e.err.Class()])
		return
	}
	if e.errorCode.Class() != '0' || !isInteger(e.errorCode) {
		m.remark("error code is not an integer")
	}
	if e.errorMessage.Class() != '"' {
		m.remark("error message is not a string")
	}
}

// checkID remarks on the id. A message is invalid if its id is not a string, a number or
// null (basic/index).
func (e *envelope) checkID(m *Message) {
	switch c := e.id.Class(); c {
	case '"':
	case '0':
		if !isInteger(e.id) {
			m.remark("id is not written as an integer")
		}
	case 0:
		if m.Kind == Response || m.Kind == ErrorResponse {
			m.remark("response without id")
		}
	case 'n':
		if m.Kind != Invalid {
			m.remark("id is null")
		}
	default:
		m.Kind, m.IsError = Invalid, false
		m.remark("id is " + className[c])
	}
}

// isInteger reports whether a number is written without a point and an exponent.
func isInteger(n []byte) bool { return !bytes.ContainsAny(n, ".eE") }

// remark adds a remark to the reason.
func (m *Message) remark(text string) {
	m.Reason = strings.TrimPrefix(m.Reason+"; "+text, "; ")
}

var className = map[byte]string{
	'{': "an object", '[': "an array", '"': "a string", '0': "a number",
	't': "true", 'f': "false", 'n': "null",
}
