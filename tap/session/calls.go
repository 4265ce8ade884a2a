package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// Limits of a [Call].
const (
	// MaxCallParts is how many of the first parts of a call are kept, and how
	// many of the last.
	MaxCallParts = 64
	// MaxCallRefs is how many of its requests, of the calls within it and of
	// its embedded requests are kept: the first ones.
	MaxCallRefs = 64
)

// A Ref names one message of a recording.
type Ref struct {
	// Seq is the frame's number.
	Seq uint64 `json:"seq"`
	// Index is the message's place in a batch, from 0; 0 outside of one.
	Index int `json:"index,omitempty"`
}

// Compare orders messages as they crossed: see [cmp.Compare].
func (r Ref) Compare(other Ref) int {
	return cmp.Or(cmp.Compare(r.Seq, other.Seq), cmp.Compare(r.Index, other.Index))
}

// A Part is one message as a part of a call.
type Part struct {
	// Message names it, and At, Exchange and Lane are its frame's.
	Message  Ref
	At       time.Duration
	Exchange uint64
	Lane     tap.Lane
	// Kind is what it is in JSON-RPC, Role its role in its call.
	Kind jsonrpc.Kind
	Role Role
	// Guess reports that Call or Parent is the likeliest of several.
	Guess bool
	// Late reports that its call was over, or that the request that it is about had been
	// answered or cancelled.
	Late bool
	// Method is its method; of an answer that of its request. Subject is, of an
	// answer, what [jsonrpc.Subject] returns for its request; "" for others.
	Method, Subject string
	// Call names the first request of its call, zero when it belongs to none.
	Call Ref
	// Parent is the call within which Call was made, zero if there is none. A tasks
	// request for a task whose call is over begins a call within that one, and so does a
	// retry with a requestState that was used before.
	Parent Ref
	// Request is the request that an answer answers, which is not Call where a
	// call has several; Latency is from its last byte to the answer's.
	Request Ref
	Latency time.Duration
	// State is that of the call after the message, "" if the call is over.
	State State
	// First is the message that a replay repeats, zero for others.
	First Ref
	// Unanswered and Cancelled report that a request will get no answer, and that the
	// call that it begins will be cancelled. They need a [Survey].
	Unanswered, Cancelled bool
	// Waited is how long an unanswered request that was not cancelled waited until the end
	// of the recording, until its response was lost, or until its client hung up, if a
	// [Survey] knows.
	Waited time.Duration
	// Clash is, for a request, the oldest open request of the same side with the same
	// id.
	Clash Ref
}

// Outer returns the call of the client to which a message belongs: that in which a server
// request was made for the request and its response, and Call for others.
func (p *Part) Outer() Ref {
	asks := p.Kind == jsonrpc.Request && p.Lane == tap.ToClient
	responds := p.Role == RoleResponse && p.Lane == tap.ToServer
	if asks || responds {
		return p.Parent
	}
	return p.Call
}

// RoleCounts is a number for each role.
type RoleCounts [Roles]uint64

