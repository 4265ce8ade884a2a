package replay

import (
	"io"
	"sort"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Script is a recorded session in a form that can be played. It does not change
// once it is made, and several goroutines may play it at once, each a [Session]
// of its own.
type Script struct {
	opt      Options
	spool    Spool
	triggers []trigger
	// steps are what the server did, and the gates between, in recorded order. Number 0
	// is none.
	steps   []step
	patches []patch
	// led says which of the paths that are ignored lead to something.
	led []bool
	// responses are the heads of responses over HTTP, number 0 is none.
	responses []Response
	// batches are the frames with several messages, by their number.
	batches map[uint64]batch
	// asked is what became of the server's requests, by their steps.
	asked map[uint32]answer
	// needed are the triggers without which a poll's answer would come too early, by
	// the poll.
	needed map[uint32]uint32
	index  index
	// requests counts the triggers that are requests. opening is the first of them, 0 for
	// none.
	requests int
	opening  uint32
	// ownIDs is above each number that the server used for an id, or at the end of
	// one.
	ownIDs int64
	// end is the trigger of the client's end, 0 when the recording has none.
	end uint32
	// inbound reports that exchanges carry only what the client sends: that of HTTP+SSE.
	inbound bool
	// facts are what the recorded session said of itself; eras what it spoke.
	facts session.Facts
	eras  eras
	// shows are the capabilities of the server that its notifications show, as
	// "tools.listChanged".
	shows map[string]bool
}

// Requests returns how many requests of the client's the recording holds.
func (s *Script) Requests() int {
	return s.requests
}

// Empty reports whether there is nothing in it that could be played.
func (s *Script) Empty() bool { return s.requests == 0 && s.Steps() == 0 }

// Steps returns how many messages of the server's it holds.
func (s *Script) Steps() (n int) {
	for i := 1; i < len(s.steps); i++ {
		if s.steps[i].kind == stepMessage {
			n++
		}
	}
	return n
}

// Opens reports whether the script has a request of the kind that a client begins
// with: an initialize, or for modern one that names its own version.
func (s *Script) Opens(modern bool) bool { return s.eras.opens(modern) }

// A Fit says how well a script fits a live request.
type Fit uint8

const (
	FitNone  Fit = iota
	FitOther     // it has one with the same message, whose head says something else
	FitExact     // it has one like it
)

// Fits reports whether the script has a request that is matched by a live one.
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

// HasBroken reports whether the script has a frame like raw, which is no message.
func (s *Script) HasBroken(raw []byte) bool {
	key, ok := invalidKey(raw)
	return ok && s.index.has(key)
}

// HasPage reports whether the script has a request for a target that carries no message.
func (s *Script) HasPage(method, target string) bool {
	for _, key := range bareKeys(method, target, "", nil) {
		if s.index.has(key) {
			return true
		}
	}
	return false
}

// Ends returns the status with which the recorded server answered the DELETE that ends a
// session, the first that did if there are several; ok is false if there was none.
func (s *Script) Ends() (status int, ok bool) {
	for i := range s.triggers {
		if t := &s.triggers[i]; t.deletes && t.response != 0 && (!ok || status >= 300) {
			status, ok = s.responses[t.response].Status, true
		}
	}
	return status, ok
}

// A triggerKind says what the client did.
type triggerKind uint8

const (
	triggerStart        triggerKind = iota // the session began
	triggerRequest                         // a request
	triggerNotification                    // a notification that is no cancellation
	triggerAnswer                          // an answer to a request of the server's
	triggerCancel                          // the cancellation of a request
	triggerInvalid                         // a frame that is no message
	triggerEnd                             // the client's lane ended
	triggerBare                            // a request of HTTP without a message: a stream is opened or ended
	triggerRefused                         // something that was refused for what is not in the message
)

// A triggerFlags is a set of what is known of a trigger.
type triggerFlags uint8

const (
	// triggerReferred: another trigger's steps repeat an id or a token of it.
	triggerReferred triggerFlags = 1 << iota
	// triggerModern: the request names its own version.
	triggerModern
	// triggerPoll: the request asks how a task of its call stands.
	triggerPoll
	// triggerCancelled: the client cancelled the request.
	triggerCancelled
	// triggerListens: the request is a subscription, so no client waits for its answer.
	triggerListens
)

// A trigger is something that the client did.
type trigger struct {
	at            time.Duration
	seq, exchange uint64
	place         place
	// first begins the list of its own steps, hang that of the steps which only
	// came after it.
	first, hang uint32
	// call is the first trigger of the same call, and again, kept there, the last.
	call, again uint32
	// answer is the step that answers a request, or that an answer answers; 0 for none.
	answer uint32
	// carrier is, over HTTP, the first trigger of the same exchange, which has all steps of
	// it; 0 on other transports. response is what the exchange was answered with, kept
	// at the carrier; 0 for nothing.
	carrier, response uint32
	// token is a hash of its progress token, 0 for none.
	token uint32
	index uint16
	kind  triggerKind
	flags triggerFlags
	// opens reports that it opens a stream, a GET, deletes that it ends the session, a DELETE.
	opens, deletes bool
}

func (t *trigger) has(f triggerFlags) bool { return t.flags&f != 0 }

// message names the recorded message.
func (t *trigger) message() session.Ref { return session.Ref{Seq: t.seq, Index: int(t.index)} }

// A stepKind says what a step is.
type stepKind uint8

const (
	stepMessage stepKind = iota // the server sent a message
	stepAnswer                  // a gate: the client answered what ref asks
	stepCancel                  // a gate: the client cancelled, which was trigger ref
	stepLeave                   // the server left by itself
	stepHead                    // the head of a response
	stepData                    // bytes of a response that are no message
	stepEnd                     // the end of a response
)

// A stepFlags is a set of what is known of a step.
type stepFlags uint16

const (
	// stepFinal: it answers the request whose step it is.
	stepFinal stepFlags = 1 << iota
	// stepRequest: it is a request, so the client is to answer it.
	stepRequest
	// stepNote: it is a notification.
	stepNote
	// stepHangs: it is in a list of what only came after the trigger.
	stepHangs
	// stepGeneral: it came on another stream than that of its request.
	stepGeneral
	// stepBatched: it is a part of a batch.
	stepBatched
	// stepLine: its bytes are a line of stdio, terminator included.
	stepLine
	// stepRepeat: it is sent once more, on a stream that was resumed.
	stepRepeat
	// stepAbort: the response was broken off.
	stepAbort
)

// A step is something that the server did, or a gate.
type step struct {
	at    time.Duration
	seq   uint64
	place place
	// whole is where the event or the body is that a message came in over HTTP, empty
	// for others.
	whole   place
	trigger uint32 // in whose list it is
	call    uint32 // the request to whose call it belongs, 0 for none
	next    uint32 // in that list, 0 at its end
	after   uint32 // the last trigger before it
	ref     uint32
	patch   uint32 // its first patch
	index   uint16
	kind    stepKind
	form    tap.Form
	flags   stepFlags
	// patches is how many patches it has.
	patches uint8
	// needs is the capability without which a client must not be asked this.
	needs capabilities
}

func (st *step) has(f stepFlags) bool { return st.flags&f != 0 }

// message names the recorded message.
func (st *step) message() session.Ref { return session.Ref{Seq: st.seq, Index: int(st.index)} }

// A patchKind says what stands in the place of recorded bytes.
type patchKind uint8

const (
	patchID    patchKind = iota // the id of the live request for trigger ref
	patchToken                  // its progress token
	patchOwn                    // the id of this request, which is the server's
	patchAsked                  // the id of the server's request at step ref
	patchTask                   // the task that the client made of step ref
)

// A patch is a place in a message whose bytes are replaced, from the message's
// first byte on.
type patch struct {
	from, to uint32
	ref      uint32
	kind     patchKind
}

// A batch is a frame of several messages: its bytes, the event that they were in, and
// the steps made of it.
type batch struct {
	place       place
	whole       place
	first, last uint32
	line        bool
}

// A Response is the head of a response over HTTP.
type Response struct {
	Status int
	// Header has the fields in their order and spelling, without those that are about
	// one connection, one body or one session.
	Header [][2]string
	// Length is below 0 where there was no Content-Length, what it said where the
	// response was broken off, and 0 elsewhere.
	Length int64
	// Events reports that an event stream follows, Date and Session that there were the
	// fields Date and Mcp-Session-Id, which Header leaves out.
	Events, Date, Session bool
}

// An answer is what the client said to a request of the server's.
type answer struct {
	// trigger is the answer, and said stands for what it said.
	trigger uint32
	said    key
}

// find returns the trigger of a client's message, 0 for none.
func (s *Script) find(ref session.Ref) uint32 {
	return search(len(s.triggers), ref, func(i int) session.Ref { return s.triggers[i].message() })
}

// findStep returns the step of a server's message, 0 for none.
func (s *Script) findStep(ref session.Ref) uint32 {
	i := search(len(s.steps), ref, func(i int) session.Ref { return s.steps[i].message() })
	if s.steps[i].kind != stepMessage {
		return 0
	}
	return i
}

// search finds a message among n that are in recorded order from number 1 on, 0 for none.
func search(n int, ref session.Ref, at func(int) session.Ref) uint32 {
	i := 1 + sort.Search(n-1, func(i int) bool {
		x := at(i + 1)
		return x.Seq > ref.Seq || x.Seq == ref.Seq && x.Index >= ref.Index
	})
	if i < n && at(i) == ref {
		return uint32(i)
	}
	return 0
}

// A Spool keeps the bytes of messages for a [Script]: what was written, byte for
// byte, at the offset at which it was written. Once the script is made nothing
// more is written, and ReadAt may be called from several goroutines at once.
type Spool interface {
	io.Writer
	io.ReaderAt
}

// Memory is a [Spool] in memory. The zero value is ready.
type Memory struct{ b []byte }

// Write implements [io.Writer]. It never fails.
func (m *Memory) Write(p []byte) (int, error) {
	m.b = append(m.b, p...)
	return len(p), nil
}

// ReadAt implements [io.ReaderAt].
func (m *Memory) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(m.b)) {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p, m.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// A place is where a message is in the spool.
type place struct {
	off  uint64
	size uint32
}

// part is the place of a part of the message.
func (p place) part(s span) place {
	return place{off: p.off + uint64(s.from), size: uint32(s.to - s.from)}
}

// load reads a message.
func (p place) load(from io.ReaderAt) ([]byte, error) {
	buf := make([]byte, p.size)
	n, err := from.ReadAt(buf, int64(p.off))
	if n == len(buf) {
		err = nil
	}
	return buf, err
}
