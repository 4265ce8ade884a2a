package client

import "github.com/mcptap/mcptap/tap/session"

// A Note says in what a replay could not do what the recorded client did, or what
// the server did that the recording is no answer to.
type Note struct {
	Kind NoteKind
	// Frame names the recorded message concerned, zero for none.
	Frame session.Ref
	// Method and Subject say what it is about; Subject is at most [jsonrpc.MaxSubject]
	// bytes. Both come from the wire as they are.
	Method, Subject string
	// Requests are the recorded requests that it is about, where those may be several:
	// the ones that waited for an answer when the server died, the ones that were not
	// sent.
	Requests []session.Ref
	// Text is the note in one sentence. It holds what the server sent, as it is.
	Text string
}

// A NoteKind says what a [Note] is about.
type NoteKind uint8

const (
	// NoteTimeout: a request was not answered in time.
	NoteTimeout NoteKind = iota
	// NoteDied: the server ended, cut the connection, could not be reached any more or
	// said nothing any more before it was over.
	NoteDied
	// NoteUnsent: a request was not sent, because the server was gone.
	NoteUnsent
	// NoteRefused: the server refused a message without an answer to it.
	NoteRefused
	// NoteUnknown: the server asked something that was never recorded.
	NoteUnknown
	// NoteRelaxed: the server asked something else than recorded, and got what was
	// answered to the recorded one.
	NoteRelaxed
	// NoteSkipped: a request was not sent, because the server did not give the
	// value that it needs.
	NoteSkipped
	// NoteUntold: something has no counterpart in the revision that is spoken.
	NoteUntold
	// NoteKilled: the server did not end when its stdin did.
	NoteKilled
	// NoteVersion: the server agreed to another revision than was asked for.
	NoteVersion
	noteKinds
)

var noteNames = [noteKinds]string{"timeout", "died", "unsent", "refused", "unknown", "relaxed", "skipped", "untold", "killed", "version"}

// String returns the stable name: timeout, died, unsent, refused, unknown, relaxed,
// skipped, untold, killed or version.
func (k NoteKind) String() string {
	if k < noteKinds {
		return noteNames[k]
	}
	return "note"
}
