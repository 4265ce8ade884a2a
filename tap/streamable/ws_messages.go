package streamable

import "github.com/mcptap/mcptap/tap"

const (
	// maxHeldMessage is how many bytes of a message in fragments are held.
	maxHeldMessage = tap.PartSize
	// maxLate is how many control frames wait for the end of a longer one.
	maxLate = 256
)

// A piecer records a piece of a frame, as [tap.Recorder] has it.
type piecer func(form tap.Form, p []byte, end bool)

// wsMessages records the messages of one direction of a WebSocket.
//
// A lane has one frame at a time, and control frames may come between the
// fragments of a message. So a message in fragments is held until its end, and
// the control frames are recorded before it. Of a message that is too long for
// that the beginning is recorded, and the control frames after it.
type wsMessages struct {
	record piecer

	form tap.Form
	// whole says that nothing can come between the message's bytes.
	whole bool
	held  []byte
	open  bool // a part of the message has been recorded
	ended bool // all of it

	ctl  []byte      // of the control frame that is crossing
	late []wsControl // that wait for the end of the message
	saw  bool        // a close frame
	note func(string)
}

type wsControl struct {
	form tap.Form
	data []byte
}

func (m *wsMessages) begin(form tap.Form, whole bool) {
	m.form, m.whole, m.ended = form, whole, false
}

// data takes bytes of a message. last says that they are the last of it.
func (m *wsMessages) data(p []byte, last bool) {
	if len(p) == 0 {
		return // end will say it
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

// turnRaw ends what was decoded of a message. What follows is recorded as it
// crosses.
func (m *wsMessages) turnRaw() {
	if m.open || len(m.held) > 0 {
		m.form = tap.FormBytes // unless the beginning has been recorded
		m.record(m.form, m.held, true)
		m.open, m.ended = false, true
	}
	m.held, m.form = nil, tap.FormBytes
}

// control takes bytes of a control frame.
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

// close ends a message that was cut off.
func (m *wsMessages) close() {
	if m.open || len(m.held) > 0 {
		m.end()
	}
}
