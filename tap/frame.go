package tap

import (
	"fmt"
	"time"
)

// A Lane is one byte stream in one direction, or what the tap itself saw.
type Lane uint8

const (
	// Lifecycle carries no traffic: its frames are [Event] values, in JSON, about the
	// run (start, end of a lane, signal, exit, gap).
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

// ParseLane is the inverse of [Lane.String]. It also accepts life, the name of
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
	// order in which their last byte reached the tap. Numbers are missing only if the
	// recording is incomplete, which it reports.
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
	// Form is the kind of unit that the frame is in its transport.
	Form Form
	// Truncated reports that bytes of this frame are missing, because the recording
	// was interrupted while it crossed.
	Truncated bool
	// Raw is what crossed, byte for byte, terminator included.
	Raw []byte
	// Size is the length of the whole frame in bytes. It is larger than len(Raw) only
	// if a reader does not load frames beyond a limit; Raw is then the beginning.
	Size int64
}

// Whole reports whether Raw holds every byte of the frame that was recorded.
func (f *Frame) Whole() bool { return int64(len(f.Raw)) == f.Size }

// A Form is the kind of unit that a frame is in its transport.
type Form uint8

const (
	// FormLine is a line on stdio, a piece of stderr, or an [Event].
	FormLine Form = iota
	// FormBody is an HTTP body, without its transfer coding and, where the tap
	// could decode it, without its content coding.
	FormBody
	// FormEvent is one server-sent event, with all of its lines and the blank
	// line that ends it. The events of a response, joined, are its body.
	FormEvent
	// FormText and FormBinary are WebSocket messages: their payload, unmasked,
	// fragments joined.
	FormText
	FormBinary
	// FormPing, FormPong and FormClose are the payloads of WebSocket control
	// frames.
	FormPing
	FormPong
	FormClose
	// FormBytes are bytes of a connection that could not be read as HTTP or WebSocket.
	FormBytes
	// Forms is the number of forms.
	Forms
)

var formNames = [Forms]string{"line", "body", "event", "text", "binary", "ping", "pong", "close", "bytes"}

// String returns the form's stable name: line, body, event, text, binary, ping,
// pong, close or bytes.
func (f Form) String() string {
	if f < Forms {
		return formNames[f]
	}
	return fmt.Sprintf("form(%d)", uint8(f))
}

// ParseForm is the inverse of [Form.String].
func ParseForm(s string) (Form, error) {
	for f, name := range formNames {
		if name == s {
			return Form(f), nil
		}
	}
	return 0, fmt.Errorf("unknown form %q (want line, body, event, text, binary, ping, pong, close or bytes)", s)
}
