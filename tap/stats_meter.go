package tap

import (
	"cmp"
	"slices"
	"time"
)

// A Meter makes the [Stats] of one session out of its frames. What is tied to
// what a [Tracker] decides, but it is not asked about the bulk of the traffic:
// an ordinary request of the client that is answered, with or without progress
// and ordinary questions of the server in between, before anything else crosses
// than other such messages. It would hand over a call of these messages, and
// decide nothing else differently for having seen them. Such requests are held back until something comes for which the Tracker
// has to know them. The result is the same.
//
// Its memory grows with the requests that are open, up to [MaxOpen] of them. Make one
// with [NewMeter]. Frames must come in the order of their numbers.
type Meter struct {
	stats   *Stats
	tracker Tracker
	// held are the client's requests that the Tracker does not know of by their
	// ids, tokens those of them with a token by that, asked the server's by their
	// ids; newest is the last of held, spare memory for others.
	held, tokens, asked map[heldKey]*heldRequest
	newest              *heldRequest
	spare               []*heldRequest
	// owed is what was counted of calls while they were held.
	owed    map[Ref]int64
	glance  glance
	message Message
}

// NewMeter makes a Meter that adds to s.
func NewMeter(s *Stats) *Meter {
	return &Meter{
		stats: s, held: map[heldKey]*heldRequest{}, tokens: map[heldKey]*heldRequest{}, asked: map[heldKey]*heldRequest{},
		owed: map[Ref]int64{},
	}
}

// maxHeld is how many requests are held at most. Of more, the Tracker has to
// know.
const maxHeld = 128

// A heldKey is an id or a token as it stands on the wire, with zeros behind it.
type heldKey [40]byte

func (m *Meter) key(s span) (key heldKey) {
	copy(key[:], s.of(m.glance.b))
	return key
}

// A heldRequest is an ordinary request that a Tracker does not know of.
type heldRequest struct {
	frame Frame  // with a Raw of its own
	buf   []byte // the memory of Raw
	// method and name are where these stand in Raw.
	method, name span
	// hasToken says that it is known by its token too.
	token    heldKey
	hasToken bool
	// progress are the bytes of the progress notifications that came for it.
	progress int64
	// older and newer are its neighbours among the client's.
	older, newer *heldRequest
	// within is the request for the sake of which the server asks, open how many
	// questions of the server there are for the sake of this one.
	within *heldRequest
	open   int
}

// Add takes the next frame, whose Raw must be whole.
func (m *Meter) Add(f *Frame) {
	if f.Lane != ToServer && f.Lane != ToClient {
		return
	}
	if m.glance.readFrame(f) && m.ordinary(f) {
		return
	}
	m.message = PeekFrame(f)
	m.AddMessage(f, &m.message)
}

// add is Add for a frame whose message was read already.
func (m *Meter) add(f *Frame, message *Message) {
	if f.Lane != ToServer && f.Lane != ToClient || m.glance.readFrame(f) && m.ordinary(f) {
		return
	}
	m.AddMessage(f, message)
}

// AddMessage takes the next frame with what is known of its message, from a
// [FrameScanner] where the frame is too large to hold.
func (m *Meter) AddMessage(f *Frame, message *Message) {
	if message.Kind == Invalid || message.Kind == Other {
		return // it belongs to no call
	}
	m.release()
	m.track(f, message)
}

// AddEvent takes the next frame if it is about the run, with what it says; see
// [Tracker.AddEvent].
func (m *Meter) AddEvent(f *Frame, e *Event) {
	if e.Name != EventEnd && (e.Name != EventResponse || ordinaryStatus(e.Status)) {
		return
	}
	if m.holds(f.Exchange) {
		m.release()
	}
	m.tracker.AddEvent(f, e)
	m.count()
}

// holds reports whether a request of an exchange is held.
func (m *Meter) holds(exchange uint64) bool {
	for r := m.newest; r != nil; r = r.older {
		if r.frame.Exchange == exchange {
			return true
		}
	}
	return false
}

// Finish says that the recording is over, or, while it is live, how far it is.
func (m *Meter) Finish(end time.Duration) {
	m.release()
	open := m.tracker.Open()
	for _, c := range open {
		m.pay(c)
	}
	m.stats.Finish(open, end)
}

// track gives a message to the Tracker.
func (m *Meter) track(f *Frame, message *Message) {
	m.tracker.Add(f, message)
	m.count()
}

// count counts the calls that have just ended.
func (m *Meter) count() {
	for _, c := range m.tracker.Ended() {
		m.pay(c)
		m.stats.Add(c)
	}
}

// pay adds to a call what the Tracker was not told of.
func (m *Meter) pay(c *Call) {
	if n, ok := m.owed[c.Ref]; ok {
		c.BytesToClient += n
		delete(m.owed, c.Ref)
	}
}

// release gives all held requests to the Tracker.
func (m *Meter) release() {
	if len(m.held)+len(m.asked) == 0 {
		return
	}
	var all []*heldRequest
	for _, r := range m.held {
		all = append(all, r)
	}
	for _, r := range m.asked {
		all = append(all, r)
	}
	clear(m.held)
	clear(m.tokens)
	clear(m.asked)
	m.newest = nil
	slices.SortFunc(all, func(a, b *heldRequest) int { return cmp.Compare(a.frame.Seq, b.frame.Seq) })
	for _, r := range all {
		if r.progress > 0 {
			m.owed[Ref{Seq: r.frame.Seq}] = r.progress
		}
		message := PeekFrame(&r.frame)
		m.track(&r.frame, &message)
		m.spare = append(m.spare, r)
	}
}

