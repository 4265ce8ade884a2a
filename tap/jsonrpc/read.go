package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Peek reads the envelope of one frame. It takes any bytes: terminators, white
// space around the message, a byte order mark, banners, cut or hostile JSON.
// The frame is checked to be JSON in full, since tools that skip that read
// nonsense without complaint. Peek holds on to raw and changes nothing in it.
func Peek(raw []byte) Message {
	text, marked := bytes.CutPrefix(raw, []byte(bom))
	if !valid(text) {
		return Message{Reason: notJSON(text, len(raw)-len(text))}
	}
	m := classify(trimJSON(text))
	if m.Kind == Invalid {
		return m
	}
	if marked {
		m.Reason = remark(m.Reason, "byte order mark")
	}
	if i := invalidUTF8(raw); i >= 0 {
		m.Reason = remark(m.Reason, "not UTF-8 at byte "+strconv.Itoa(i))
	}
	return m
}

// bom must not precede JSON and may be ignored where it does
// (RFC 8259 section 8.1).
const bom = "\xef\xbb\xbf"

// valid reports whether text is one JSON value, nested at most MaxDepth deep. The depth
// is checked first because gjson recurses.
func valid(text []byte) bool {
	if bytes.Count(text, []byte{'['})+bytes.Count(text, []byte{'{'}) > MaxDepth {
		if deepest, _, _ := nesting(text); deepest > MaxDepth {
			return false
		}
	}
	return gjson.ValidBytes(text)
}

// nesting returns how deep arrays and objects are nested in text, how many of them are
// open at its end, and whether it ends inside a string.
func nesting(text []byte) (deepest, open int, inString bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			open++
			deepest = max(deepest, open)
		case c == '}' || c == ']':
			open--
		}
	}
	return deepest, open, inString
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
	// White space changes nothing but where a text that ends too early is found
	// to be broken: behind its end.
	if !errors.As(json.Unmarshal(append(slices.Clip(text), ' '), &value), &fault) {
		return "not JSON"
	}
	at := min(int(fault.Offset)-1, len(text))
	_, open, inString := nesting(text[:at])
	where := fmt.Sprintf(" at byte %d", offset+at)
	switch {
	case at == len(text) && inString:
		return "not JSON: ends inside a string" + where
	case at == len(text):
		return "not JSON: ends too early" + where
	}
	switch c := text[at]; {
	case inString && c < ' ':
		return "not JSON: control character in a string" + where
	case inString:
		return "not JSON: bad escape" + where
	case open == MaxDepth && (c == '[' || c == '{'):
		return fmt.Sprintf("nested more than %d deep", MaxDepth) + where
	case c < ' ' || c >= 0x7f:
		return fmt.Sprintf("not JSON: unexpected 0x%02X", c) + where
	default:
		return fmt.Sprintf("not JSON: unexpected %q", c) + where
	}
}

