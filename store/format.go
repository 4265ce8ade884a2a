package store

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// FormatVersion is the version of the file format that this program writes.
// Every version that ever shipped has a fixture in testdata/format. Version 1 had
// lines only and is read as this one is; a version that needs more is read through
// what makes this one of it, for files are never rewritten.
const FormatVersion = 2

// Ext is the extension of a recording's file; QueueExt is what the queue of a
// running tap has after it.
const (
	Ext      = ".mcptap"
	QueueExt = ".queue"
)

// Errors that a caller may want to tell apart. Each is wrapped in one that
// names the file and the remedy.
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
	keyFifth  = []byte("~") // without a meaning: see layOut
)

// pageSize is the page size of every recording, whatever the system's is, so
// that a file reads the same everywhere.
const pageSize = 4096

// key returns the big-endian key of a number.
func key(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// A State is where writing continues after a commit. It is written in the same
// transaction as the frames, so a drained queue is never appended twice.
type State struct {
	// Ticket is the queue's next chunk that this file has not seen.
	Ticket uint64 `json:"ticket"`
	// NextSeq is the next frame number to give.
	NextSeq uint64 `json:"next_seq"`
	// NextLong is the number of the next frame that comes in parts: see
	// partNumber.
	NextLong uint64 `json:"next_long,omitempty"`
	// Open are the frames that have begun and not ended: streams that are between two
	// frames, or over, leave nothing here.
	Open []OpenFrame `json:"open,omitempty"`
	// Pending is, in older files, the open line of each lane of stdio.
	Pending *[tap.Lanes]Pending `json:"pending,omitempty"`
	// LastAt is the last frame's At.
	LastAt time.Duration `json:"last_at,omitempty"`
	// Gaps are the frame numbers that crossed unrecorded.
	Gaps []tap.Range `json:"gaps,omitempty"`
}

// newState is the state of an empty recording.
func newState() State { return State{NextSeq: 1} }

// maxFrames is how many frames no recording has, so that arithmetic on their
// numbers does not run over.
const maxFrames = 1 << 63

// sound reports whether a state can be one: gaps ascend and lie between the frames.
func (st *State) sound() bool {
	last := uint64(0)
	for _, g := range st.Gaps {
		if g.From <= last || g.To < g.From || g.To >= st.NextSeq {
			return false
		}
		last = g.To
	}
	return st.NextSeq > 0 && st.NextSeq <= maxFrames && st.LastAt >= 0
}

// partBits is how many bits of a part's number count the parts of its frame.
const partBits = 28

// partNumber is the number of the first part of the n-th frame that comes in
// parts. The others follow it, whatever else is written meanwhile, so that a
// frame names its parts by the first and their count, and a reader finds them
// side by side. A number does not depend on lane or exchange, and no stream keeps
// one between two frames: the state would grow with each exchange. There is room for 2^35 long frames of 2^28 parts, which
// is 256 TiB, or 47 days of a frame that drips into every commit. The top bit
// sets them apart from those of format 1, which has the lane there.
func partNumber(n uint64) uint64 { return 1<<63 | n<<partBits }

// A Pending is a frame whose end has not arrived yet: the parts already in the
// file.
type Pending struct {
	Parts   partRef       `json:"parts"`
	FirstAt time.Duration `json:"first_at,omitempty"`
	LastAt  time.Duration `json:"last_at,omitempty"`
	// Torn means that bytes are missing in it.
	Torn bool `json:"torn,omitempty"`
}

// An OpenFrame is a [Pending] of one lane of one exchange or, with Line, of stdio.
type OpenFrame struct {
	Exchange uint64   `json:"exchange,omitempty"`
	Lane     tap.Lane `json:"lane"`
	Line     bool     `json:"line,omitempty"`
	Form     tap.Form `json:"form"`
	Pending
}

// An End is how a recording was finished.
type End struct {
	// At is the offset at which it was finished.
	At time.Duration `json:"at"`
	// Cut means that the tap did not see the end of its traffic: it was killed, or
	// the machine stopped, and what the queue still held was appended later.
	Cut bool `json:"cut,omitempty"`
}