// ordinary takes the frame that was glanced at, if the Tracker need not know of
// it.
func (m *Meter) ordinary(f *Frame) bool {
	g := &m.glance
	switch {
	case g.kind == Response && f.Lane == ToClient:
		return m.answeredByServer(f)
	case g.kind == Response:
		return m.answeredByClient(f)
	case g.kind == Request && f.Lane == ToServer && f.Form != FormEvent:
		return m.mayHold(ToServer) && m.hold(f)
	case g.kind == Request && f.Lane == ToClient:
		return m.mayHold(ToClient) && m.holdQuestion(f)
	case g.kind == Notification && f.Lane == ToClient && g.token.size() > 0:
		r := m.tokens[m.key(g.token)]
		if r != nil {
			r.progress += frameSize(f)
		}
		return r != nil
	case g.kind == Notification && f.Lane == ToClient:
		return f.Exchange == 0 && !m.tracker.logs()
	}
	return false
}

// logs reports whether a log message on stdio may belong to a call.
func (t *Tracker) logs() bool {
	_, n := newestLogging(t.logging[:])
	return n > 0
}

// answeredByServer takes the answer to a request that is held. What the server
// asked for the sake of it must not be left behind.
func (m *Meter) answeredByServer(f *Frame) bool {
	id := m.key(m.glance.id)
	r := m.held[id]
	if r == nil || r.open > 0 {
		return false
	}
	m.answered(r, f)
	delete(m.held, id)
	if r.hasToken {
		delete(m.tokens, r.token)
	}
	m.unlink(r)
	m.spare = append(m.spare, r)
	return true
}

// mayHold reports whether the Tracker can do without the request of a lane that
// was glanced at, if its answer is ordinary.
func (m *Meter) mayHold(lane Lane) bool {
	t, g := &m.tracker, &m.glance
	switch string(g.method.of(g.b)) {
	case "initialize", "server/discover", "subscriptions/listen",
		"tasks/get", "tasks/result", "tasks/update", "tasks/cancel":
		return false
	}
	switch {
	case len(m.held)+len(m.asked) == maxHeld:
		return false
	case t.open.own >= MaxOpen-maxHeld: // what is held counts among them
		return false
	case len(t.long) > 0: // an id or a token of the request may have been theirs
		return false
	}
	// Of several requests with one id the oldest is answered.
	side := &t.pairer.sides[lane]
	if len(side.open) == 0 {
		return true
	}
	t.pairer.key = appendIDKey(t.pairer.key[:0], g.id.of(g.b))
	_, open := side.open[string(t.pairer.key)]
	return !open
}

// hold holds the request that was glanced at, unless its id is that of another
// one: which of them is answered the Tracker knows. A token is that of the last
// request that has it.
func (m *Meter) hold(f *Frame) bool {
	g := &m.glance
	id := m.key(g.id)
	if m.held[id] != nil {
		return false
	}
	r := m.keep(f)
	m.held[id] = r
	m.link(r)
	if r.token, r.hasToken = m.key(g.metaToken), g.metaToken.size() > 0; r.hasToken {
		m.tokens[r.token] = r
	}
	return true
}

// keep copies the request that was glanced at, as a frame keeps alive what was
// stored with it.
func (m *Meter) keep(f *Frame) *heldRequest {
	r := &heldRequest{}
	if n := len(m.spare); n > 0 {
		r, m.spare = m.spare[n-1], m.spare[:n-1]
	}
	buf := append(r.buf[:0], f.Raw...)
	*r = heldRequest{frame: *f, buf: buf, method: m.glance.method}
	r.frame.Raw = buf
	if isNamed(string(r.method.of(buf))) {
		r.name = m.glance.name
	}
	return r
}

// link and unlink keep the client's requests in order.
func (m *Meter) link(r *heldRequest) {
	r.older = m.newest
	if r.older != nil {
		r.older.newer = r
	}
	m.newest = r
}

func (m *Meter) unlink(r *heldRequest) {
	if r.older != nil {
		r.older.newer = r.newer
	}
	if r.newer != nil {
		r.newer.older = r.older
	} else {
		m.newest = r.older
	}
	r.older, r.newer = nil, nil
}

// answered counts the call of a held request and its answer.
func (m *Meter) answered(r *heldRequest, f *Frame) {
	s, took := m.stats, max(f.At-r.frame.At, 0)
	method, asker := r.method.of(r.buf), r.frame.Lane
	g := s.plainGroup(asker, r.within != nil, method, r.name.of(r.buf))
	g.Statuses[CallDone]++
	g.Latency.Add(took)
	up, down := frameSize(&r.frame), frameSize(f)+r.progress
	if asker == ToClient {
		up, down = down, up
	}
	g.BytesToServer += up
	g.BytesToClient += down
	if asker == ToServer && (!s.useful.known || f.At < s.useful.at) {
		s.succeeded(string(method), f.At)
	}
	if s.slowest.wants(took) {
		message := PeekFrame(&r.frame)
		c := Call{
			Ref: Ref{Seq: r.frame.Seq}, Lane: asker, Method: message.Method, Subject: Subject(message),
			Answer: Ref{Seq: f.Seq}, At: r.frame.At,
		}
		if r.within != nil {
			c.Parent = Ref{Seq: r.within.frame.Seq}
		}
		s.slowest.add(newStatsCall(s.recording, &c, CallDone, took))
	}
}

func frameSize(f *Frame) int64 { return max(f.Size, int64(len(f.Raw))) }