// A Call is a request with all messages that belong to it: see [Role].
type Call struct {
	// Ref names the first request. Lane, Exchange, ID and Method are its own
	// (ID as on the wire), Subject is what [jsonrpc.Subject] returns for it.
	Ref      Ref
	Lane     tap.Lane
	Exchange uint64
	// Session is the number of its session, 0 if it has none; see [Sessions].
	Session int
	ID      []byte
	Method  string
	Subject string
	// Parent is the call within which it was made, zero if there is none; Guess reports
	// that Parent is the likeliest of several.
	Parent Ref
	Guess  bool
	// Revision is the version in the request, or the one agreed on in the handshake; ""
	// if neither is known. In a session of the 002 dialect it is [jsonrpc.Dialect].
	Revision jsonrpc.Revision
	// At is the time of the request, FirstAnswer that of the first answer of any role,
	// and End that of the message that settled it, or when it was lost (see
	// [NoteStreamEnded]); both are 0 until then.
	At, FirstAnswer, End time.Duration
	// Status is its state; Answer names the message that settled it: an answer, the
	// cancellation, the notification that its task has ended, or the frame that ends
	// its HTTP exchange.
	Status CallStatus
	Answer Ref
	// ErrorCode and ErrorText are why it failed: the code and message of a
	// JSON-RPC error, or in ErrorText alone the text of a failed tool or task, or
	// the HTTP status that refused it, as soon as that is known.
	ErrorCode, ErrorText string
	// StreamEnd is how its HTTP exchange ended before the answer: see [NoteStreamEnded] and
	// [NoteHungUp].
	StreamEnd StreamEnd
	// Cancel names the message that cancelled it, or the end of the exchange that did
	// (see [NoteHungUp]); CancelledBy is its lane ([tap.ToServer]: the client;
	// [tap.Lifecycle]: it was not cancelled), CancelReason the reason given.
	Cancel       Ref
	CancelledBy  tap.Lane
	CancelReason string
	// TaskID and TaskStatus are those of the task that it became, at most
	// [jsonrpc.MaxSubject] bytes of each.
	TaskID, TaskStatus string
	// Notes are its peculiarities.
	Notes Notes
	// Requests are its requests, Nested the calls made within it: the first
	// [MaxCallRefs] of each.
	Requests, Nested []Ref
	// Asked are the requests for input in its results: the first [MaxCallRefs].
	Asked []EmbeddedRequest
	// Parts are its messages in order: the first [MaxCallParts] and the last.
	// Skipped is how many are missing between these. Counts are of all.
	Parts   []Part
	Skipped uint64
	Counts  RoleCounts
	// BytesToServer and BytesToClient are the sizes of its frames. The size of
	// a batch is divided by the lengths of the messages in it.
	BytesToServer, BytesToClient int64
}

// An EmbeddedRequest is an entry of inputRequests in a result (2026-07-28
// basic/patterns/mrtr, or a task of the tasks extension).
type EmbeddedRequest struct {
	// Key is its name among the others; one longer than [jsonrpc.MaxSubject] bytes is
	// cut and ends in its SHA-256.
	Key string
	// Method and Subject are those of the embedded request.
	Method, Subject string
	// Request names the message that carried it, Response the one that carried
	// the answer in its inputResponses; zero as long as there is none.
	Request, Response Ref
	// Answer describes the answer, such as accept.
	Answer string
}

// A Role is the role of a message in the call that it belongs to.
type Role uint8

const (
	// RoleInvalid is a frame, or an element of a batch, that is not a message.
	RoleInvalid Role = iota
	// RoleRequest is the first request of a call.
	RoleRequest
	// RoleRetry is a further request of the same call: the retry after an
	// input_required result, or a tasks/get, tasks/result or tasks/update.
	RoleRetry
	// RoleCancel cancels a call: notifications/cancelled, the dialect's cancel, or
	// tasks/cancel.
	RoleCancel
	// RoleProgress is a progress notification with the token of a call.
	RoleProgress
	// RoleLog is a log message. In the legacy era on stdio it belongs to no call.
	RoleLog
	// RoleNotification is any other notification that belongs to a call: all
	// that comes on a subscription, the status of a task, the end of an
	// elicitation, initialized.
	RoleNotification
	// RoleInterim is an answer that does not end the call: an input_required
	// result, a created task, the result of polling a task.
	RoleInterim
	// RoleResponse is the answer that ends the call.
	RoleResponse
	// RoleLate is an answer to a request that had been cancelled, or
	// let go (see [NoteLetGo]).
	RoleLate
	// RoleRepeat is an answer to a request that has been answered already.
	RoleRepeat
	// RoleOrphan is an answer to an unknown request.
	RoleOrphan
	// RoleUnmatched is a notification about an unknown token, request, task or
	// subscription.
	RoleUnmatched
	// RoleUnsolicited is a notification that belongs to no call and refers to none, such
	// as list_changed in the legacy era.
	RoleUnsolicited
	// RoleUnread is a message too large to be read (see [jsonrpc.Message.Unread]) whose
	// call is not known: a batch, or a response with more than one open request
	// that it may belong to.
	RoleUnread
	// RoleReplay is an earlier message that was repeated on a stream that was resumed.
	// Only its kind and First are set.
	RoleReplay
	// Roles is the number of roles.
	Roles
)

