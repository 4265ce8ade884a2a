package tap

import "fmt"

// A Form is the kind of unit that a frame is in its transport.
type Form uint8

const (
	// FormLine is a line on stdio, a piece of stderr, or an [Event].
	FormLine Form = iota
	// FormBody is an HTTP body, without its transfer coding and, where the tap
	// could decode it, without its content coding.
	FormBody
	// FormEvent is one server-sent event, with all of its lines and the blank
	// line that ends it. The events of a response, joined, are its body.
	FormEvent
	// FormText and FormBinary are WebSocket messages: their payload, unmasked,
	// fragments joined.
	FormText
	FormBinary
	// FormPing, FormPong and FormClose are the payloads of WebSocket control
	// frames.
	FormPing
	FormPong
	FormClose
	// FormBytes is what crossed a connection where it could not be read as HTTP
	// or WebSocket.
	FormBytes
	// Forms is the number of forms.
	Forms
)

var formNames = [Forms]string{"line", "body", "event", "text", "binary", "ping", "pong", "close", "bytes"}

// String returns the form's stable name: line, body, event, text, binary, ping,
// pong, close or bytes.
func (f Form) String() string {
	if f < Forms {
		return formNames[f]
	}
	return fmt.Sprintf("form(%d)", uint8(f))
}

// ParseForm is the inverse of [Form.String].
func ParseForm(s string) (Form, error) {
	for f, name := range formNames {
		if name == s {
			return Form(f), nil
		}
	}
	return 0, fmt.Errorf("unknown form %q (want line, body, event, text, binary, ping, pong, close or bytes)", s)
}
