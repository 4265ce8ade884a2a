package replay

import (
	"fmt"

	"github.com/mcptap/mcptap/tap/session"
)

// A NoteKind says in what a session was not what was recorded.
type NoteKind uint8

const (
	// NoteMiss: a request that nothing recorded fits, or a frame that is no
	// message and was not recorded either.
	NoteMiss NoteKind = iota
	// NoteUsedUp: a request whose recorded ones were used up, with RepeatError.
	NoteUsedUp
	// NoteTimeout: the client did not answer a request in time, so the call
	// within which it was asked stays without an answer.
	NoteTimeout
	// NoteRepeat: a request whose recorded ones were used up got an answer again.
	NoteRepeat
	// NoteRelaxed: a request got the answer of one that is not quite the same.
	NoteRelaxed
	// NoteAnswer: the client answered otherwise than recorded, to a request, or in
	// inputResponses, and the session went on as recorded.
	NoteAnswer
	// NoteSkipped: a request was not sent, since the client lacks the capability,
	// or because it asks about a task that the client did not make.
	NoteSkipped
	// NoteCancelled: the client cancelled a call that it had not cancelled in the
	// recording, so the rest of it was not sent.
	NoteCancelled
	// NoteLeft: the client ended the session while a call waited for its answer.
	NoteLeft
	// NoteVersion: the client asks for another version of the protocol.
	NoteVersion
	// NoteClient: the client says something else of itself.
	NoteClient
	// NoteInvented: a request that was not recorded got an answer that needs no
	// recording, such as the one to a ping.
	NoteInvented
	// NoteHeld: a poll got the answer of the one before, because the recorded
	// client had done something else in between.
	NoteHeld
	// NoteOrder: the session went on although the client had not sent what it had
	// sent by then in the recording.
	NoteOrder
	// NoteSilence: a request gets no answer, as recorded.
	NoteSilence
	// NoteFault: something went wrong on purpose.
	NoteFault
	// NoteUnasked: a recorded request that the client did not ask for.
	NoteUnasked
	// NoteElsewhere: a request that was not recorded is answered by [Options].Elsewhere.
	NoteElsewhere
	noteKinds
)

var noteNames = [noteKinds]string{
	"miss", "used_up", "timeout", "repeat", "relaxed", "answer", "skipped", "cancelled", "left", "version", "client",
	"invented", "held", "order", "silence", "fault", "unasked", "elsewhere",
}

// String returns the stable name: miss, used_up, timeout, repeat, relaxed, answer,
// skipped, cancelled, left, version, client, invented, held, order, silence,
// fault, unasked or elsewhere.
func (k NoteKind) String() string {
	return nameOfKind(noteNames[:], "note", uint8(k))
}

// Fails reports whether such a note means that the recording does not serve its
// purpose: the client asked for something that is not in it, or did not go on.
func (k NoteKind) Fails() bool { return k <= NoteTimeout }

// Deviates reports whether the client did something else than in the recording,
// which is no failure unless the person is strict.
func (k NoteKind) Deviates() bool { return k <= NoteVersion }

// A Note says in what a session was not what was recorded.
type Note struct {
	Kind NoteKind
	// Live is the number of the client's message that it is about, from 1; 0 for
	// none. A batch counts as one.
	Live uint64
	// Method and Subject say what it is about: the request's method, and the
	// tool, prompt, resource or task. Subject is at most [jsonrpc.MaxSubject] bytes.
	Method, Subject string
	// Frame names the recorded message concerned: of a miss, the nearest; zero
	// for none.
	Frame session.Ref
	// UsedBy is the number of the client's message that Frame has been used for
	// in this session, 0 for none.
	UsedBy uint64
	// Differences say where the two differ: the first MaxDifferences of them.
	// More is how many there are beyond those.
	Differences []Difference
	More        int
	// Text is the note in one sentence. It holds what the client sent.
	Text string
}

// MaxDifferences is how many differences a note names.
const MaxDifferences = 8

// A Difference is a path at which two messages differ, from the message on, as in
// params.arguments.city. Each value is as it stands, shortened; "" where there is
// none.
type Difference struct {
	Path           string
	Recorded, Live string
}

// String returns the difference in words.
func (d Difference) String() string {
	switch {
	case d.Recorded == "":
		return d.Path + " (live " + d.Live + ", not recorded)"
	case d.Live == "":
		return d.Path + " (recorded " + d.Recorded + ", not live)"
	}
	return d.Path + " (recorded " + d.Recorded + ", live " + d.Live + ")"
}

// A Coverage says which requests of some scripts any of their sessions has asked
// for.
type Coverage struct {
	scripts []*Script
	asked   map[*Script]map[uint32]bool
}

// NewCoverage makes a Coverage of no session yet.
func NewCoverage(scripts ...*Script) *Coverage {
	v := &Coverage{scripts, map[*Script]map[uint32]bool{}}
	for _, s := range scripts {
		v.asked[s] = map[uint32]bool{}
	}
	return v
}

// NewCoverage makes a Coverage of one script.
func (s *Script) NewCoverage() *Coverage { return NewCoverage(s) }

// Add counts what a session of one of the scripts has been asked for.
func (v *Coverage) Add(s *Session) {
	asked := v.asked[s.script]
	for t := range s.arrived {
		if s.script.triggers[t].kind == triggerRequest {
			asked[t] = true
		}
	}
}

// Recorded returns how many requests the scripts have.
func (v *Coverage) Recorded() (n int) {
	for _, s := range v.scripts {
		n += s.Requests()
	}
	return n
}

// Asked returns how many of the recorded requests were asked for.
func (v *Coverage) Asked() (n int) {
	for _, s := range v.scripts {
		n += len(v.asked[s])
	}
	return n
}

// Unasked names the recorded requests that no session was asked for, in recorded
// order, at most so many.
func (v *Coverage) Unasked(most int) (notes []Note) {
	for _, s := range v.scripts {
		notes = append(notes, s.unasked(func(t uint32) bool { return v.asked[s][t] }, most-len(notes))...)
	}
	return notes
}

func (s *Script) unasked(asked func(uint32) bool, most int) (notes []Note) {
	for c := range s.triggers {
		x := &s.triggers[c]
		if x.kind != triggerRequest || asked(uint32(c)) {
			continue
		}
		if len(notes) == most {
			break
		}
		n := Note{Kind: NoteUnasked, Frame: x.ref}
		n.Method, n.Subject = names(x.raw)
		n.Text = fmt.Sprintf("frame %d, %s, was not asked for", x.ref.Seq, about(n.Method, n.Subject))
		notes = append(notes, n)
	}
	return notes
}