var roleNames = [Roles]string{
	"invalid", "request", "retry", "cancel", "progress", "log", "notification", "interim",
	"response", "late", "repeat", "orphan", "unmatched", "unsolicited", "unread", "replay",
}

// String returns the role's stable name: invalid, request, retry, cancel,
// progress, log, notification, interim, response, late, repeat, orphan, unmatched,
// unsolicited, unread or replay.
func (r Role) String() string {
	if r < Roles {
		return roleNames[r]
	}
	return fmt.Sprintf("role(%d)", uint8(r))
}

// A CallStatus is the state of a call. Those from [CallDone] on are settled.
type CallStatus uint8

const (
	// CallPending waits for an answer.
	CallPending CallStatus = iota
	// CallInputRequired requires more input (2026-07-28 basic/patterns/mrtr; or a task of
	// that status).
	CallInputRequired
	// CallWorking has become a task that has not ended.
	CallWorking
	// CallListening is a subscription that was acknowledged and has not ended
	// (2026-07-28 basic/patterns/cancellation).
	CallListening
	// CallDone has its result.
	CallDone
	// CallError was answered with a JSON-RPC error.
	CallError
	// CallToolError has a result with isError, or is a task that failed.
	CallToolError
	// CallCancelled was cancelled, and no answer came after that.
	CallCancelled
	// CallCancelledLate was cancelled and answered after that.
	CallCancelledLate
	callStatuses
)

var callStatusNames = [callStatuses]string{
	"pending", "input_required", "working", "listening", "done", "error", "tool_error", "cancelled", "cancelled_late",
}

