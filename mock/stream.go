package mock

import (
	"bytes"
	"strconv"

	"github.com/mcptap/mcptap/replay"
)

// A stream is a way to the client: the answer to one request, or what stands open.
type stream struct {
	id   replay.Stream
	name string
	form answerForm
	// shape is how the recorded answer came.
	shape shape
	// events are those that are kept, the first of them is number base.
	events []event
	base   int
	ids    bool
	// over says that nothing more comes, broken that this is as if the connection
	// broke; reading that a request writes it.
	over, broken, reading bool
	waiting               int
	// asides are what the recorded server did beside its messages, aside the number of
	// the next of them.
	asides []aside
	aside  int
	// turn numbers the readers, read counts the events that any of them has had.
	turn, read int
	wake       chan struct{}
}

// An event is a message with what stands around it.
type event struct {
	data []byte
	// status is that of HTTP with which it refuses the request, 0 for none; json says
	// that it is an answer in itself.
	status int
	json   bool
	// frame is that of the recording, 0 for none.
	frame uint64
}

// put adds a message, and returns how many bytes it takes.
func (x *stream) put(out replay.Output) int {
	n := x.base + len(x.events)
	alone := out.Last && n == 0 && x.form != formEvents
	e := event{status: out.Status, json: alone, frame: out.Frame.Seq}
	switch {
	case x.form == formText || alone:
		e.data = bytes.Clone(bytes.Trim(out.Raw, " \t\r\n"))
	default:
		x.form = formEvents
		e.data = x.format(out.Raw, n+1)
	}
	x.events = append(x.events, e)
	return len(e.data)
}

// format makes a server-sent event of a message (WHATWG HTML, server-sent events).
func (x *stream) format(raw []byte, number int) []byte {
	raw = bytes.Trim(raw, " \t\r\n")
	b := make([]byte, 0, len(raw)+len(x.name)+48)
	if x.ids {
		b = append(b, "id: "...)
		b = x.eventID(b, number)
		b = append(b, '\n')
	}
	b = append(b, "event: message\n"...)
	for more := true; more; {
		var line []byte
		line, raw, more = bytes.Cut(raw, []byte{'\n'})
		b = append(b, "data: "...)
		for _, c := range line {
			if c == '\r' {
				c = ' ' // it would end the line
			}
			b = append(b, c)
		}
		b = append(b, '\n')
	}
	return append(b, '\n')
}

// eventID is the id of an event: which stream it is of, and which event there.
func (x *stream) eventID(b []byte, number int) []byte {
	b = append(append(b, x.name...), '-')
	return strconv.AppendInt(b, int64(number), 10)
}

// from returns the events behind the first so many.
func (x *stream) from(n int) []event {
	if n -= x.base; n < 0 {
		n = 0
	}
	if n >= len(x.events) {
		return nil
	}
	return x.events[n:len(x.events):len(x.events)]
}

// drop forgets all events, and returns how many bytes that were.
func (x *stream) drop() int { return x.cut(len(x.events)) }

// trim forgets old events of those that have been written, and returns how many
// bytes that were.
func (x *stream) trim(written int) int {
	if n := written - x.base - maxNamed; n > maxNamed {
		return x.cut(n)
	}
	return 0
}

// cut forgets the first so many events.
func (x *stream) cut(events int) (n int) {
	for i := range x.events[:events] {
		n += len(x.events[i].data)
	}
	x.base += events
	x.events = append([]event(nil), x.events[events:]...)
	return n
}

// signal wakes whoever writes the stream.
func (x *stream) signal() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}
