package replay

import (
	"fmt"

	"github.com/mcptap/mcptap/tap/session"
)

// A NoteKind is the kind of a [Note].
type NoteKind uint8

const (
	// NoteMiss: a request that matches no recorded one, or a frame that is not a message
	// and was not recorded.
	NoteMiss NoteKind = iota
	// NoteUsedUp: with RepeatError, a request whose recorded counterparts are used up.
	NoteUsedUp
	// NoteTimeout: the client did not answer a server request in time, so the call that the
	// request belongs to gets no answer.
	NoteTimeout
	// NoteRepeat: a request whose recorded counterparts are used up got a repeated answer.
	NoteRepeat
	// NoteRelaxed: a request got the answer of a recorded request that is not equal to it.
	NoteRelaxed
	// NoteResponse: the client answered a request, or inputRequests, differently, and the
	// session went on as recorded.
	NoteResponse
	// NoteSkipped: a server request was not sent, because the client lacks the capability or
	// did not create the task that the request refers to.
	NoteSkipped
	// NoteCancelled: the client cancelled a call that it had not cancelled in the
	// recording, so the rest of it was not sent.
	NoteCancelled
	// NoteLeft: the client ended the session while a call waited for its answer.
	NoteLeft
	// NoteVersion: the client requested another protocol version.
	NoteVersion
	// NoteClient: the client describes itself differently.
	NoteClient
	// NoteGenerated: a request that was not recorded got an answer that the mock can generate.
	NoteGenerated
	// NoteHeld: a poll got the previous answer, because the client has not yet done what the
	// recorded client did before the next poll.
	NoteHeld
	// NoteOrder: the session continued although the client had not sent everything that the
	// recorded client had sent by then.
	NoteOrder
	// NoteSilence: a request got no answer, as recorded.
	NoteSilence
	// NoteRefused: a request got an HTTP failure status and no JSON-RPC response, as recorded
	// or as the specification requires.
	NoteRefused
	// NoteFault: a fault was injected.
	NoteFault
	// NoteUnrequested: the client did not send a recorded request.
	NoteUnrequested
	// NoteForwarded: a request that was not recorded was accepted by [Options].Forward.
	NoteForwarded
	noteKinds
)

var noteNames = [noteKinds]string{
	"miss", "used_up", "timeout", "repeat", "relaxed", "response", "skipped", "cancelled", "left", "version", "client",
	"generated", "held", "order", "silence", "refused", "fault", "unrequested", "forwarded",
}

// String returns the stable name: miss, used_up, timeout, repeat, relaxed, response,
// skipped, cancelled, left, version, client, generated, held, order, silence,
// refused, fault, unrequested or forwarded.
func (k NoteKind) String() string { return nameOfKind(noteNames[:], "note", uint8(k)) }

// Fails reports whether a note of the kind is a failure: the client sent something that was
// not recorded, or did not continue.
func (k NoteKind) Fails() bool { return k <= NoteTimeout }

// Deviates reports whether a note of the kind means that the client deviated from the
// recording, which is a failure in strict mode.
func (k NoteKind) Deviates() bool { return k <= NoteVersion }

// A Note is a difference between a session and the recording.
type Note struct {
	Kind NoteKind
	// Live is the number of the client message that the note is about, from 1; 0 for none. A
	// batch counts as one message.
	Live uint64
	// Method and Subject are those of the request: its method, and the tool, prompt,
	// resource or task. Subject has at most [jsonrpc.MaxSubject] bytes.
	Method, Subject string
	// Frame is the recorded message concerned; for a miss, the nearest one; zero for none.
	Frame session.Ref
	// UsedBy is the number of the client message for which Frame was used in this session,
	// 0 for none.
	UsedBy uint64
	// Differences are the first [MaxDifferences] differences between the two messages. More
	// is the number of further ones.
	Differences []Difference
	More        int
	// Waits reports, for NoteSilence, that the client waits for the answer, because the exchange
	// on which it is due does not end.
	Waits bool
	// Text is the note as a sentence. It may contain text from the client.
	Text string
}

// MaxDifferences is the maximum number of differences in a note.
const MaxDifferences = 8

// A Difference is a difference between two messages. Path starts at the message, as in
// $.params.arguments.city. The values are shortened JSON, "" for none.
type Difference struct {
	Path     string `json:"path"`
	Recorded string `json:"recorded,omitempty"`
	Live     string `json:"live,omitempty"`
}

// String describes the difference.
func (d Difference) String() string {
	switch {
	case d.Recorded == "":
		return d.Path + " (live " + d.Live + ", not recorded)"
	case d.Live == "":
		return d.Path + " (recorded " + d.Recorded + ", not live)"
	}
	return d.Path + " (recorded " + d.Recorded + ", live " + d.Live + ")"
}

// Deviation returns the text of a note with its first difference.
func (n *Note) Deviation() string {
	if len(n.Differences) == 0 {
		return n.Text
	}
	return n.Text + ": " + n.Differences[0].String()
}

// A Coverage records which requests of some scripts their sessions have received.
type Coverage struct {
	scripts []*Script
	asked   map[*Script]map[uint32]bool
}

// NewCoverage returns an empty Coverage.
func NewCoverage(scripts ...*Script) *Coverage {
	v := &Coverage{scripts, map[*Script]map[uint32]bool{}}
	for _, s := range scripts {
		v.asked[s] = map[uint32]bool{}
	}
	return v
}

// Add adds a session of one of the scripts.
func (v *Coverage) Add(s *Session) {
	asked := v.asked[s.script]
	for t := range s.arrived {
		if s.script.triggers[t].kind == triggerRequest {
			asked[t] = true
		}
	}
}

// Recorded returns the number of recorded requests.
func (v *Coverage) Recorded() (n int) {
	for _, s := range v.scripts {
		n += s.Requests()
	}
	return n
}

// Sent returns the number of recorded requests that the client sent.
func (v *Coverage) Sent() (n int) {
	for _, s := range v.scripts {
		n += len(v.asked[s])
	}
	return n
}

// Unrequested returns notes for recorded requests that the client did not send, in recorded
// order. It returns at most most notes.
func (v *Coverage) Unrequested(most int) (notes []Note) {
	for _, s := range v.scripts {
		for i := range s.triggers {
			t := &s.triggers[i]
			if t.kind != triggerRequest || v.asked[s][uint32(i)] {
				continue
			}
			if len(notes) == most {
				return notes
			}
			n := Note{Kind: NoteUnrequested, Frame: t.ref}
			n.Method, n.Subject = names(t.raw)
			n.Text = fmt.Sprintf("frame %d, %s, was not requested", t.ref.Seq, RequestName(n.Method, n.Subject))
			notes = append(notes, n)
		}
	}
	return notes
}
