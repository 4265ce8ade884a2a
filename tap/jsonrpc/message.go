// Package jsonrpc reads JSON-RPC messages from frames. It is the only reader of them:
// [PeekFrame] takes any bytes and returns the message, or the reason why they are not
// one. Only what a list shows is decoded, and no number is converted to a float.
//
// It also has the vocabulary of the protocol: methods ([Methods]), revisions
// ([Revisions]), and what a message is about ([Subject]).
package jsonrpc

import "fmt"

// MaxWord is how many bytes of one id, method or error message are kept if they are
// copied.
const MaxWord = 4096

// MaxDepth is how deep arrays and objects may be nested. A deeper frame is
// [Invalid], which also bounds the cost of reading it. encoding/json has the same
// limit.
const MaxDepth = 10000

// MaxBatch is how many elements of a batch are read. The rest is only checked to be
// JSON, so that a frame of `[1,1,1,…` cannot take a hundred times its own size in
// memory. The TypeScript SDK refuses batches above 100.
const MaxBatch = 10000

// A Message is the envelope of one frame, with the few inner members that a list needs.
// Byte slices point into the frame.
//
// If a member occurs twice, the last one counts, as it does for the JSON parsers of
// JavaScript, Python and Go, and DuplicateKeys names it.
type Message struct {
	// Kind is what the frame is. The other fields are set if they could be read,
	// whatever the kind.
	Kind Kind
	// ID is the id exactly as in the frame, quotes included, so that `"1"` and
	// `1` differ; nil when there is none, or when it is an object or an array.
	ID []byte
	// Method is the decoded method; "" when there is none.
	Method string
	// Params, Result and Error are the members' values as in the frame; nil when
	// absent. Result may be any JSON, `null` included.
	Params, Result, Error []byte
	// ErrorCode is error.code as it is written; "" when it is absent or not a
	// number.
	ErrorCode string
	// ErrorMessage is error.message, decoded, at most [MaxWord] bytes of it. An
	// error that is itself a string is its own message.
	ErrorMessage string
	// IsError reports that the result has a member isError which is true: the
	// tool failed (server/tools#error-handling).
	IsError bool
	// ResultType is result.resultType, decoded (2026-07-28, basic/index).
	ResultType string
	// Reason is why the kind is Invalid, or what else is wrong with the envelope, or
	// "". Several remarks are joined by "; ".
	Reason string
	// DuplicateKeys names the members that occur twice in the envelope, each
	// once.
	DuplicateKeys []string
	// Long reports that the id or the method is longer than [MaxWord].
	Long bool
	// Unread reports that the frame is too large to be loaded, so the message was read
	// from its beginning. The rest, which often has the id, is not known.
	Unread bool
	// Batch holds the elements of a batch, at most [MaxBatch].
	Batch []Message
}

// All yields the elements of a batch, or the message itself if it has none.
func (m *Message) All(yield func(*Message) bool) {
	if m.Kind != Batch || len(m.Batch) == 0 {
		yield(m)
		return
	}
	for i := range m.Batch {
		if !yield(&m.Batch[i]) {
			return
		}
	}
}

// Failures returns the number of failures in a frame, and how many of these are not
// messages.
func (m *Message) Failures() (errors, invalid uint64) {
	for m := range m.All {
		if m.IsFailure() {
			errors++
		}
		if m.Kind == Invalid {
			invalid++
		}
	}
	return errors, invalid
}

// IsFailure reports whether the message itself is a failure: an error response,
// a result with isError, or a frame that is not a message.
func (m *Message) IsFailure() bool {
	return m.Kind == ErrorResponse || m.Kind == Invalid || m.Kind == Response && m.IsError
}

// A Kind is what a frame is in JSON-RPC.
type Kind uint8

const (
	// Invalid is a frame that is not a JSON-RPC message: a banner, a blank
	// line, broken JSON, an object without method, result or error.
	Invalid Kind = iota
	// Request has a method and an id.
	Request
	// Response has a result. Whether its tool failed is
	// [Message.IsError].
	Response
	// ErrorResponse has an error. Its stable name is "error".
	ErrorResponse
	// Notification has a method and no id.
	Notification
	// Batch is a JSON array of messages (2025-03-26 only: basic/index).
	Batch
	// Other is not meant to be JSON-RPC, and not a failure: an HTTP body such as a page
	// or a token response, a WebSocket ping.
	Other
	// Kinds is the number of kinds.
	Kinds
)

var kindNames = [Kinds]string{"invalid", "request", "response", "error", "notification", "batch", "other"}

// String returns the kind's stable name: invalid, request, response, error,
// notification, batch or other.
func (k Kind) String() string {
	if k < Kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// ParseKind is the inverse of [Kind.String].
func ParseKind(s string) (Kind, error) {
	for k, name := range kindNames {
		if name == s {
			return Kind(k), nil
		}
	}
	return 0, fmt.Errorf("unknown kind %q (want invalid, request, response, error, notification, batch or other)", s)
}
