package streamable

import "github.com/mcptap/mcptap/tap"

const (
	// maxHeldMessage is the maximum size of a fragmented message that is held.
	maxHeldMessage = tap.PartSize
	// maxLate is the maximum number of control frames that wait for the end of a longer one.
	maxLate = 256
)

// A piecer records a piece of a frame, see [tap.Recorder].
type piecer func(form tap.Form, p []byte, end bool)

// wsMessages records the messages of one direction of a WebSocket.
//
// A lane has one frame at a time, and control frames may arrive between the
// fragments of a message. So a fragmented message is held until its end, and
// the control frames are recorded before it. If the message is too long to be held,
// its beginning is recorded, and the control frames after it.
type wsMessages struct {
	record piecer

	form tap.Form
	// whole reports that there cannot be control frames within the message.
	whole bool
	held  []byte
	open  bool // part of the message was recorded
	ended bool // all of the message was recorded

	ctl  []byte      // payload of the current control frame
	late []wsControl // control frames that wait for the end of the message
	saw  bool        // whether a close frame was seen
	note func(string)
}

type wsControl struct {
	form tap.Form
	data []byte
}

func (m *wsMessages) begin(form tap.Form, whole bool) {
	m.form, m.whole, m.ended = form, whole, false
}

// data adds bytes of a message. last reports that they are its last.
func (m *wsMessages) data(p []byte, last bool) {
	if len(p) == 0 {
		return // recorded by end
	}
	m.ended = false
	if !m.whole && !m.open {
		if m.held = append(m.held, p...); last || len(m.held) <= maxHeldMessage {
			return
		}
		p = m.held
	}
	m.open, m.ended = !last, last
	m.record(m.form, p, last)
	m.held = nil
}

// end ends a message.
func (m *wsMessages) end() {
	if !m.ended {
		m.record(m.form, m.held, true)
	}
	m.held, m.open, m.ended = nil, false, true
	for _, c := range m.late {
		m.record(c.form, c.data, true)
	}
	m.late = nil
}

// turnRaw ends the decoded part of a message. The rest is recorded as it crosses.
func (m *wsMessages) turnRaw() {
	if m.open || len(m.held) > 0 {
		m.form = tap.FormBytes // unless the beginning was recorded
		m.record(m.form, m.held, true)
		m.open, m.ended = false, true
	}
	m.held, m.form = nil, tap.FormBytes
}

// control adds payload of a control frame.
func (m *wsMessages) control(p []byte) { m.ctl = append(m.ctl, p...) }

func (m *wsMessages) endControl(form tap.Form) {
	m.saw = m.saw || form == tap.FormClose
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

// close ends an incomplete message.
func (m *wsMessages) close() {
	if m.open || len(m.held) > 0 {
		m.end()
	}
}
