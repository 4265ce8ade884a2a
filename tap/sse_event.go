package tap

import "bytes"

// byteOrderMark may stand before the first event of a stream and means nothing.
const byteOrderMark = "\xef\xbb\xbf"

// A ServerSentEvent is what the lines of one event say (WHATWG HTML,
// server-sent events, "interpreting an event stream"). Byte slices point into
// the frame that was parsed, where one line makes them.
type ServerSentEvent struct {
	// ID is the event's own id, HasID reports that it has one: it may be empty,
	// which makes a client forget the last one.
	ID    string
	HasID bool
	// Name is the event's type; "" stands for "message".
	Name string
	// Data has the data lines, joined by \n; nil when there is none. Such an
	// event does not reach the application behind a client, but its id counts.
	Data []byte
	// Retry is the time in milliseconds after which to connect again, as it is
	// written; "" when it is absent or not a number.
	Retry string
	// Comments has the comment lines, joined by \n; nil when there is none.
	Comments []byte
}

// ParseServerSentEvent reads one unit of an [SSESplitter], with or without the
// blank line that ends it. Any bytes are an event: lines without a meaning are
// ignored, as the standard demands. A byte order mark at the beginning is taken
// for the stream's.
func ParseServerSentEvent(raw []byte) (x ServerSentEvent) {
	raw = bytes.TrimPrefix(raw, []byte(byteOrderMark))
	for len(raw) > 0 {
		end := lineEnd(raw)
		line := raw[:end:end]
		raw = raw[min(end+1, len(raw)):] // the \n of a \r\n makes a blank line, which says nothing
		name, value := eventField(line)
		switch string(name) {
		case "data":
			x.Data = joinLine(x.Data, value)
		case "event":
			x.Name = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				x.ID, x.HasID = string(value), true
			}
		case "retry":
			if len(value) > 0 && len(bytes.TrimLeft(value, "0123456789")) == 0 {
				x.Retry = string(value)
			}
		case "":
			if len(line) > 0 { // it begins with a colon
				x.Comments = joinLine(x.Comments, value)
			}
		}
	}
	return x
}

// eventField splits a line at its colon, and takes one space off the value. It
// is never nil.
func eventField(line []byte) (name, value []byte) {
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return line, line[len(line):]
	}
	value = line[colon+1:]
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return line[:colon], value
}

// joinLine adds a line to those before, nil if there are none. A first line is
// not copied; its capacity ends with it, so that the next one moves it.
func joinLine(text, line []byte) []byte {
	if text == nil {
		return line
	}
	return append(append(text, '\n'), line...)
}
