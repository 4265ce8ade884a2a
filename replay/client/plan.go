package client

import (
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// A Loader returns a frame of the recorded session again, by its number.
type Loader func(seq uint64) (tap.Frame, error)

// A Plan is what the client of a recorded session did. It does not change once it is
// made.
type Plan struct {
	load      Loader
	keyer     *replay.Keyer
	facts     session.Facts
	steps     []step
	asks      []ask
	questions []question
	// hello and modern are the requests that say who the client is: the initialize,
	// and the first that says so in its _meta. -1 for none.
	hello, modern int
	// standing says that the client held a stream open beside those of its
	// requests, or that there was no need to: the session was not on HTTP.
	standing, http, sse bool
	// fields are the arguments that header fields repeat, of tools by their names.
	fields map[string][]headerField
	// fresh is above each number that the client used for an id.
	fresh int64
}

// Requests returns how many requests of the client's are to be sent.
func (p *Plan) Requests() (n int) {
	for i := range p.steps {
		if s := &p.steps[i]; s.kind == stepSend && s.ask >= 0 {
			n++
		}
	}
	return n
}

// Steps returns how many messages of the client's are to be sent, its answers not
// counted.
func (p *Plan) Steps() (n int) {
	for i := range p.steps {
		if p.steps[i].kind == stepSend {
			n++
		}
	}
	return n
}

// Facts are what the recorded session said of itself.
func (p *Plan) Facts() session.Facts { return p.facts }

// SSE reports whether the session was recorded over HTTP+SSE (2024-11-05
// basic/transports).
func (p *Plan) SSE() bool { return p.sse }

// A stepKind says what a step is.
type stepKind uint8

const (
	stepSend   stepKind = iota // the client sent a message
	stepAnswer                 // it answered what the server had asked
	stepAwait                  // the answer to a request of it arrived
	stepHear                   // something else arrived
	stepHangUp                 // it broke off the exchange of a request
	stepEnd                    // its lane ended
)

// A step is one thing that happened in the recording.
type step struct {
	kind     stepKind
	role     session.Role
	batch    bool  // the message is an element of an array
	refused  bool  // by its HTTP status
	times    int32 // that something was heard in a row
	ref      session.Ref
	head     uint64 // the frame with the head of its request of HTTP, 0 for none
	at       time.Duration
	method   string
	call     session.Ref
	ask      int // of a request, of its answer, of what is cancelled; -1 for none
	question int // of an answer; -1 for none
}

// An ask is a request of the client's.
type ask struct {
	ref, call session.Ref
	id        string // as it stands
	method    string
	subject   string
	// answer is the recorded answer, zero for none, which took so long.
	answer session.Ref
	took   time.Duration
	// needs are the asks whose answers gave a value that this one repeats.
	needs []int
	// retry is the ask that repeats it after an input_required result, -1 for none;
	// final says that it is a poll which told that its task had ended.
	retry int
	final bool
	fails bool // its answer was an error
	// tasked says that its answer was a task, mints that it gave a value of any kind.
	tasked, mints bool
	modern        bool // it names its own version
	role          session.Role
}

// A question is what the server asked: a request of its own, or one in an
// input_required result, where it has a name.
type question struct {
	ref, within session.Ref
	name        string
	method      string
	key         replay.Key
	// answer is the client's message with the answer, zero for none.
	answer session.Ref
}