// invalidUTF8 returns where raw stops being UTF-8, or -1.
func invalidUTF8(raw []byte) int {
	if utf8.Valid(raw) {
		return -1
	}
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// remark adds one remark to those that a reason already holds.
func remark(reason, more string) string {
	if reason == "" {
		return more
	}
	return reason + "; " + more
}

// classify makes the Message of a text that is JSON.
func classify(text Value) (m Message) {
	if !text.IsArray() {
		var e envelope
		e.read(text)
		e.classify(&m)
		return m
	}
	elements := 0
	text.Each(func(_ []byte, v Value) bool {
		if elements++; elements <= MaxBatch {
			var e envelope
			e.read(v)
			m.Batch = append(m.Batch, Message{})
			e.classify(&m.Batch[elements-1])
		}
		return true
	})
	if elements == 0 {
		return Message{Reason: "empty batch"}
	}
	if m.Kind = Batch; elements > MaxBatch {
		m.Reason = fmt.Sprintf("batch of %d, only the first %d were read", elements, MaxBatch)
	}
	return m
}

// An envelope is what was read of one message: its first byte, and the values of its
// members and of those of its result or error, nil for those that are absent.
type envelope struct {
	class                                      byte
	jsonrpc, id, method, params, result, err   Value
	isError, resultType, errorCode, errMessage Value
	twice                                      []string // members that occur more than once
}

// maxNames is how many names of other members are compared with one another.
const maxNames = 32

// read reads a message, which may be cut off. The last of several members of one
// name counts.
func (e *envelope) read(text Value) {
	e.class = text.Class()
	if e.class != '{' {
		return
	}
	var others [maxNames]string
	n := 0
	text.Each(func(name []byte, v Value) bool {
		switch to := e.member(name); {
		case to != nil:
			if *to != nil {
				e.repeated(name)
			}
			*to = v
		case slices.Contains(others[:n], string(name)):
			e.repeated(name)
		case n < maxNames:
			others[n] = string(name)
			n++
		}
		return true
	})
	if e.result.IsObject() {
		e.result.Each(func(name []byte, v Value) bool {
			switch string(name) {
			case "isError":
				e.isError = v
			case "resultType":
				e.resultType = v
			}
			return true
		})
	}
	e.errorCode, e.errMessage = e.err.Get("code"), e.err.Get("message")
}

// member returns where a member belongs, nil for one that does not matter.
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

func (e *envelope) repeated(name []byte) {
	if len(e.twice) < maxNames && !slices.Contains(e.twice, string(name)) {
		e.twice = append(e.twice, string(name))
	}
}

// classify makes the Message of the envelope.
func (e *envelope) classify(m *Message) {
	if e.class != '{' {
		m.Reason = "JSON, but " + className[e.class] + " where a message should be"
		return
	}
	e.fill(m)
	switch {
	case e.method.Class() != 0:
		e.classifyCall(m)
	case e.err.Class() != 0 && (e.err.Class() != 'n' || e.result.Class() == 0):
		m.Kind = ErrorResponse
		e.classifyError(m)
	case e.result.Class() != 0:
		m.Kind = Response
		m.IsError = e.isError.IsTrue()
		if e.err.Class() != 0 {
			m.Reason = remark(m.Reason, "error is null beside a result")
		}
	default:
		m.Reason = "object without method, result or error"
		return
	}
	e.classifyID(m)
	if v := e.jsonrpc; v == nil {
		m.Reason = remark(m.Reason, "no jsonrpc member")
	} else if string(v) != `"2.0"` && v.Decoded() != "2.0" {
		m.Reason = remark(m.Reason, "jsonrpc is not \"2.0\"")
	}
}

// fill copies what the envelope holds, whatever it amounts to.
func (e *envelope) fill(m *Message) {
	m.Params, m.Result, m.Error = e.params, e.result, e.err
	if c := e.id.Class(); c != '{' && c != '[' {
		m.ID = e.id
		m.Long = len(m.ID) > MaxWord
	}
	if e.method.Class() == '"' {
		m.Long = m.Long || len(e.method) > MaxWord
		m.Method = methodName(e.method)
	}
	if e.resultType.Class() == '"' {
		m.ResultType = unquote(clip(e.resultType, MaxWord))
	}
	if e.errorCode.Class() == '0' {
		m.ErrorCode = string(clip(e.errorCode, MaxWord))
	}
	if e.errMessage.Class() == '"' {
		m.ErrorMessage = unquote(clip(e.errMessage, MaxWord))
	} else if e.err.Class() == '"' {
		m.ErrorMessage = unquote(clip(e.err, MaxWord))
	}
	m.DuplicateKeys = e.twice
}

// classifyCall decides between request and notification.
func (e *envelope) classifyCall(m *Message) {
	switch {
	case e.method.Class() != '"':
		m.Reason = "method is " + className[e.method.Class()]
	case e.id.Class() == 0:
		m.Kind = Notification
	case e.id.Class() == 'n':
		m.Reason = "a method with id null is neither request nor notification"
	default:
		m.Kind = Request
	}
	if e.result.Class() != 0 {
		m.Reason = remark(m.Reason, "both method and result")
	}
	if e.err.Class() != 0 {
		m.Reason = remark(m.Reason, "both method and error")
	}
	if c := e.params.Class(); c != 0 && c != '{' {
		m.Reason = remark(m.Reason, "params is "+className[c])
	}
}

// classifyError reports what is odd about an error response.
func (e *envelope) classifyError(m *Message) {
	if e.result.Class() != 0 {
		m.Reason = remark(m.Reason, "both result and error")
	}
	if c := e.err.Class(); c != '{' {
		m.Reason = remark(m.Reason, "error is "+className[c])
		return
	}
	if e.errorCode.Class() != '0' || !integral(e.errorCode) {
		m.Reason = remark(m.Reason, "error code is not an integer")
	}
	if e.errMessage.Class() != '"' {
		m.Reason = remark(m.Reason, "error message is not a string")
	}
}

// classifyID reports what is odd about the id. One that is not a string, number or
// null makes the message invalid (basic/index).
func (e *envelope) classifyID(m *Message) {
	switch c := e.id.Class(); c {
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
	if m, ok := methodIndex[string(token[1:len(token)-1])]; ok {
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
