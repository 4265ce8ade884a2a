package tap

import (
	"encoding/json"
	"time"
)

// LaneCounts is a number for each lane. As JSON it is an object with the names
// of the lanes whose number is not zero.
type LaneCounts [Lanes]uint64

// Total is the sum over the lanes.
func (c LaneCounts) Total() (n uint64) {
	for _, v := range c {
		n += v
	}
	return n
}

// laneCounts is how LaneCounts looks as JSON.
type laneCounts struct {
	Life     uint64 `json:"life,omitempty"`
	ToServer uint64 `json:"to_server,omitempty"`
	ToClient uint64 `json:"to_client,omitempty"`
	Stderr   uint64 `json:"stderr,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (c LaneCounts) MarshalJSON() ([]byte, error) {
	return json.Marshal(laneCounts{c[Life], c[ToServer], c[ToClient], c[Stderr]})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *LaneCounts) UnmarshalJSON(b []byte) error {
	var l laneCounts
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	*c = LaneCounts{Life: l.Life, ToServer: l.ToServer, ToClient: l.ToClient, Stderr: l.Stderr}
	return nil
}

// A Tally is the one view that is kept beside the frames and not computed on
// read, so that a hundred recordings can be listed without a scan. It can be
// written as JSON after any frame and continued by another process: it holds
// all that it needs to go on. The zero value is ready.
type Tally struct {
	// Frames and Bytes count what crossed, terminators included.
	Frames LaneCounts `json:"frames"`
	Bytes  LaneCounts `json:"bytes"`
	// Errors counts the messages that tell of a failure, both ways: error
	// responses, results with isError, and what is no message at all where one
	// should be. Each element of a batch counts. So does each response of HTTP
	// with a status that [FailedStatus] names, whatever its body says: a refusal
	// with an error in its body is two frames that say so.
	Errors uint64 `json:"errors"`
	// Invalid counts those of Errors that are not a message.
	Invalid uint64 `json:"invalid,omitempty"`
	// First and Last are when the first and the last frame reached the tap, in
	// nanoseconds from the start of the recording.
	First time.Duration `json:"first_ns"`
	Last  time.Duration `json:"last_ns"`
	// Facts are what the session says about itself. A recording of HTTP may hold
	// many: then they are those of the first that was agreed on.
	Facts Facts `json:"facts,omitzero"`
	// Finding is the state that Facts need to be continued.
	Finding Finding `json:"finding,omitzero"`
	// Sessions counts the sessions of a recording of HTTP traffic.
	Sessions SessionCount `json:"sessions,omitzero"`
	// Looking are the exchanges whose requests bring no message, such as GET, and
	// that have no response yet: the last of them, see [FailedStatus].
	Looking []uint64 `json:"looking,omitempty"`
}

// maxLooking is how many of those are remembered.
const maxLooking = 256

// Add counts a frame.
func (t *Tally) Add(f *Frame) {
	if !t.count(f) {
		t.event(f)
		return
	}
	m := PeekFrame(f)
	if f.Exchange != 0 && f.Lane == ToServer {
		t.Sessions.Request(f.Exchange, &m)
	}
	if t.ofAnother(f, &m) {
		t.failures(&m)
		return
	}
	t.message(f.Lane, &m)
}

// count counts the frame itself and reports whether it is a message's.
func (t *Tally) count(f *Frame) bool {
	if t.Frames == (LaneCounts{}) {
		t.First = f.At
	}
	t.Last = f.At
	t.Frames[f.Lane]++
	t.Bytes[f.Lane] += uint64(max(f.Size, int64(len(f.Raw))))
	return f.Lane == ToServer || f.Lane == ToClient
}

// message counts what a peek found.
func (t *Tally) message(lane Lane, m *Message) {
	t.failures(m)
	t.Facts.Learn(&t.Finding, lane, m)
}

// ofAnother reports whether the facts have nothing to learn from a message of an
// exchange since they are agreed on, and it may be of another session. A server
// that named itself in no answer yet may do so in any.
func (t *Tally) ofAnother(f *Frame, m *Message) bool {
	return f.Exchange != 0 && t.Finding.Settled && m.Kind != Response
}

func (t *Tally) failures(m *Message) {
	if m.Kind == Batch {
		for i := range m.Batch {
			t.failures(&m.Batch[i])
		}
		return
	}
	if m.IsFailure() {
		t.Errors++
	}
	if m.Kind == Invalid {
		t.Invalid++
	}
}
