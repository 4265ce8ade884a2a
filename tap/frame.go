package tap

import (
	"fmt"
	"time"
)

// A Lane is one byte stream in one direction, or what the tap itself saw.
type Lane uint8

const (
	// Lifecycle carries no traffic: its frames are [Event] values, in JSON, about
	// the run itself (start, end of a lane, signal, exit, gap).
	Lifecycle Lane = iota
	// ToServer is what the client sent.
	ToServer
	// ToClient is what the server sent.
	ToClient
	// Stderr is what the server wrote to its standard error.
	Stderr
	// Lanes is the number of lanes.
	Lanes
)

var laneNames = [Lanes]string{"lifecycle", "to_server", "to_client", "stderr"}

// String returns the lane's stable name: lifecycle, to_server, to_client or stderr.
func (l Lane) String() string {
	if l < Lanes {
		return laneNames[l]
	}
	return fmt.Sprintf("lane(%d)", uint8(l))
}

// ParseLane is the inverse of [Lane.String]. It also takes life, the name of
// [Lifecycle] in older texts.
func ParseLane(s string) (Lane, error) {
	if s == "life" {
		return Lifecycle, nil
	}
	for l, name := range laneNames {
		if name == s {
			return Lane(l), nil
		}
	}
	return 0, fmt.Errorf("unknown lane %q (want lifecycle, to_server, to_client or stderr)", s)
}

// A Frame is one unit as it crossed the tap: a line on stdio with its
// terminator (the last line of a lane may lack one), a piece of stderr, an HTTP
// body, a server-sent event, a WebSocket message, or an event of the run.
type Frame struct {
	// Seq numbers the frames of one recording from 1 without a gap, in the
	// order in which their last byte reached the tap. Numbers are missing only
	// where the recording itself is incomplete, which it records too.
	Seq uint64
	// At is when the last byte of the frame reached the tap, as a monotonic
	// offset from the start of the recording. At never decreases with Seq.
	At time.Duration
	// Took is how long before At the first byte of the frame reached the tap:
	// zero for a frame that arrived in one read.
	Took time.Duration
	// Lane is the stream that the frame belongs to.
	Lane Lane
	// Exchange is the HTTP exchange that the frame belongs to, numbered from 1
	// in the order in which the requests began; 0 on stdio.
	Exchange uint64
	// Form is the unit of the transport that the frame is.
	Form Form
	// Truncated reports that bytes of this frame are missing, because the recording
	// was interrupted while it crossed.
	Truncated bool
	// Raw is what crossed, byte for byte, terminator included.
	Raw []byte
	// Size is the frame's whole length in bytes. It is larger than len(Raw)
	// only where a reader was asked not to load frames beyond a limit; Raw
	// then holds the beginning.
	Size int64
}

// Whole reports whether Raw holds every byte of the frame that was recorded.
func (f *Frame) Whole() bool { return int64(len(f.Raw)) == f.Size }
