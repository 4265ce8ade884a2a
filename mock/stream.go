package mock

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

// A stream is what a client reads: the response to one request, or a stream that stays open.
type stream struct {
	id     replay.Stream
	played bool             // the response is played as it was recorded over HTTP
	head   *replay.Response // its recorded head, nil until it is played
	name   string           // the prefix of the ids given to events without one, "" to give none
	form   streamForm
	pieces []piece // the pieces kept; base pieces before them were dropped
	base   int

	resumable bool // a client can resume it
	old       bool // the client considers an event without data invalid
	over      bool // nothing more will be added
	broken    bool // it ended as if the connection broke
	reading   bool // a request is writing it to a client
	writing   bool // a request is writing pieces that it took
	live      bool // the live server may send a response on it
	binary    bool // the last message from a WebSocket client was binary

	waiting    int // bytes added since it was read
	owed       int // responses due
	turn, read int // the number of the current reader, and of the pieces that readers had
	wake       chan struct{}
}

type streamForm uint8

const (
	formUnknown streamForm = iota
	formBody               // the body of a response
	formEvents             // server-sent events
	formText               // messages of a WebSocket
)

// A piece is written in one write.
type piece struct {
	data   []byte
	id     string // the event id, "" for none
	status int    // the HTTP status that refuses the request, 0 for none
	alone  bool   // it is the whole body of a response
	page   bool   // it is not a message
	binary bool   // it is a binary message of a WebSocket
}

// put adds an output and returns its size.
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

// busy reports whether a request still has pieces of the stream to write.
func (x *stream) busy() bool { return x.reading && (x.writing || x.read < x.base+len(x.pieces)) }

func trim(message []byte) []byte { return bytes.Clone(bytes.Trim(message, " \t\r\n")) }

// event returns a message as an event: the recorded one if there is one.
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

// newEvent returns a message as a server-sent event.
func newEvent(raw []byte) []byte {
	b := append(make([]byte, 0, len(raw)+32), "event: message\n"...)
	return append(appendData(b, "data: ", bytes.Trim(raw, " \t\r\n"), "\n"), '\n')
}

// appendData appends the data of an event, with one field per line.
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

// withData returns an event with its data replaced.
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

// eventID returns the id to give to an event: the name of the stream and a number.
func (x *stream) eventID(number int) string { return x.name + "-" + strconv.Itoa(number) }

// behind returns the number of pieces up to the event with an id. ok is false if there is no such
// event.
func (x *stream) behind(id string) (n int, ok bool) {
	if x.name != "" && id == x.eventID(0) {
		return 0, true
	}
	for i, p := range slices.Backward(x.pieces) {
		if p.id == id {
			return x.base + i + 1, true
		}
	}
	return 0, false
}

// from returns the pieces after the first n.
func (x *stream) from(n int) []piece {
	return slices.Clip(x.pieces[min(max(n-x.base, 0), len(x.pieces)):])
}

// drop drops all pieces and returns their size.
func (x *stream) drop() int { return x.cut(len(x.pieces)) }

// trim drops old pieces that have been written and returns their size.
func (x *stream) trim(written int) int {
	if n := written - x.base - maxResumable; n > maxResumable {
		return x.cut(n)
	}
	return 0
}

// cut drops the first pieces and returns their size.
func (x *stream) cut(pieces int) (n int) {
	for i := range x.pieces[:pieces] {
		n += len(x.pieces[i].data)
	}
	x.base += pieces
	x.pieces = slices.Clone(x.pieces[pieces:])
	return n
}

// signal wakes the reader of the stream.
func (x *stream) signal() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}
