package session

import (
	"encoding/json"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// LaneCounts is a number for each lane. As JSON it is an object with the names
// of the lanes whose number is not zero.
type LaneCounts [tap.Lanes]uint64

// Total returns the sum over the lanes.
func (c LaneCounts) Total() (n uint64) {
	for _, v := range c {
		n += v
	}
	return n
}

// laneCounts is how LaneCounts looks as JSON.
type laneCounts struct {
	Lifecycle uint64 `json:"life,omitempty"`
	ToServer  uint64 `json:"to_server,omitempty"`
	ToClient  uint64 `json:"to_client,omitempty"`
	Stderr    uint64 `json:"stderr,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (c LaneCounts) MarshalJSON() ([]byte, error) {
	return json.Marshal(laneCounts{c[tap.Lifecycle], c[tap.ToServer], c[tap.ToClient], c[tap.Stderr]})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *LaneCounts) UnmarshalJSON(b []byte) error {
	var l laneCounts
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	*c = LaneCounts{tap.Lifecycle: l.Lifecycle, tap.ToServer: l.ToServer, tap.ToClient: l.ToClient, tap.Stderr: l.Stderr}
	return nil
}

// A Tally is the one view that is stored with the frames and not computed on read, so that a
// hundred recordings can be listed without a scan. It is stored as JSON after any frame; to
// continue a stored one, add all frames to a new one. The zero value is ready.
type Tally struct {
	// Frames and Bytes count what crossed, terminators included.
	Frames LaneCounts `json:"frames"`
	Bytes  LaneCounts `json:"bytes"`
	// Errors counts the errors in both directions: see [jsonrpc.Message.Failures] and
	// [tap.Event.IsError]. Messages repeated on a resumed stream do not count.
	Errors uint64 `json:"errors"`
	// Invalid counts those of Errors that are frames, or elements of batches, that
	// are not messages.
	Invalid uint64 `json:"invalid,omitempty"`
	// First and Last are when the first and the last frame reached the tap, in
	// nanoseconds from the start of the recording.
	First time.Duration `json:"first_ns"`
	Last  time.Duration `json:"last_ns"`
	// Facts are those of the first session that was agreed on, and until then of
	// the first one.
	Facts Facts `json:"facts,omitzero"`
	// Exit is how the server failed, as [Exit.Brief] returns it. Recordings made before 2026-12 have none.
	Exit string `json:"exit,omitempty"`
	// Sessions is the number of sessions, see [Sessions].
	Sessions SessionTotal `json:"sessions,omitempty"`

	sessions Sessions
	of       int  // the session that has the facts
	agreed   bool // its facts are agreed on
	exit     Exit
}

// A SessionTotal is a number of sessions. Recordings made before 2026-12 have an
// object instead, with a count of handshakes and a list of clients.
type SessionTotal uint64

// UnmarshalJSON implements [json.Unmarshaler].
func (n *SessionTotal) UnmarshalJSON(b []byte) error {
	var old struct {
		Handshakes uint64   `json:"handshakes"`
		Clients    []uint64 `json:"clients"`
	}
	if err := json.Unmarshal(b, &old); err == nil {
		*n = SessionTotal(old.Handshakes + uint64(len(old.Clients)))
		return nil
	}
	return json.Unmarshal(b, (*uint64)(n))
}

// Add counts the next frame.
func (t *Tally) Add(f *tap.Frame) {
	if t.Frames == (LaneCounts{}) {
		t.First = f.At
	}
	t.Last = f.At
	t.Frames[f.Lane]++
	t.Bytes[f.Lane] += uint64(max(f.Size, int64(len(f.Raw))))
	var e Entry
	t.sessions.read(&e, f, nil)
	errors, invalid := e.failures()
	t.Errors += errors
	t.Invalid += invalid
	t.Sessions = max(t.Sessions, SessionTotal(t.sessions.Count()))
	t.learn(e.Session)
	t.exit.Add(&e.Event)
	t.Exit = t.exit.Brief()
}

// learn copies the facts of a session.
func (t *Tally) learn(session int) {
	x, ok := t.sessions.open.Get(session)
	if !ok || session != t.of && (t.agreed || t.of != 0 && !x.finding.settled) {
		return
	}
	t.of, t.agreed, t.Facts = session, x.finding.settled, x.Facts
}
