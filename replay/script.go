package replay

import (
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Script is a recorded session in playable form. It is immutable, so several
// goroutines may play it at once, each with a [Session] of its own.
type Script struct {
	opt Options
	// triggers are what the client did. steps are what the server did, with the gates in
	// between. Both are in recorded order. Step 0 is unused.
	triggers []trigger
	steps    []step
	index    index
	// matched reports which of the ignored paths matched something.
	matched []bool
	// requests counts the triggers that are requests. opening is the first of them, 0 for
	// none.
	requests int
	opening  uint32
	// nextID is greater than every number that the server used as an id or as the suffix of one.
	nextID int64
	// end is the trigger at which the client closed its lane, 0 for none.
	end uint32
	// inbound reports that HTTP exchanges carry client messages only, as in HTTP+SSE.
	inbound bool
	facts   session.Facts
	eras    eras
	// implied are the server capabilities that its notifications imply, such as
	// "tools.listChanged".
	implied map[string]bool
	// orphans are the canonical ids of client responses that match no server request.
	orphans map[string]bool
}

// Requests returns the number of recorded client requests.
func (s *Script) Requests() int { return s.requests }

// Steps returns the number of recorded server messages.
func (s *Script) Steps() (n int) {
	for i := range s.steps {
		if i > 0 && s.steps[i].kind == stepMessage {
			n++
		}
	}
	return n
}

// Empty reports whether the script has nothing to play.
func (s *Script) Empty() bool { return s.requests == 0 && s.Steps() == 0 }

// Opens reports whether the script has a request that opens a session: an initialize or,
// if modern is set, a request that names its own protocol version.
func (s *Script) Opens(modern bool) bool { return s.eras.opens(modern) }

// A Fit reports how well a script fits a live request.
type Fit uint8

const (
	FitNone  Fit = iota
	FitOther     // it has the same message with a different HTTP head
	FitExact     // it has an equal request
)

// Fits reports how well the script fits a live request.
func (s *Script) Fits(m *jsonrpc.Message, variant string) Fit {
	k := newKeyer(&s.opt)
	x := k.key(m)
	switch {
	case s.index.has(x.variant(variant)):
		return FitExact
	case s.index.has(x.exact), s.index.has(x.other()):
		return FitOther
	}
	return FitNone
}

// HasBroken reports whether the script has a frame equal to raw that is not a message.
func (s *Script) HasBroken(raw []byte) bool {
	key, ok := invalidKey(raw)
	return ok && s.index.has(key)
}

// HasPage reports whether the script has an HTTP request without a message for target.
func (s *Script) HasPage(method, target string) bool {
	return slices.ContainsFunc(bareKeys(method, target, "", nil), s.index.has)
}

// Ends returns the recorded status of the DELETE that ends a session. If there were several, it
// prefers a failure, then the first. ok is false if there was none.
func (s *Script) Ends() (status int, ok bool) {
	for i := range s.triggers {
		if t := &s.triggers[i]; t.deletes && t.response != nil && (!ok || status >= 300) {
			status, ok = t.response.Status, true
		}
	}
	return status, ok
}

type triggerKind uint8

const (
	triggerStart        triggerKind = iota // the session began
	triggerRequest                         // a request
	triggerNotification                    // a notification other than a cancellation
	triggerAnswer                          // a response to a server request
	triggerCancel                          // the cancellation of a request
	triggerInvalid                         // a frame that is not a message
	triggerEnd                             // the client's lane ended
	triggerBare                            // an HTTP request without a message
	triggerRefused                         // an HTTP request refused because of its head
)

// A trigger is something the client did.
type trigger struct {
	kind     triggerKind
	ref      session.Ref // the recorded message
	at       time.Duration
	exchange uint64
	raw      []byte
	// first and lastStep delimit the list of its own steps, hang and lastHang the list of steps
	// that belong to no call and came after it.
	first, hang, lastStep, lastHang uint32
	// call is the first trigger of the same call. In that trigger, lastInCall is the last one.
	call, lastInCall uint32
	// answer is, for a request, the step that answers it; for an answer, the step that it
	// answers; 0 for none.
	answer uint32
	// carrier is, over HTTP, the first trigger of the same exchange, which owns all of its
	// steps. In the carrier, response is the response of the exchange, nil for none.
	carrier  uint32
	response *Response
	// needs is the trigger that must precede a poll, or its answer would come too early.
	needs uint32
	// opens and deletes mark a GET and a DELETE.
	opens, deletes bool
	// modern reports that the request names its own protocol version, poll that it is a
	// tasks/get within a call.
	modern, poll bool
	// cancelled reports that the client cancelled the request, listens that the request is
	// a subscription: no client waits for its response.
	cancelled, listens bool
	// over reports that the exchange of the request ended, so no client waits for its response.
	over bool
}

type stepKind uint8

const (
	stepMessage stepKind = iota // the server sent a message
	stepAnswer                  // gate: the client answered step about
	stepCancel                  // gate: the client cancelled, trigger about
	stepLeave                   // the server ended the session
	stepHead                    // the head of a response
	stepData                    // bytes of a response that are not a message
	stepEnd                     // the end of a response
)

// A step is something the server did, or a gate.
type step struct {
	kind stepKind
	form tap.Form
	ref  session.Ref // the recorded message
	at   time.Duration
	// raw is the message. whole is the event or the body that contained it over HTTP, nil on
	// other transports.
	raw, whole []byte
	trigger    uint32 // the trigger whose list contains it
	call       uint32 // the request to whose call it belongs, 0 for none
	next       uint32 // the next step in the list, 0 at its end
	after      uint32 // the last trigger before it
	about      uint32 // of a gate: what it waits for
	edits      []edit
	batch      *batch // the batch that the message is part of
	// needs is the client capability that a request requires. answer is the trigger that
	// answered it, 0 for none, and answerKey the key of that answer.
	needs     capabilities
	answer    uint32
	answerKey Key

	final   bool // it answers the request whose step it is
	request bool
	notice  bool // it is a notification
	general bool // it came on a stream other than that of its request
	line    bool // raw is a line, with its terminator
	repeat  bool // it was sent once more on a resumed stream
	abort   bool // the response was cut off
}

type editKind uint8

const (
	editID    editKind = iota // the id of the live request for trigger about
	editToken                 // its progress token
	editOwn                   // the id of this server request
	editAsked                 // the id of the server request at step about
	editTask                  // the task that the client created for step about
)

// An edit replaces the value at a path of member names in a recorded message.
type edit struct {
	kind  editKind
	about uint32
	names []string
}

// A batch is a frame with several messages, and the steps made from them.
type batch struct {
	raw, whole  []byte
	first, last uint32
	line        bool
}

// A Response is the head of a response over HTTP.
type Response struct {
	Status int
	// Header has the fields in recorded order and spelling, without those specific to a
	// connection, a body or a session.
	Header [][2]string
	// Length is negative if there was no Content-Length. Otherwise it is the Content-Length if
	// the response was cut off, and else 0.
	Length int64
	// Events reports that the body is an event stream. Date and Session report that the
	// fields Date and Mcp-Session-Id, which Header omits, were present.
	Events, Date, Session bool
}

// find returns the trigger of a client message, 0 for none.
func (s *Script) find(ref session.Ref) uint32 {
	i, ok := slices.BinarySearchFunc(s.triggers[1:], ref, func(t trigger, ref session.Ref) int { return t.ref.Compare(ref) })
	if !ok {
		return 0
	}
	return uint32(i + 1)
}

// findStep returns the step of a server message, 0 for none.
func (s *Script) findStep(ref session.Ref) uint32 {
	i, ok := slices.BinarySearchFunc(s.steps[1:], ref, func(st step, ref session.Ref) int { return st.ref.Compare(ref) })
	if !ok || s.steps[i+1].kind != stepMessage {
		return 0
	}
	return uint32(i + 1)
}

// names returns the method and the subject of a recorded message.
func names(raw []byte) (method, subject string) {
	m := jsonrpc.Peek(raw)
	return m.Method, jsonrpc.Subject(m)
}
