package tap

// A FrameScanner is to [PeekFrame] what a [Scanner] is to [Peek]: it takes the
// frame in pieces, in constant memory, and agrees as far as a Scanner does. The
// zero value is for a frame of the form [FormLine].
type FrameScanner struct {
	form  Form
	json  Scanner
	event eventScanner
}

// NewFrameScanner makes a scanner for one frame of a form.
func NewFrameScanner(form Form) *FrameScanner { return &FrameScanner{form: form} }

// Write takes the next piece of the frame. It keeps nothing of p and never
// fails. It may not be called after [FrameScanner.Message].
func (s *FrameScanner) Write(p []byte) (int, error) {
	switch s.form {
	case FormLine, FormText, FormBinary, FormBody:
		return s.json.Write(p)
	case FormEvent:
		s.event.feed(p, &s.json)
	}
	return len(p), nil
}

// Message says that the frame is over and returns what is known of it.
func (s *FrameScanner) Message() Message {
	if s.other() {
		return Message{Kind: Other}
	}
	return s.json.Message()
}

// Failures counts, like Message, to the end of the frame, as [Scanner.Failures]
// does. What does not mean to be JSON-RPC is no failure.
func (s *FrameScanner) Failures() (failures, invalid int) {
	if s.other() {
		return 0, 0
	}
	return s.json.Failures()
}

// other reports whether the frame, which is over, does not mean to be JSON-RPC.
func (s *FrameScanner) other() bool {
	switch s.form {
	case FormLine, FormText, FormBinary:
		return false
	case FormBody:
		s.json.end()
		return !s.json.s.meant()
	case FormEvent:
		s.event.lineOver(&s.json)
		return s.event.other || !s.event.text
	}
	return true
}

// An eventScanner finds the data in an event that comes in pieces, as
// [parseEventLines] does in a whole one.
type eventScanner struct {
	// head is the beginning of the line, n bytes of it, kept until the line is
	// over or too long for anything but data.
	head [24]byte
	n    int
	kind lineKind
	// behind says that the first line is over.
	behind bool
	// data says that there was a data line, text that one had more than white
	// space, other that the event's name is another than message.
	data, text, other bool
}

// A lineKind says what the rest of a line is for.
type lineKind uint8

const (
	lineUnsure lineKind = iota // it goes to the head
	lineData                   // it goes on as data
	lineOther                  // nothing
)

// feed takes a piece of the event and gives the data in it to a scanner.
func (e *eventScanner) feed(p []byte, to *Scanner) {
	for len(p) > 0 {
		end := lineEnd(p)
		e.stretch(p[:end], to)
		if end < len(p) {
			e.lineOver(to) // the \n of a \r\n makes a blank line, which says nothing
			end++
		}
		p = p[end:]
	}
}

// stretch takes bytes of the current line.
func (e *eventScanner) stretch(p []byte, to *Scanner) {
	if e.kind == lineUnsure {
		k := copy(e.head[e.n:], p)
		if e.n += k; e.n < len(e.head) {
			return
		}
		e.decide(to)
		p = p[k:]
	}
	if e.kind == lineData {
		e.value(p, to)
	}
}

// decide finds out what the line is by its head.
func (e *eventScanner) decide(to *Scanner) {
	head := e.head[:e.n]
	if mark := len(byteOrderMark); !e.behind && e.n >= mark && string(head[:mark]) == byteOrderMark {
		head = head[mark:]
	}
	e.kind = lineOther
	switch name, value := eventField(head); string(name) {
	case "data":
		e.kind = lineData
		if e.data {
			to.Write([]byte{'\n'})
		}
		e.data = true
		e.value(value, to)
	case "event":
		e.other = !namesMessage(value)
	}
}

func (e *eventScanner) value(p []byte, to *Scanner) {
	to.Write(p)
	e.text = e.text || len(trimSpace(p)) > 0
}

// lineOver ends the current line.
func (e *eventScanner) lineOver(to *Scanner) {
	if e.kind == lineUnsure && e.n > 0 {
		e.decide(to)
	}
	e.kind, e.n, e.behind = lineUnsure, 0, true
}
