package tap

import "time"

// How much of a call is kept, however long it gets.
const (
	// MaxCallParts is how many of the first parts of a call are kept, and how
	// many of the last.
	MaxCallParts = 64
	// MaxCallRefs is how many of its requests, of the calls within it and of
	// its embedded requests are kept: the first ones.
	MaxCallRefs = 64
)

// A Part is one message as a part of a call.
type Part struct {
	// Message names it, and At, Exchange and Lane are its frame's.
	Message  Ref
	At       time.Duration
	Exchange uint64
	Lane     Lane
	// Kind is what it is in JSON-RPC, Role what it is to its call.
	Kind Kind
	Role Role
	// Guess says that Call or Parent is the likeliest of several, not certain.
	Guess bool
	// Late says that it came when its call was over, or the request that it is
	// about had been answered or cancelled.
	Late bool
	// Method is its method; of an answer that of its request.
	Method string
	// Call names the first request of its call, zero when it belongs to none.
	Call Ref
	// Parent is the call within which Call was asked, zero when there is none.
	// A tasks request that comes when its task's call is over opens a call of
	// its own within that one, and so does a retry with a requestState that was
	// given back before.
	Parent Ref
	// Request is the request that an answer answers, which is not Call where a
	// call has several; Latency is from its last byte to the answer's.
	Request Ref
	Latency time.Duration
	// Status is, in what Add returns, how its call stands after it, where a call goes on after the response
	// to its first request: it waits for input, or it has become a task.
	Status CallStatus
	// Via is the subscription on which news of a task came: that is a part of
	// the task's call, not of the subscription's.
	Via Ref
	// First is the message that a replay repeats, zero for others.
	First Ref
	// Clash is the oldest open request of the same side with the same id, for a
	// request that came although there is one.
	Clash Ref
}

// RoleCounts is a number for each role.
type RoleCounts [Roles]uint64

// A Call is a request with all that belongs to it. Which messages these are is
// in [Role].
type Call struct {
	// Ref names the first request. Lane, Exchange, ID and Method are its own
	// (ID as it stands on the wire), Subject is what [Subject] says of it.
	Ref      Ref
	Lane     Lane
	Exchange uint64
	// Session is the number of its session, 0 if it has none; see [Sessions].
	Session int
	ID      []byte
	Method  string
	Subject string
	// Parent is the call within which it was asked, zero when there is none;
	// Guess says that Parent is the likeliest of several, not certain.
	Parent Ref
	Guess  bool
	// Revision is the version that the request itself names, or the one agreed
	// on in the handshake; "" when neither is known. In a session of the 002
	// dialect it is [Dialect].
	Revision Revision
	// At is when it was asked. FirstAnswer is when the first answer came, of
	// any role, and End when what settled it did, or when it was lost (see
	// [NoteStreamEnded]); both are 0 as long as there is no such thing.
	At, FirstAnswer, End time.Duration
	// Status says how it stands; Answer names the message that settled it: an
	// answer, the cancellation, the news that its task has ended, or the frame
	// that tells of the end of its HTTP exchange.
	Status CallStatus
	Answer Ref
	// ErrorCode and ErrorText say why it failed: the code and message of a
	// JSON-RPC error, or in ErrorText alone what a failed tool or task says, or
	// the HTTP status that refused it, as soon as that is known.
	ErrorCode, ErrorText string
	// Cancel names the message that asked for its end, or the end of the exchange
	// that did (see [NoteHungUp]), CancelledBy the lane of
	// that ([ToServer]: the client asked; [Life]: nobody did), CancelReason
	// the reason given.
	Cancel       Ref
	CancelledBy  Lane
	CancelReason string
	// TaskID and TaskStatus are those of the task that it became, at most
	// [MaxSubject] bytes of each.
	TaskID, TaskStatus string
	// Notes say what is odd about it.
	Notes Notes
	// Requests are its requests, Nested the calls asked within it: the first
	// [MaxCallRefs] of each.
	Requests, Nested []Ref
	// Asked are the requests for input that results of it carried: the first
	// [MaxCallRefs].
	Asked []EmbeddedRequest
	// Parts are its messages in order: the first [MaxCallParts] and the last.
	// Skipped is how many are missing between these. Counts counts all.
	Parts   []Part
	Skipped uint64
	Counts  RoleCounts
	// BytesToServer and BytesToClient are the sizes of its frames. The size of
	// a batch is shared out by the lengths of the messages in it.
	BytesToServer, BytesToClient int64
}

// An EmbeddedRequest is an entry of inputRequests in a result (2026-07-28
// basic/patterns/mrtr, or a task of the tasks extension).
type EmbeddedRequest struct {
	// Key is its name among the others; one longer than [MaxSubject] bytes is
	// cut and ends in its SHA-256.
	Key string
	// Method and Subject are what it asks for.
	Method, Subject string
	// Request names the message that carried it, Response the one that carried
	// the answer in its inputResponses; zero as long as there is none.
	Request, Response Ref
	// Answer says in a few words what was answered, such as accept.
	Answer string
}
