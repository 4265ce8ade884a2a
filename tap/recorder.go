package tap

// A Recorder takes what crosses a tap. It neither cuts nor parses: it numbers
// and enqueues, so that the forwarding path pays one lock and no copy.
//
// A pump asks for Room, reads into it, calls Record, and then writes to the
// other side from the same memory. That order is law 3: whatever the peer can
// react to has been handed over before the peer could see it. The plan of one
// method that takes a finished frame was measured and left: a copy and a
// hand-over per frame cost 1.2 to 2.8 times a bare relay's round trip.
//
// Methods may be called from several goroutines at once, but the calls for one
// lane must come one after another. No method fails: a recorder that cannot
// record lends scratch memory and counts what it missed.
type Recorder interface {
	// Room lends the memory for the next read of lane, at least 64 KiB. It is
	// the caller's until the next call of Room for the same lane. Room waits
	// while the queue to the store is full and the store is alive.
	Room(lane Lane) []byte
	// Record reports that the first n bytes of the lane's room arrived now. It
	// may be called several times for one room, each time with the number of
	// bytes that follow those already recorded.
	Record(lane Lane, n int)
	// End reports that the lane is over, so that a last line without its
	// terminator is a frame too.
	End(lane Lane)
	// Note records an event of the run.
	Note(e Event)
}

// A StreamRecorder takes the frames of many streams at once, cut already: one
// stream a lane of an HTTP exchange. It copies what it is given, since what is
// recorded is not what is forwarded: transfer codings are gone, secrets masked.
// A tap calls it before it forwards the bytes in question (law 3).
//
// The methods may be called from several goroutines at once, but the calls for
// one lane of one exchange must come one after another. None of them fails, as
// for [Recorder]; each may wait while the queue to the store is full and the
// store is alive.
type StreamRecorder interface {
	// Piece adds bytes to the current frame of a lane of an exchange. The first
	// piece decides on the frame's form. End reports that they are its last; p may
	// be empty then, and if it is all of the frame, the frame is. A frame that
	// was begun and never ended is recorded as it is when the recording is
	// closed.
	Piece(exchange uint64, lane Lane, form Form, p []byte, end bool)
	// Event records an event of an exchange, or of the run where exchange is 0.
	// It may be called at any time.
	Event(exchange uint64, e Event)
}

// Discard is a [Recorder] and a [StreamRecorder] that records nothing. The zero
// value is ready.
type Discard struct{ room [Lanes][]byte }

// DiscardRoom is the size in bytes of the memory that [Discard] lends.
const DiscardRoom = 256 << 10

// Room implements [Recorder].
func (d *Discard) Room(lane Lane) []byte {
	if d.room[lane] == nil {
		d.room[lane] = make([]byte, DiscardRoom)
	}
	return d.room[lane]
}

// Record implements [Recorder].
func (*Discard) Record(Lane, int) {}

// End implements [Recorder].
func (*Discard) End(Lane) {}

// Note implements [Recorder].
func (*Discard) Note(Event) {}

// Piece implements [StreamRecorder].
func (*Discard) Piece(uint64, Lane, Form, []byte, bool) {}

// Event implements [StreamRecorder].
func (*Discard) Event(uint64, Event) {}
