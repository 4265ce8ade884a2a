package store

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// FormatVersion is the version of the file format that this program writes. Every released
// version has a fixture in testdata/format. Version 1 had lines only and is read like this
// one. Files are never rewritten, so further versions are migrated while reading.
const FormatVersion = 2

// Ext is the extension of a recording. QueueExt is the additional extension of the
// queue of a running tap.
const (
	Ext      = ".mcptap"
	QueueExt = ".queue"
)

// Errors that callers may distinguish. Each is wrapped in an error that names the
// file and the remedy.
var (
	// ErrNotRecording means that the file is not a recording.
	ErrNotRecording = errors.New("not a recording")
	// ErrNewer means that a newer program wrote the file.
	ErrNewer = errors.New("recorded by a newer version of mcptap")
	// ErrDamaged means that a part of the file cannot be read.
	ErrDamaged = errors.New("damaged recording")
	// ErrNoFrame means that the recording has no frame of that number.
	ErrNoFrame = errors.New("no such frame")
	// ErrLive means that a running tap still writes the recording.
	ErrLive = errors.New("recording is live")
)

var (
	bucketMeta   = []byte("meta")
	bucketFrames = []byte("frames")
	bucketParts  = []byte("parts")

	keyFormat = []byte("format")
	keyHeader = []byte("header")
	keyTally  = []byte("tally")
	keyState  = []byte("state")
	keyEnd    = []byte("end")
	keyFifth  = []byte("~") // unused, see layOut
)

// pageSize is the page size of every recording, whatever that of the system is, so that a
// file reads the same everywhere.
const pageSize = 4096

// key returns the big-endian key of a number.
func key(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// A state describes where writing continues after a commit. It is written in the same
// transaction as the frames, so a queue is never appended twice.
type state struct {
	// Ticket is the first chunk of the queue that is not in the file.
	Ticket uint64 `json:"ticket"`
	// NextSeq is the number of the next frame.
	NextSeq uint64 `json:"next_seq"`
	// NextLong is the number of the next frame with parts, see partNumber.
	NextLong uint64 `json:"next_long,omitempty"`
	// Open are the incomplete frames.
	Open []unended `json:"open,omitempty"`
	// Pending has, in older files, the incomplete line of each lane of stdio.
	Pending *[tap.Lanes]pending `json:"pending,omitempty"`
	// LastAt is the last frame's At.
	LastAt time.Duration `json:"last_at,omitempty"`
	// Gaps are the frame numbers that crossed unrecorded.
	Gaps []tap.Range `json:"gaps,omitempty"`
}

// newState returns the state of an empty recording.
func newState() state { return state{NextSeq: 1} }

// maxFrames is larger than the number of frames of any recording, so that arithmetic on
// frame numbers does not overflow.
const maxFrames = 1 << 63

// sound reports whether a state is consistent: gaps ascend and lie between the frames.
func (st *state) sound() bool {
	last := uint64(0)
	for _, g := range st.Gaps {
		if g.From <= last || g.To < g.From || g.To >= st.NextSeq {
			return false
		}
		last = g.To
	}
	return st.NextSeq > 0 && st.NextSeq <= maxFrames && st.LastAt >= 0
}

// partBits is the number of bits of a part's number that count the parts of its frame.
const partBits = 28

// partNumber returns the number of the first part of the n-th frame with parts. The others
// follow it, whatever else is written in between, so that a frame names its parts by the
// first and their count, and a reader finds them next to each other. A number does not
// depend on lane or exchange, so the state does not grow with each exchange. There is room
// for 2^35 long frames of 2^28 parts, which is 256 TiB, or 47 days of a frame with a byte
// in every commit. The top bit distinguishes them from those of format 1, which has the
// lane there.
func partNumber(n uint64) uint64 { return 1<<63 | n<<partBits }

// A pending is an incomplete frame: its parts that are in the
// file.
type pending struct {
	Parts   partRef       `json:"parts"`
	FirstAt time.Duration `json:"first_at,omitempty"`
	LastAt  time.Duration `json:"last_at,omitempty"`
	// Truncated means that bytes are missing in it.
	Truncated bool `json:"torn,omitempty"`
}

// An unended is a [pending] of one lane of an exchange or, if Line is set, of stdio.
type unended struct {
	Exchange uint64   `json:"exchange,omitempty"`
	Lane     tap.Lane `json:"lane"`
	Line     bool     `json:"line,omitempty"`
	Form     tap.Form `json:"form"`
	pending
}

// An End describes how a recording was finished.
type End struct {
	// At is the offset at which it was finished.
	At time.Duration `json:"at"`
	// Cut means that the tap did not see the end of its traffic: it was killed, or the
	// machine stopped, and the rest of the queue was appended later.
	Cut bool `json:"cut,omitempty"`
}
