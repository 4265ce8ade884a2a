package mock

import (
	"bytes"
	"strconv"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

// A stream is a way to the client: the response to one request, or what stands open.
type stream struct {
	id replay.Stream
	// played says that the response is played as it was recorded over HTTP, head is then
	// its head, nil as long as that has not come.
	played bool
	head   *replay.Response
	// name begins the ids that events are given which have none, "" for no ids.
	name string
	form streamForm
	// pieces are those that are kept, the first of them is number base.
	pieces []piece
	base   int
	// resumable says that a client can come back for what it has not read; old that it
	// would take an event without data for a broken message.
	resumable, old bool
	// over says that nothing more comes, broken that this is as if the connection
	// broke; reading that a request writes it.
	over, broken, reading bool
	// waiting is how many bytes were put there since it was read.
	waiting int
	// live says that an answer of the live server comes on it, owed is how many answers
	// are due.
	live bool
	owed int
	// binary says that the client of a WebSocket has sent a binary message last.
	binary bool
	// writing says that a request writes pieces which it has taken.
	writing bool
	// turn numbers the readers, read counts the pieces that any of them has had.
	turn, read int
	wake       chan struct{}
}

// A streamForm is what a stream consists of.
type streamForm uint8

const (
	formUnknown streamForm = iota
	formBody               // the body of a response
	formEvents             // server-sent events
	formText               // messages of a WebSocket
)

// A piece is what is written at once.
type piece struct {
	data []byte
	// id is that of an event, "" for none.
	id string
	// status is that of HTTP with which it refuses the request, 0 for none; alone says
	// that it is a message that is a response in itself, page that it is no message.
	status      int
	alone, page bool
	// binary says that it is a binary message of a WebSocket.
	binary bool
}

// put adds what is to be written, and returns how many bytes it takes.
func (x *stream) put(out replay.Output) int {
	if out.Response != nil && x.head == nil {
		x.head = out.Response
		if x.form = formBody; x.head.Events {
			x.form = formEvents
		}
	}
	var p piece
	number := x.base + len(x.pieces) + 1
	switch {
	case len(out.Raw) == 0 && len(out.Whole) == 0:
		return 0
	case len(out.Raw) == 0:
		p = piece{data: out.Whole, page: true}
		if x.form == formEvents {
			e := tap.ParseServerSentEvent(out.Whole)
			if x.old && len(e.Data) == 0 && len(e.Comments) == 0 {
				return 0
			}
			p.id = e.ID
		}
	case x.form == formText:
		p.data, p.binary = trim(out.Raw), out.Form == tap.FormBinary || out.Form != tap.FormText && x.binary
	case x.form == formBody:
		p.data = out.Raw
	case number == 1 && (out.Status != 0 || !x.played && out.Last && x.form != formEvents):
		p = piece{data: trim(out.Raw), status: out.Status, alone: true}
	default:
		x.form = formEvents
		p = x.event(out, number)
		p.status = out.Status
	}
	x.resumable = x.resumable || p.id != ""
	x.pieces = append(x.pieces, p)
	return len(p.data)
}

// busy reports whether a request is about to write what the stream was given.
func (x *stream) busy() bool { return x.reading && (x.writing || x.read < x.base+len(x.pieces)) }

func trim(message []byte) []byte { return bytes.Clone(bytes.Trim(message, " \t\r\n")) }

// event makes an event of a message: the recorded one, if it came in one.
func (x *stream) event(out replay.Output, number int) (p piece) {
	if out.Form == tap.FormEvent && len(out.Whole) > 0 {
		p.data = withData(out.Whole, out.Raw)
		p.id = tap.ParseServerSentEvent(p.data).ID
	} else {
		p.data = newEvent(out.Raw)
	}
	if p.id == "" && x.name != "" {
		p.id = x.eventID(number)
		p.data = append([]byte("id: "+p.id+"\n"), p.data...)
	}
	return p
}

// newEvent makes a server-sent event of a message (WHATWG HTML, server-sent events).
func newEvent(raw []byte) []byte {
	b := append(make([]byte, 0, len(raw)+32), "event: message\n"...)
	return append(appendData(b, "data: ", bytes.Trim(raw, " \t\r\n"), "\n"), '\n')
}

// appendData appends the data of an event, a line for each of its own.
func appendData(b []byte, field string, data []byte, end string) []byte {
	for more := true; more; {
		var line []byte
		line, data, more = bytes.Cut(data, []byte{'\n'})
		b = append(b, field...)
		for _, c := range line {
			if c == '\r' {
				c = ' ' // it would end the line
			}
			b = append(b, c)
		}
		b = append(b, end...)
	}
	return b
}

// withData returns an event with other data, and all else as it was.
func withData(event, data []byte) []byte {
	old := tap.ParseServerSentEvent(event).Data
	if bytes.Equal(old, data) {
		return event
	}
	if at := bytes.Index(event, old); at >= 0 && len(old) > 0 {
		return bytes.Join([][]byte{event[:at], data, event[at+len(old):]}, nil)
	}
	var b []byte
	written := false
	for line := range bytes.Lines(event) { // the data is in several lines
		if !bytes.HasPrefix(line, []byte("data")) {
			b = append(b, line...)
			continue
		}
		if written {
			continue
		}
		written = true
		field := line[:bytes.IndexByte(line, ':')+1]
		if bytes.HasPrefix(line[len(field):], []byte{' '}) {
			field = line[:len(field)+1]
		}
		b = appendData(b, string(field), data, string(line[len(bytes.TrimRight(line, "\r\n")):]))
	}
	return b
}

// eventID is the id of an event that was recorded without: which stream it is of, and
// which piece there.
func (x *stream) eventID(number int) string { return x.name + "-" + strconv.Itoa(number) }

// behind returns how many pieces there are up to the event with an id; ok is false if
// there is none.
func (x *stream) behind(id string) (n int, ok bool) {
	if x.name != "" && id == x.eventID(0) {
		return 0, true
	}
	for i := len(x.pieces) - 1; i >= 0; i-- {
		if x.pieces[i].id == id {
			return x.base + i + 1, true
		}
	}
	return 0, false
}

// from returns the pieces behind the first n.
func (x *stream) from(n int) []piece {
	n = max(n-x.base, 0)
	if n >= len(x.pieces) {
		return nil
	}
	return x.pieces[n:len(x.pieces):len(x.pieces)]
}

// drop forgets all pieces, and returns how many bytes that were.
func (x *stream) drop() int { return x.cut(len(x.pieces)) }

// trim forgets old pieces of those that have been written, and returns how many
// bytes that were.
func (x *stream) trim(written int) int {
	if n := written - x.base - maxResumable; n > maxResumable {
		return x.cut(n)
	}
	return 0
}

// cut forgets a number of pieces, the first ones.
func (x *stream) cut(pieces int) (n int) {
	for i := range x.pieces[:pieces] {
		n += len(x.pieces[i].data)
	}
	x.base += pieces
	x.pieces = append([]piece(nil), x.pieces[pieces:]...)
	return n
}

// signal wakes whatever writes the stream.
func (x *stream) signal() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}
