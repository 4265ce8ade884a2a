package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Conn is a connection to a server; see [Stdio], [HTTP], [SSE] and [WebSocket]. It handles
// what its transport needs in addition to the messages, such as the session id, the header
// fields and the GET stream.
type Conn interface {
	// Open connects to the server. Events are sent to the channel until Close.
	Open(ctx context.Context, to chan<- Event) error
	// Send sends a message. The channel receives nil once the server has the message, or
	// the reason why the server will not get it.
	Send(m *Outgoing) <-chan error
	// HangUp aborts the exchange of a message. It returns false if messages have no
	// exchanges.
	HangUp(m *Outgoing) bool
	// CloseSend ends the client's lane if the transport supports half-close.
	CloseSend()
	// Close closes the connection and returns when everything is recorded. killed is the
	// signal that ended the server, "" for none.
	Close() (killed string)
}

// An Event is a message from the server, or the end of something.
type Event struct {
	Raw []byte // the message
	// On is the message on whose exchange Raw came, nil for none. If Err is set, it is the
	// message whose requests will have no response. Gone reports that nothing more will come.
	On   *Outgoing
	Err  error
	Gone bool
}

// An Outgoing is a message for the server.
type Outgoing struct {
	raw, line []byte   // the message, and its recorded line, nil for none
	form      tap.Form // of the recorded frame, FormLine for none
	kind      jsonrpc.Kind
	ids       []string // the ids of the requests in it
	method    string
	standing  bool             // the GET stream is opened after the message
	head      uint64           // the frame with the recorded head of its HTTP request, 0 for none
	was       *jsonrpc.Message // the recorded message, nil for none
	revision  jsonrpc.Revision // "" for that of the connection
	refused   bool             // it was refused in the recording too
	// header, if not nil, returns the header fields to send instead of the usual ones.
	header func(usual [][2]string) [][2]string
}

// NewOutgoing returns a message for the server.
func NewOutgoing(raw []byte) *Outgoing {
	m := jsonrpc.Peek(raw)
	out := &Outgoing{raw: raw, kind: m.Kind, method: m.Method}
	for part := range m.All {
		if part.Kind == jsonrpc.Request {
			out.ids = append(out.ids, string(part.ID))
		}
		out.standing = out.standing || part.Method == methodInitialized
	}
	return out
}

// Bytes returns the message.
func (m *Outgoing) Bytes() []byte { return m.raw }

const methodInitialized = "notifications/initialized"

// A Watcher is the recorder of the tap in front of an HTTP server. It reports when the tap has
// received a client message: two messages may use two connections, so the client sends the
// second one only when the tap has the first.
type Watcher struct {
	tap.Recorder

	mu      sync.Mutex
	waiting []chan struct{}
}

// Piece implements [tap.Recorder].
func (w *Watcher) Piece(exchange uint64, lane tap.Lane, form tap.Form, p []byte, end bool) {
	w.Recorder.Piece(exchange, lane, form, p, end)
	if !end || lane != tap.ToServer {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) > 0 {
		close(w.waiting[0])
		w.waiting = w.waiting[1:]
	}
}

// next returns a channel that is closed when the tap has received the next message.
func (w *Watcher) next() <-chan struct{} {
	c := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, c)
	return c
}

// drop removes the channel of a message that did not arrive.
func (w *Watcher) drop(c <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = slices.DeleteFunc(w.waiting, func(x chan struct{}) bool { return x == c })
}

// A ReachError reports that the server at a URL cannot be reached, or that its HTTP response
// lacks the expected message. [Play] returns it if the server opens no session.
type ReachError struct {
	// Status is the HTTP status of the response, 0 if the server sent none. Location is its
	// header field.
	Status   int
	Location string
	// Err is the reason. It may contain unescaped text from the server.
	Err error
}

// Error implements error.
func (e *ReachError) Error() string { return e.Err.Error() }

// Unwrap returns e.Err.
func (e *ReachError) Unwrap() error { return e.Err }

// isUnreachable reports whether an error means that the tap cannot reach the server.
func isUnreachable(err error) bool {
	var e *ReachError
	return errors.As(err, &e) && e.Status == 0
}

// refusal returns the error for an HTTP response. words, which may be empty, follow the status.
func refusal(res *http.Response, words string, body []byte) *ReachError {
	const most = 200
	text := "HTTP " + res.Status
	if words != "" {
		text += " " + words
	}
	if start := strings.TrimSpace(string(body[:min(len(body), most)])); start != "" {
		text += ": " + start
	}
	return &ReachError{res.StatusCode, res.Header.Get("Location"), errors.New(text)}
}

// ownAnswer returns the error in a response that was generated by the tap, nil for any other
// response. The body remains readable.
func ownAnswer(res *http.Response) error {
	if res.StatusCode != http.StatusBadGateway {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	text, own := strings.CutPrefix(strings.TrimSpace(string(body)), "mcptap: ")
	if own && strings.Contains(text, " could not be reached: ") {
		return &ReachError{Err: errors.New(text)}
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), res.Body), res.Body}
	return nil
}
