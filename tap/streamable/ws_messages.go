package streamable

import "github.com/mcptap/mcptap/tap"

// maxLate is the maximum number of control frames that wait for the end of a message.
const maxLate = 256

// A piecer records a piece of a frame, see [tap.Recorder].
type piecer func(form tap.Form, p []byte, end bool)

// wsMessages records the messages of one direction of a WebSocket.
//
// What is forwarded of a message is recorded immediately, as HTTP bodies are. A lane has one
// frame at a time, and control frames may arrive between the fragments of a message, so
// these are recorded after it.
type wsMessages struct {
	record piecer

	form  tap.Form
	open  bool // part of the message was recorded
	ended bool // all of the message was recorded

	ctl  []byte      // payload of the current control frame
	late []wsControl // control frames that wait for the end of the message
	saw  bool        // whether a close frame was seen
	note func(string)
	from string // side that sends the messages
}

type wsControl struct {
	form tap.Form
	data []byte
}

func (m *wsMessages) begin(form tap.Form) { m.form, m.ended = form, false }

// data adds bytes of a message. last reports that they are its last.
func (m *wsMessages) data(p []byte, last bool) {
	if len(p) == 0 {
		return // recorded by end
	}
	m.open, m.ended = !last, last
	m.record(m.form, p, last)
}

// end ends a message.
func (m *wsMessages) end() {
	if !m.ended {
		m.record(m.form, nil, true)
	}
	m.open, m.ended = false, true
	for _, c := range m.late {
		m.record(c.form, c.data, true)
	}
	m.late = nil
}

// turnRaw ends the decoded part of a message. The rest is recorded as it crosses.
func (m *wsMessages) turnRaw() {
	if m.open {
		m.end()
	}
	m.form = tap.FormBytes
}

// control adds payload of a control frame.
func (m *wsMessages) control(p []byte) { m.ctl = append(m.ctl, p...) }

func (m *wsMessages) endControl(form tap.Form) {
	if form == tap.FormClose { // no fragment follows (RFC 6455, 5.5.1)
		m.saw = true
		m.close()
	}
	switch {
	case !m.open:
		m.record(form, m.ctl, true)
	case len(m.late) < maxLate:
		m.late = append(m.late, wsControl{form, append([]byte(nil), m.ctl...)})
	default:
		m.note("control frames within a long message were not recorded")
	}
	m.ctl = m.ctl[:0]
}

// close ends an incomplete message. The receiver got no message, but its frame may look like
// one, so the end of the exchange names it.
func (m *wsMessages) close() {
	if m.open {
		m.note("the last WebSocket message from the " + m.from + " is incomplete")
	}
	m.turnRaw()
}