// String returns the status's stable name: pending, input_required, working,
// listening, done, error, tool_error, cancelled or cancelled_late.
func (s CallStatus) String() string {
	if s < callStatuses {
		return callStatusNames[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// Settled reports whether the call has ended.
func (s CallStatus) Settled() bool { return s >= CallDone }

// Unanswered reports whether the call has no final response, is not cancelled and is
// not a subscription: it waits for a response, for input or for the end of a task.
func (s CallStatus) Unanswered() bool { return s <= CallWorking }

// Waits returns the last request of the call that has no response, false if all have: then the
// call waits for its caller, or for the end of a task.
func (c *Call) Waits() (last Part, ok bool) {
	answered := map[Ref]bool{}
	for i := range slices.Backward(c.Parts) {
		switch p := &c.Parts[i]; {
		case p.Request != Ref{}:
			answered[p.Request] = true
		case (p.Role == RoleRequest || p.Role == RoleRetry) && !answered[p.Message]:
			return *p, true
		}
	}
	return Part{}, false
}

// Lost reports whether a call is over without an answer because the stream of the answer
// has ended.
func (c *Call) Lost() bool { return !c.Status.Settled() && c.Notes&NoteStreamEnded != 0 && c.End != 0 }

// Until returns when the call ended, lost its response, or was left by its client, which hung
// up; else end, until which it waits.
func (c *Call) Until(end time.Duration) time.Duration {
	if c.Status.Settled() {
		return c.End
	}
	if at, ok := c.left(); ok {
		return at
	}
	return max(end, c.At)
}

// left returns when a call without an answer lost it, or its client hung up.
func (c *Call) left() (at time.Duration, ok bool) {
	switch {
	case c.Lost():
		return c.End, true
	case !c.Status.Settled() && c.Notes&NoteStreamEnded != 0 && c.StreamEnd.By == "client":
		return c.StreamEnd.At, true
	}
	return 0, false
}

// A StreamEnd is how an HTTP exchange ended. By and Error are those of [tap.Event].
type StreamEnd struct {
	At        time.Duration
	By, Error string
}

// Notes is a set of peculiarities of a call.
type Notes uint16

const (
	// NoteClash: another request of its side with the same id was open.
	NoteClash Notes = 1 << iota
	// NoteTokenClash: the same for its progress token, unless the other was cancelled.
	NoteTokenClash
	// NoteDuplicateKeys: a message of it has two members of one name.
	NoteDuplicateKeys
	// NoteLong: its id or its method is longer than [jsonrpc.MaxWord] and was cut.
	NoteLong
	// NoteNullID: its answer had no id and was identified by the HTTP exchange.
	NoteNullID
	// NoteProbe: it is a server/discover before any other request, and was refused or
	// is unanswered: the client finds out which versions the server supports.
	NoteProbe
	// NoteStateLost: a retry did not carry the requestState of the result, or carried
	// another one.
	NoteStateLost
	// NoteCancelRefused: a tasks/cancel was answered with an error.
	NoteCancelRefused
	// NoteLetGo: too many requests were open (see [MaxOpen]), and it was handed over
	// before its end.
	NoteLetGo
	// NoteRefused: it was refused by the HTTP status of the response alone, with
	// no JSON-RPC answer. ErrorText has the status and the reason in the body, Answer the end
	// of the exchange.
	NoteRefused
	// NoteChallenged: the status was 401, which begins an authorization. The client
	// repeats it, as another call, when it has a token.
	NoteChallenged
	// NoteHungUp: it was cancelled by the end of its HTTP exchange, which the
	// client closed (2026-07-28 basic/transports/streamable-http). Cancel is the
	// end of the exchange.
	NoteHungUp
	// NoteStreamEnded: its HTTP exchange ended, or the client hung up, before the answer. In
	// 2026-07-28 there will be none, and End is when the exchange ended. So it is in the
	// legacy era if the server ended the exchange and no event had an id (see
	// [Exchange.Final]); else the answer may still come on a stream that is resumed. A settled
	// call has the note if it was cancelled after that, or if the answer came on an exchange that
	// its client had hung up.
	NoteStreamEnded
	// NoteCutOff: the HTTP body or event with the response was cut off after complete JSON. It is
	// set by the end of the exchange, when the call has ended: see [Entry.CutOff].
	NoteCutOff
	// NoteNoMessage: it was answered with status 200 and a body that is empty or carries no
	// message, which ErrorText describes. It has NoteRefused, too.
	NoteNoMessage
)

var noteNames = []string{
	"clash", "token_clash", "duplicate_keys", "long", "null_id", "probe", "state_lost", "cancel_refused", "let_go",
	"refused", "challenged", "hung_up", "stream_ended", "cut_off", "no_message",
}

// Names returns the stable names of the notes in the set.
func (n Notes) Names() []string {
	var names []string
	for i, name := range noteNames {
		if n>>i&1 == 1 {
			names = append(names, name)
		}
	}
	return names
}

// String returns the names with commas between.
func (n Notes) String() string { return strings.Join(n.Names(), ",") }

// A purpose is why a request was sent.
type purpose uint8

const (
	asksCall   purpose = iota // the first request of a call
	asksRetry                 // a repetition with the input that was required
	asksStatus                // tasks/get
	asksResult                // tasks/result
	asksUpdate                // tasks/update
	asksCancel                // tasks/cancel
)

// A request is an open request, or one that became a task.
type request struct {
	ref     Ref
	at      time.Duration
	method  string
	subject string // of the message
	call    *call
	purpose purpose
	// closed reports that it is no longer open, cancelled that it was cancelled, task
	// that it requests to become a task, causes that the server may send requests because
	// of it, guess that its call is a guess.
	closed, cancelled, task, causes, guess bool
	// level is 1 + the least level of the log messages that it requests, 0 for none.
	level int
	// status is that of the HTTP response, 0 if there is none yet or it is ordinary.
	status int
	// words are its keys in Pairing.words, at most one of each kind. The first
	// request of a call has those of the call.
	words []string
}

// A call is a Call that has not been handed over.
type call struct {
	*Call
	first *request
	open  int // the number of its open requests
	// final reports that only responses to open requests are still expected.
	final bool
	// instead is the status that the call would have instead of CallCancelledLate.
	instead CallStatus
	// tail are the last parts beyond those in Parts, oldest at next.
	tail []Part
	next int
	// name is the tool, prompt or resource of a modern request, and arguments a hash of
	// its arguments: a retry repeats both. doubt reports that a retry of this call may
	// have been taken for that of another.
	name      string
	arguments uint64
	doubt     bool
	holder    *request // the request that became the task: its token remains valid
	extension bool     // the task is one of the tasks extension
}

// A tie is what is remembered of a request or a word that is over.
type tie struct {
	call, parent    Ref
	method, subject string
	guess           bool
	// Of an id: its last request and the time of that. late reports that it was given up
	// and has no response so far.
	request Ref
	at      time.Duration
	late    bool
}

// tie returns what is remembered of a call.
func (c *call) tie() tie {
	return tie{call: c.Ref, parent: c.Parent, guess: c.Guess, method: c.Method}
}

// keep adds a part.
func (c *call) keep(p *Part, size int64) {
	c.Counts[p.Role]++
	if p.Lane == tap.ToServer {
		c.BytesToServer += size
	} else {
		c.BytesToClient += size
	}
	switch {
	case len(c.Parts) < MaxCallParts:
		c.Parts = append(c.Parts, *p)
	case len(c.tail) < MaxCallParts:
		c.tail = append(c.tail, *p)
	default:
		c.tail[c.next] = *p
		c.next = (c.next + 1) % MaxCallParts
		c.Skipped++
	}
}

// assembled returns the call with its last parts in place. It shares no memory with c that
// may be written to.
func (c *call) assembled() Call {
	whole := *c.Call
	whole.Parts = slices.Concat(c.Parts, c.tail[c.next:], c.tail[:c.next])
	whole.Asked = slices.Clone(c.Asked)
	return whole
}

// settle sets how the call ended. A later message may correct it.
func (c *call) settle(x *arrival, s CallStatus) {
	c.Status, c.End, c.Answer = s, x.part.At, x.part.Message
}

// settleLate does the same for a call that was cancelled and then ended as s.
func (c *call) settleLate(x *arrival, s CallStatus) {
	c.settle(x, CallCancelledLate)
	c.instead = s
}

// advance sets the status of a call that has not been settled.
func (c *call) advance(s CallStatus) {
	if !c.Status.Settled() {
		c.Status = s
	}
}

// settleOnce settles a call that has not been settled. It reports whether it did.
func (c *call) settleOnce(x *arrival, s CallStatus) bool {
	if c.Status.Settled() {
		return false
	}
	c.settle(x, s)
	return true
}

// cancelled records which side cancelled the call.
func (c *call) cancelled(x *arrival, w fields) {
	if c.Cancel == (Ref{}) {
		c.Cancel, c.CancelledBy, c.CancelReason = x.part.Message, x.f.Lane, wordText(w["reason"])
	}
}

// uncancel revokes a cancellation that was refused.
func (c *call) uncancel() {
	c.Notes |= NoteCancelRefused
	c.Cancel, c.CancelledBy, c.CancelReason = Ref{}, tap.Lifecycle, ""
	if c.Status == CallCancelledLate {
		c.Status = c.instead
	}
}

// addRef appends a reference unless [MaxCallRefs] are kept already.
func addRef(refs []Ref, r Ref) []Ref {
	if len(refs) < MaxCallRefs {
		refs = append(refs, r)
	}
	return refs
}
