package tap

import "bytes"

// An SSESplitter cuts an event stream (WHATWG HTML, server-sent events,
// "parsing an event stream") into units that end with a blank line: an event, or
// a block of comments only, or a blank line alone. The units, joined, are
// the stream, so a byte order mark belongs to the first of them. It holds no
// bytes, so its memory is constant. The zero value is ready.
//
// A line may end in \n, \r or \r\n. A blank line that ends in \r may be followed by a \n in
// the next chunk. If the previous line ended in a lone \r, the splitter does not wait for it,
// and a \n that does follow is a blank line of its own; otherwise the unit is over at the
// next byte. So the units of a stream do not depend on its chunks.
type SSESplitter struct {
	held int  // bytes of the current unit since the last cut
	mark int  // bytes of a byte order mark at the stream's beginning; -1: after it
	line bool // the current line has bytes
	lone bool // the previous line ended in a \r without \n
	cr   crState
}

// A crState records what ended in a \r that a \n may follow.
type crState uint8

const (
	crNone  crState = iota
	crLine          // a line
	crBlank         // a blank line, and with it the unit
)

// Next returns how many leading bytes of chunk belong to the current unit and
// how they end, as [Splitter.Next] does. Call it again with the rest of the
// chunk while that is not empty. n is 0 if the unit turns out to have ended before the
// chunk; then cut is [CutFrame].
func (s *SSESplitter) Next(chunk []byte) (n int, cut Cut) {
	if s.cr == crBlank && len(chunk) > 0 {
		if chunk[0] == '\n' {
			n = 1
		}
		return n, s.over(n == 0)
	}
	window := chunk[:min(len(chunk), PartSize-s.held)]
	for n < len(window) {
		if s.cr == crLine {
			if s.line, s.cr, s.lone = false, crNone, window[n] != '\n'; !s.lone {
				n++
				continue
			}
		}
		if !s.line && s.inMark(window[n]) {
			n++
			continue
		}
		if !s.line && (window[n] == '\n' || window[n] == '\r') {
			return s.blank(window, n)
		}
		s.line = true
		i := lineEnd(window[n:])
		if n += i; n == len(window) {
			break
		}
		if window[n] == '\n' {
			s.line, s.lone = false, false
		} else {
			s.cr = crLine
		}
		n++
	}
	return n, s.part(n)
}

// Blank reports whether the current unit ends with a blank line that a \n may follow.
func (s *SSESplitter) Blank() bool { return s.cr == crBlank }

// blank ends the unit with the blank line whose end begins at window[n].
func (s *SSESplitter) blank(window []byte, n int) (int, Cut) {
	switch {
	case window[n] == '\n':
		return n + 1, s.over(false)
	case s.lone:
		return n + 1, s.over(true)
	}
	if n++; n == len(window) {
		s.cr = crBlank
		return n, s.part(n)
	}
	if window[n] == '\n' {
		return n + 1, s.over(false)
	}
	return n, s.over(true)
}

// over begins a new unit. lone reports that the last one ended in a lone \r.
func (s *SSESplitter) over(lone bool) Cut {
	s.held, s.line, s.cr, s.lone = 0, false, crNone, lone
	return CutFrame
}

// part counts n bytes of a unit that continues.
func (s *SSESplitter) part(n int) Cut {
	if s.held += n; s.held == PartSize {
		s.held = 0
		return CutPart
	}
	return CutNone
}

// inMark reports whether c belongs to a byte order mark at the stream's beginning. An
// incomplete one makes a line that is not blank.
func (s *SSESplitter) inMark(c byte) bool {
	if s.mark < 0 {
		return false
	}
	if s.mark < len(byteOrderMark) && c == byteOrderMark[s.mark] {
		s.mark++
		return true
	}
	s.line = s.mark > 0 && s.mark < len(byteOrderMark)
	s.mark = -1
	return false
}

// lineEnd returns the index of the first \n or \r in p, or len(p). It searches in short
// stretches, so that the search for one does not go far beyond the other.
func lineEnd(p []byte) int {
	const stretch = 256
	for from := 0; from < len(p); from += stretch {
		b := p[from:min(from+stretch, len(p))]
		end := bytes.IndexByte(b, '\n')
		if end >= 0 {
			b = b[:end]
		}
		if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
			return from + cr
		}
		if end >= 0 {
			return from + end
		}
	}
	return len(p)
}

// EndpointURL returns the range of the URL in the endpoint event of HTTP+SSE (2024-11-05,
// basic/transports): event[from:to]; to is 0 if there is none. Content reports whether the
// event has more than comments.
func EndpointURL(event []byte) (from, to int, content bool) {
	e := ParseServerSentEvent(event)
	if e.Name != "endpoint" || len(e.Data) == 0 || bytes.IndexByte(e.Data, '\n') >= 0 {
		return 0, 0, e.Name != "" || len(e.Data) > 0
	}
	for at := 0; ; {
		i := bytes.Index(event[at:], e.Data)
		if i < 0 {
			return 0, 0, true
		}
		if at += i; bytes.HasSuffix(event[:at], []byte("data:")) || bytes.HasSuffix(event[:at], []byte("data: ")) {
			return at, at + len(e.Data), true
		}
		at++
	}
}

// byteOrderMark may precede the first event of a stream and has no meaning.
const byteOrderMark = "\xef\xbb\xbf"

// A ServerSentEvent is a parsed event (WHATWG HTML, server-sent events, "interpreting an
// event stream"). A byte slice that is on one line points into the frame.
type ServerSentEvent struct {
	// ID is the event's own id, and HasID reports that it has one: an empty id makes a
	// client forget the last one.
	ID    string
	HasID bool
	// Name is the event's type; "" stands for "message".
	Name string
	// Data has the data lines, joined by \n; nil when there is none. Such an
	// event does not reach the application of a client, but its id counts.
	Data []byte
	// Retry is the reconnection time in milliseconds, as written; "" if it is
	// absent or not a number.
	Retry string
	// Comments has the comment lines, joined by \n; nil when there is none.
	Comments []byte
}

// ParseServerSentEvent parses one unit of an [SSESplitter], with or without the blank line
// that ends it. Any bytes are an event: unknown lines are ignored, as the standard requires.
// A byte order mark at the beginning counts as the stream's.
func ParseServerSentEvent(raw []byte) (x ServerSentEvent) {
	raw = bytes.TrimPrefix(raw, []byte(byteOrderMark))
	for len(raw) > 0 {
		end := lineEnd(raw)
		line := raw[:end:end]
		raw = raw[min(end+1, len(raw)):] // the \n of a \r\n becomes a blank line, which is ignored
		name, value, found := bytes.Cut(line, []byte{':'})
		if value = bytes.TrimPrefix(value, []byte{' '}); !found {
			value = []byte{}
		}
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

// joinLine appends a line to the previous ones, nil if there are none. The first line is not
// copied; its capacity ends with it, so appending the next one copies it.
func joinLine(text, line []byte) []byte {
	if text == nil {
		return line
	}
	return append(append(text, '\n'), line...)
}
