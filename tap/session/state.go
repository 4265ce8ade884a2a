package session

// A State is what lists and reports say about a call: its [CallStatus] with what the
// recording of HTTP adds.
type State string

// The states, those of open calls first.
const (
	StatePending    State = "pending"     // it waits for its response
	StateNeedsInput State = "needs input" // see [CallInputRequired]
	StateWorking    State = "working"     // see [CallWorking]
	StateListening  State = "listening"   // see [CallListening]
	StateUnanswered State = "unanswered"  // pending when the recording ended
	StateLost       State = "lost"        // see [Call.Lost]
	StateDone       State = "done"        // see [CallDone]
	StateFailed     State = "failed"      // see [CallToolError]
	StateErred      State = "error"       // see [CallError]; also an HTTP response without a message
	StateRefused    State = "refused"     // see [NoteRefused]
	StateChallenged State = "challenged"  // see [NoteChallenged]
	StateCutOff     State = "cut off"     // see [NoteCutOff]
	StateCancelled  State = "cancelled"   // see [CallCancelled]
	StateTooLate    State = "too late"    // cancelled or hung up by its client, and then answered
	StateEnded      State = "ended"       // a subscription that was cancelled, or lasted until the recording ended
)

// States are all states, in order.
var States = []State{
	StatePending, StateNeedsInput, StateWorking, StateListening, StateUnanswered, StateLost, StateDone, StateFailed,
	StateErred, StateRefused, StateChallenged, StateCutOff, StateCancelled, StateTooLate, StateEnded,
}

// State returns the state of a call. over reports that the recording has ended, so that no
// response can follow.
func (c *Call) State(over bool) State {
	switch {
	case c.Status == CallError && c.Notes&NoteChallenged != 0:
		return StateChallenged
	case c.Status == CallError && c.Notes&NoteNoMessage != 0:
		return StateErred
	case c.Status == CallError && c.Notes&NoteRefused != 0:
		return StateRefused
	case c.Lost():
		return StateLost
	case c.unsubscribed():
		return StateEnded
	case c.TooLate():
		return StateTooLate
	}
	switch c.Status {
	case CallDone:
		if c.Notes&NoteCutOff != 0 {
			return StateCutOff
		}
		return StateDone
	case CallError:
		return StateErred
	case CallToolError:
		return StateFailed
	case CallCancelled:
		return StateCancelled
	}
	switch {
	case over && c.Status == CallPending:
		return StateUnanswered
	case over && c.Status == CallListening:
		return StateEnded
	}
	return openStates[c.Status]
}

// openStates are the states of calls that are not settled.
var openStates = map[CallStatus]State{
	CallPending: StatePending, CallInputRequired: StateNeedsInput, CallWorking: StateWorking, CallListening: StateListening,
}

// TooLate reports whether a response came after its call was cancelled, or on an exchange that
// its client had hung up: see [NoteStreamEnded].
func (c *Call) TooLate() bool {
	return c.Status == CallCancelledLate || c.Status.Settled() && c.Status != CallCancelled && c.Notes&NoteStreamEnded != 0
}

// unsubscribed reports whether a call is a subscription that was cancelled, which is how
// subscriptions end (2026-07-28 basic/patterns/cancellation).
func (c *Call) unsubscribed() bool {
	return c.Method == "subscriptions/listen" && (c.Status == CallCancelled || c.TooLate())
}
