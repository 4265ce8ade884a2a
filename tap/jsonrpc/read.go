package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap"
	"github.com/tidwall/gjson"
)

// Peek reads the envelope of one frame. It takes any bytes: terminators, white
// space around the message, a byte order mark, banners, cut or hostile JSON.
// The frame is checked to be JSON in full, since tools that skip that read
// nonsense without complaint. Peek holds on to raw and changes nothing in it.
func Peek(raw []byte) Message {
	text, marked := bytes.CutPrefix(raw, []byte(bom))
	if !validJSON(text) {
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

// bom must not stand before JSON and may be ignored where it does
// (RFC 8259 section 8.1).
const bom = "\xef\xbb\xbf"

// validJSON reports whether text is JSON that is at most MaxDepth deep, which
// bounds how far gjson recurses.
func validJSON(text []byte) bool {
	if bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > MaxDepth {
		if deepest, _, _ := nesting(text); deepest > MaxDepth {
			return false
		}
	}
	return gjson.ValidBytes(text)
}

// nesting returns how many arrays and objects stand inside one another at the
// most, how many are open at the end of text, and whether that is in a string.
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

// notJSON reports why a text that stands at an offset in its frame is not JSON.
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

// A field is a member of the envelope, or of its result or error, that the reader
// takes notice of.
type field uint8

const (
	fNone field = iota
	fJSONRPC
	fID
	fMethod
	fParams
	fResult
	fError
	fIsError
	fResultType
	fCode
	fMessage
	fields
)

// An envelope is what was read of one message: the values of its members, as they
// stand.
type envelope struct {
	class byte // the first byte of the message
	value [fields]Value
	twice []string // members that occur more than once
}

// dupeNames is how many names of other members are compared with one another.
const dupeNames = 32

// read reads a message, which may be cut off. The last of several members of one
// name counts.
func (e *envelope) read(text Value) {
	e.class = text.Class()
	if e.class != '{' {
		return
	}
	var others [dupeNames]string
	n := 0
	text.Each(func(name []byte, v Value) bool {
		f := outerField(name)
		if f == fNone {
			if slices.Contains(others[:n], string(name)) {
				e.again(name)
			} else if n < dupeNames {
				others[n] = string(name)
				n++
			}
			return true
		}
		if e.value[f] != nil {
			e.again(name)
		}
		e.value[f] = v
		switch f {
		case fResult:
			e.value[fIsError], e.value[fResultType] = nil, nil
		case fError:
			e.value[fCode], e.value[fMessage] = nil, nil
		default:
			return true
		}
		if v.IsObject() {
			v.Each(func(name []byte, v Value) bool {
				if inner := innerField(f, name); inner != fNone {
					e.value[inner] = v
				}
				return true
			})
		}
		return true
	})
}

func (e *envelope) again(name []byte) {
	if len(e.twice) < dupeNames && !slices.Contains(e.twice, string(name)) {
		e.twice = append(e.twice, string(name))
	}
}

// outerField finds a member of the envelope by its name.
func outerField(name []byte) field {
	switch string(name) {
	case "jsonrpc":
		return fJSONRPC
	case "id":
		return fID
	case "method":
		return fMethod
	case "params":
		return fParams
	case "result":
		return fResult
	case "error":
		return fError
	}
	return fNone
}

// innerField finds a member of a result or an error by its name.
func innerField(of field, name []byte) field {
	switch {
	case of == fResult && string(name) == "isError":
		return fIsError
	case of == fResult && string(name) == "resultType":
		return fResultType
	case of == fError && string(name) == "code":
		return fCode
	case of == fError && string(name) == "message":
		return fMessage
	}
	return fNone
}

// has is the class of a member's value, 0 when the member is absent.
func (e *envelope) has(f field) byte { return e.value[f].Class() }

// classify makes the Message of the envelope.
func (e *envelope) classify(m *Message) {
	if e.class != '{' {
		m.Reason = "JSON, but " + className[e.class] + " where a message should be"
		return
	}
	e.fill(m)
	switch {
	case e.has(fMethod) != 0:
		e.classifyCall(m)
	case e.has(fError) != 0 && (e.has(fError) != 'n' || e.has(fResult) == 0):
		m.Kind = ErrorResponse
		e.classifyError(m)
	case e.has(fResult) != 0:
		m.Kind = Response
		m.IsError = e.value[fIsError].IsTrue()
		if e.has(fError) != 0 {
			m.Reason = remark(m.Reason, "error is null beside a result")
		}
	default:
		m.Reason = "object without method, result or error"
		return
	}
	e.classifyID(m)
	if v := e.value[fJSONRPC]; v == nil {
		m.Reason = remark(m.Reason, "no jsonrpc member")
	} else if string(v) != `"2.0"` && v.Decoded() != "2.0" {
		m.Reason = remark(m.Reason, "jsonrpc is not \"2.0\"")
	}
}

// fill copies what the envelope holds, whatever it amounts to.
func (e *envelope) fill(m *Message) {
	m.Params, m.Result, m.Error = e.value[fParams], e.value[fResult], e.value[fError]
	if c := e.has(fID); c != '{' && c != '[' {
		m.ID = e.value[fID]
		m.Long = len(m.ID) > MaxWord
	}
	if e.has(fMethod) == '"' {
		m.Long = m.Long || len(e.value[fMethod]) > MaxWord
		m.Method = methodName(e.value[fMethod])
	}
	if e.has(fResultType) == '"' {
		m.ResultType = unquote(clip(e.value[fResultType], MaxWord))
	}
	if e.has(fCode) == '0' {
		m.ErrorCode = string(clip(e.value[fCode], MaxWord))
	}
	if e.has(fMessage) == '"' {
		m.ErrorMessage = unquote(clip(e.value[fMessage], MaxWord))
	} else if e.has(fError) == '"' {
		m.ErrorMessage = unquote(clip(e.value[fError], MaxWord))
	}
	m.DuplicateKeys = e.twice
}

// classifyCall decides between request and notification.
func (e *envelope) classifyCall(m *Message) {
	switch {
	case e.has(fMethod) != '"':
		m.Reason = "method is " + className[e.has(fMethod)]
	case e.has(fID) == 0:
		m.Kind = Notification
	case e.has(fID) == 'n':
		m.Reason = "a method with id null is neither request nor notification"
	default:
		m.Kind = Request
	}
	if e.has(fResult) != 0 {
		m.Reason = remark(m.Reason, "both method and result")
	}
	if e.has(fError) != 0 {
		m.Reason = remark(m.Reason, "both method and error")
	}
	if c := e.has(fParams); c != 0 && c != '{' {
		m.Reason = remark(m.Reason, "params is "+className[c])
	}
}

// classifyError reports what is odd about an error response.
func (e *envelope) classifyError(m *Message) {
	if e.has(fResult) != 0 {
		m.Reason = remark(m.Reason, "both result and error")
	}
	if c := e.has(fError); c != '{' {
		m.Reason = remark(m.Reason, "error is "+className[c])
		return
	}
	if e.has(fCode) != '0' || !integral(e.value[fCode]) {
		m.Reason = remark(m.Reason, "error code is not an integer")
	}
	if e.has(fMessage) != '"' {
		m.Reason = remark(m.Reason, "error message is not a string")
	}
}

// classifyID reports what is odd about the id. One that is not a string, number or
// null makes the message invalid (basic/index).
func (e *envelope) classifyID(m *Message) {
	switch c := e.has(fID); c {
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

// meant reports whether a message means to be JSON-RPC, and not just any JSON.
func (e *envelope) meant() bool {
	switch {
	case e.has(fJSONRPC) != 0:
		return true
	case e.has(fMethod) == '"':
		if _, known := methodIndex[methodName(e.value[fMethod])]; known {
			return true
		}
	}
	return e.has(fID) != 0 && (e.has(fMethod) != 0 || e.has(fResult) != 0 || e.has(fError) != 0)
}

// looksMeant reports whether what was read of a broken object reads like a
// message.
func (e *envelope) looksMeant() bool {
	method := e.has(fMethod)
	return e.has(fJSONRPC) != 0 || method == '"' || method == cutOff || e.has(fResult) != 0 || e.has(fError) == '{'
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
		meant = e.meant() || m.Kind == Invalid && !validJSON(text) && e.looksMeant()
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
	for i, v := range e.value {
		if v.Class() == cutOff {
			e.value[i] = nil
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
