package tap

import "time"

// A SessionMeter makes the [Stats] of a recording with several sessions, with a
// [Meter] for each, so that what one client numbers does not mix with what another
// does. It is used as a Meter is, but for frames about the run, which it takes too.
// Make one with [NewSessionMeter].
type SessionMeter struct {
	stats    *Stats
	only     int
	sessions Sessions
	meters   map[int]*Meter
	open     int // requests, of all sessions
}

// NewSessionMeter makes a SessionMeter that adds to s the calls of one session, or
// of all for 0.
func NewSessionMeter(s *Stats, session int) *SessionMeter {
	return &SessionMeter{stats: s, only: session, meters: map[int]*Meter{}}
}

// Add takes the next frame, whose Raw must be whole.
func (m *SessionMeter) Add(f *Frame) {
	if f.Lane == Life {
		m.event(f)
		return
	}
	if f.Exchange == 0 || !m.sessions.asks(f) {
		if meter := m.meter(m.tell(f, nil)); meter != nil {
			meter.Add(f)
		}
		return
	}
	message := PeekFrame(f)
	if meter := m.meter(m.tell(f, &message)); meter != nil {
		meter.add(f, &message)
	}
}

// event takes a frame about the run.
func (m *SessionMeter) event(f *Frame) {
	e, err := ParseEvent(f.Raw)
	if err != nil {
		e = Event{}
	}
	n := m.sessions.AddEvent(f, &e)
	m.letGo()
	if meter := m.meters[n]; meter != nil {
		meter.AddEvent(f, &e)
	}
}

// AddMessage takes the next frame with what is known of its message; see
// [Meter.AddMessage].
func (m *SessionMeter) AddMessage(f *Frame, message *Message) {
	if meter := m.meter(m.tell(f, message)); meter != nil {
		meter.AddMessage(f, message)
	}
}

// tell returns the session of a frame that is not about the run, -1 for one that
// does not count.
func (m *SessionMeter) tell(f *Frame, message *Message) int {
	if f.Exchange == 0 {
		return 1 // the only one
	}
	n := m.sessions.Add(f, message)
	if m.sessions.Replays() > 0 {
		n = -1 // it has been counted
	}
	m.letGo()
	return n
}

// letGo counts the calls of sessions that are not kept any more.
func (m *SessionMeter) letGo() {
	for _, x := range m.sessions.forgotten {
		if meter := m.meters[x.Number]; meter != nil {
			meter.letGo()
			delete(m.meters, x.Number)
		}
	}
}

// meter returns the meter of a session, nil for one that is not wanted.
func (m *SessionMeter) meter(session int) *Meter {
	if session < 0 || m.only != 0 && session != m.only {
		return nil
	}
	meter := m.meters[session]
	if meter == nil {
		meter = NewMeter(m.stats)
		meter.tracker.open.all = &m.open
		m.meters[session] = meter
	}
	return meter
}

// letGo counts the open calls as they are.
func (m *Meter) letGo() {
	m.release()
	for _, c := range m.tracker.leave() {
		m.pay(c)
		m.stats.Add(c)
	}
}

// Finish says that the recording is over, or, while it is live, how far it is.
func (m *SessionMeter) Finish(end time.Duration) {
	var open []*Call
	for _, meter := range m.meters {
		meter.release()
		for _, c := range meter.tracker.Open() {
			meter.pay(c)
			open = append(open, c)
		}
	}
	sortCalls(open)
	m.stats.Finish(open, end)
}

// Sessions returns how many sessions there were.
func (m *SessionMeter) Sessions() int { return m.sessions.Count() }

// asks reports whether the message of a frame is needed to tell its session.
func (s *Sessions) asks(f *Frame) bool {
	x := s.exchanges.get(f.Exchange)
	return x == nil || x.in == nil
}
