package tap

import "fmt"

// A Kind says what a frame is in JSON-RPC.
type Kind uint8

const (
	// Invalid is a frame that is not a JSON-RPC message: a banner, a blank
	// line, broken JSON, an object without method, result or error.
	Invalid Kind = iota
	// Request has a method and an id.
	Request
	// Response has a result. Whether the tool behind it failed is
	// [Message.IsError].
	Response
	// ErrorResponse has an error. Its stable name is "error".
	ErrorResponse
	// Notification has a method and no id.
	Notification
	// Batch is a JSON array of messages (2025-03-26 only: basic/index).
	Batch
	// Other is no JSON-RPC and does not mean to be: an HTTP body such as a page
	// or a token response, a WebSocket ping. It is not a failure.
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
