package store

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// FormatVersion is the version of the file format that this program writes.
// Every version that ever shipped has a fixture in testdata/format and, where
// it is not this one, a migration.
const FormatVersion = 1

// Ext is the extension of a recording's file; QueueExt is what the queue of a
// running tap has after it.
const (
	Ext      = ".mcptap"
	QueueExt = ".queue"
)

// Errors that a caller may want to tell apart. Each is wrapped in one that
// names the file and says what to do.
var (
	// ErrNotRecording means that the file is no recording at all.
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
)

// pageSize is the page size of every recording, whatever the system's is, so
// that a file reads the same everywhere.
const pageSize = 4096

// key returns the big-endian key of a number.
func key(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// A State says where writing goes on after a commit. It is written in the same
// transaction as the frames, so a drained queue is never appended twice.
type State struct {
	// Ticket is the queue's next chunk that this file has not seen.
	Ticket uint64 `json:"ticket"`
	// NextSeq is the next frame number to give.
	NextSeq uint64 `json:"next_seq"`
	// NextPart is, per lane, the next part number to give. The lane is in the
	// number's top byte, so that the parts of one frame are consecutive
	// whatever the other lanes do: see partNumber.
	NextPart [tap.Lanes]uint64 `json:"next_part"`
	// Pending is, per lane, the frame that has begun and not ended.
	Pending [tap.Lanes]Pending `json:"pending"`
	// LastAt is the last frame's At.
	LastAt time.Duration `json:"last_at,omitempty"`
	// Gaps are the frame numbers that crossed unrecorded.
	Gaps []tap.Range `json:"gaps,omitempty"`
}

// newState is the state of an empty recording.
func newState() State {
	s := State{NextSeq: 1}
	for lane := range s.NextPart {
		s.NextPart[lane] = partNumber(tap.Lane(lane), 0)
	}
	return s
}

// partNumber is the number of a lane's n-th part.
func partNumber(lane tap.Lane, n uint64) uint64 { return uint64(lane)<<56 | n }

// A Pending is a frame whose end has not arrived yet: the parts already in the
// file.
type Pending struct {
	Parts   partRef       `json:"parts"`
	FirstAt time.Duration `json:"first_at,omitempty"`
	LastAt  time.Duration `json:"last_at,omitempty"`
	// Torn says that bytes are missing in it.
	Torn bool `json:"torn,omitempty"`
}

// An End says how a recording was finished.
type End struct {
	// At is the offset at which it was finished.
	At time.Duration `json:"at"`
	// Cut says that the tap did not finish it itself: it was killed, or the
	// machine stopped, and what the queue still held was appended later.
	Cut bool `json:"cut,omitempty"`
}
