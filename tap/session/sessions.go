package session

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A SessionKind is how the frames of a session are recognized.
type SessionKind uint8

const (
	// SessionStdio is a recording without exchanges: all of it is one session.
	SessionStdio SessionKind = iota
	// SessionID has an id, which the server assigns in its response to the initialize
	// and the client repeats in a header (2025-03-26 to 2025-11-25,
	// basic/transports#session-management).
	SessionID
	// SessionEndpoint has a URL of its own for the client's messages, which the server
	// names in the first event (2024-11-05, basic/transports#http-with-sse).
	SessionEndpoint
	// SessionSocket is a WebSocket connection.
	SessionSocket
	// SessionClient has no name on the wire. It has the messages of one client, which is
	// recognized by its name and version, its credentials and its connections. All
	// sessions of 2026-07-28 are of this kind, and older ones if the server assigns no
	// ids.
	SessionClient
	sessionKinds
)

var sessionKindNames = [sessionKinds]string{"stdio", "id", "endpoint", "socket", "client"}

// String returns the kind's stable name: stdio, id, endpoint, socket or client.
func (k SessionKind) String() string {
	if k < sessionKinds {
		return sessionKindNames[k]
	}
	return fmt.Sprintf("session(%d)", uint8(k))
}

// A Session is one conversation between a client and a server in a recording.
type Session struct {
	// Number is its number in the recording, from 1 in the order in which the
	// sessions appeared.
	Number int
	// Kind is how its frames are recognized.
	Kind SessionKind
	// Name is its name on the wire: the id of a [SessionID] or the target of the
	// requests of a [SessionEndpoint] as recorded, which is usually masked, cut at
	// [jsonrpc.MaxSubject] bytes; "" for the others.
	Name string
	// Facts are what its messages report about it.
	Facts Facts
	// First and Last are the numbers of its first and its last frame, Began and Ended
	// their times.
	First, Last  uint64
	Began, Ended time.Duration
	// Exchanges counts its HTTP exchanges.
	Exchanges uint64
	// Over reports that one side ended it, with a DELETE or by closing its connection.
	Over bool
}

// Limits of [Sessions].
const (
	// MaxSessions is how many sessions are kept in memory: the most recently active
	// ones. Other sessions keep their numbers as long as one of their names is among the
	// MaxNames most recently used.
	MaxSessions = 1024
	MaxNames    = 17 << 10
	// MaxExchanges is how many HTTP exchanges, and how many connections, may be open in
	// a recording: a machine has no more ports. Beyond that the oldest are forgotten, and
	// their later frames count as those of an exchange without a head.
	MaxExchanges = 1 << 16
)

// Sessions assigns the frames of a recording to its sessions. A recording of stdio is one
// session. A recording of HTTP may have many at the same time, of several revisions:
//
//   - A request with a session id belongs to that session, and a request to the URL of
//     an endpoint event to the session that began with that stream.
//   - A WebSocket is a session from its first message on.
//   - An initialize begins a session. The response assigns its id, if it has one.
//   - A request of 2026-07-28 belongs to the session of its client: of the client with
//     the same name and version, to the same path, with the same credentials or, as
//     tokens change, on the same connection.
//   - Any other message belongs to the last session on its connection, or else to the
//     last one of the same program (User-Agent) with the same credentials. If there is
//     none, a message of the client begins a session.
//   - An exchange without a message belongs to a session if it opens or deletes a stream
//     of it, even if it is answered with 405. Other exchanges belong to none:
//     authorization, CORS, pages.
//
// A client that was refused, or that only requested the server's versions, retries with a
// token, with an initialize or with a GET. That is one session.
//
// A frame belongs to the session of its exchange, which may be unknown before the first
// message of the exchange: [Survey] knows it for the frames before that.
//
// Its memory is bounded by [MaxExchanges], [MaxSessions] and [MaxNames]. The zero value is
// ready. Frames must be added in the order of their numbers. Sessions is not safe for
// concurrent use.
type Sessions struct {
	count int
	// open are the sessions that are kept, the most recently active one last.
	open      bounded.Map[int, *session]
	exchanges bounded.Map[uint64, *exchangeState]
	conns     bounded.Map[uint64, *session] // the last session on each connection
	// names are the keys of sessions, also of those that are not kept; see sessionKey.
	names bounded.Map[string, *session]
	// unsettled are the sessions that may continue under another name.
	unsettled []*session
	http      bool

	// The effects of the last frame: late is the exchange whose session became known
	// although other frames of it came before, and lateSession that session's number;
	// forgotten are the sessions that are no longer kept. See [Entry] for resumes and
	// replays.
	late             uint64
	lateSession      int
	resumes, replays uint64
	forgotten        []*session
}

// session is a Session with the state that is needed to continue it.
type session struct {
	Session
	finding finding
	// path is the path of the client's requests, client its clientKey, and agent its
	// User-Agent.
	path, client, agent string
	// keys are its names in Sessions.names, the oldest first.
	keys []string
	// probe reports that the client has only requested the server's versions, opening
	// counts the requests that may open it and have no response yet, refused reports that
	// the last response to one refused it, and settled that one of them was not refused.
	probe   bool
	opening int
	refused bool
	settled bool
	events  bounded.Map[uint64, seenEvent] // by their ids; see resume
	pairing *Pairing                       // of a Tracker
}

// Add adds the next frame and its event or message, if it has one. It returns the number of
// the session that the frame belongs to: 0 for none, or if that is not known yet.
func (s *Sessions) Add(f *tap.Frame, e *tap.Event, m *jsonrpc.Message) int {
	s.late, s.lateSession, s.resumes, s.replays = 0, 0, 0, 0
	clear(s.forgotten)
	s.forgotten = s.forgotten[:0]
	var in *session
	switch {
	case f.Exchange != 0 && e != nil:
		in = s.event(f, e)
	case f.Exchange != 0:
		in = s.frame(f, m)
	case e != nil && s.runEvent(e):
		return 0
	default:
		in = s.only()
	}
	if in == nil {
		return 0
	}
	if oldest, full := s.open.Put(in.Number, in); full {
		s.forget(oldest)
	}
	if in.First == 0 {
		in.First, in.Began = f.Seq, f.At
	}
	in.Last, in.Ended = f.Seq, f.At
	if m != nil {
		in.Facts.learn(&in.finding, f.Lane, m)
	}
	return in.Number
}

// runEvent handles an event without an exchange. It reports whether the event belongs to no
// session, as in a recording of HTTP.
func (s *Sessions) runEvent(e *tap.Event) bool {
	switch e.Name {
	case tap.EventStart:
		s.http = s.http || e.Transport == "http"
	case tap.EventConnect:
		s.http = true
	case tap.EventDisconnect:
		s.http = true
		s.conns.Delete(e.Conn)
	}
	return s.http
}

// only returns the session of a recording without exchanges.
func (s *Sessions) only() *session {
	in, ok := s.names.Get(keyOnly)
	if !ok {
		in = s.begin(SessionStdio)
		in.settled = true
		s.name(in, keyOnly)
	}
	return in
}

// Count returns the number of sessions so far.
func (s *Sessions) Count() int { return s.count }

// Session returns what is known of a session so far, and whether it is still kept.
func (s *Sessions) Session(number int) (Session, bool) {
	if in, ok := s.open.Get(number); ok {
		return in.Session, true
	}
	return Session{}, false
}

// Late returns the exchange whose session became known with the last frame, although other
// frames of it came before, and that session's number; 0 if there is none.
func (s *Sessions) Late() (exchange uint64, session int) { return s.late, s.lateSession }

// An Exchange is an HTTP exchange that is not over.
type Exchange struct {
	Number uint64
	// Method and Target are those of its request, at most [jsonrpc.MaxSubject] bytes.
	Method, Target string
	// Status is the status of the last response, which may be interim; 0 if there is none.
	Status int
	// Carries reports that it has carried a message to the server, Asks that one of
	// these was a request.
	Carries, Asks bool
	// Type is the media type of the response, "" if there is none. Answered reports that it
	// has carried a message to the client.
	Type     string
	Answered bool
	// Body is the beginning of a body to the client that carries no message: the reason in a
	// JSON object, or else the first line.
	Body string
	// Final reports that the server has accepted its requests, and can send their responses
	// only on it: no client can resume the stream, as no event had an id.
	Final bool
	coded bool // the body may not be decoded
	// Accepted reports that it has carried a request and got the status 202, which is for other
	// messages. Not set in HTTP+SSE.
	Accepted bool
	// answers are the calls that its last frame to the client answered: see [MayBeCut].
	answers []*Call
}

// awaitsBody reports whether the response to a request must be the body.
func (x *Exchange) awaitsBody() bool { return x.Final && !x.Answered && x.Type != eventStream }

// Exchange returns an exchange, zero for one that is over or that began before the
// recording.
func (s *Sessions) Exchange(number uint64) Exchange {
	if x, ok := s.exchanges.Get(number); ok {
		whole := x.Exchange
		due := x.Asks && x.in != nil && (x.in.Kind == SessionID || x.in.Kind == SessionClient)
		whole.Final = due && x.Status == 200 && !x.ids
		whole.Accepted = due && x.Status == 202
		return whole
	}
	return Exchange{}
}

// opens returns the session of a message of the client if the request's head names none.
func (s *Sessions) opens(x *exchangeState, f *tap.Frame, m *jsonrpc.Message) *session {
	if f.Form == tap.FormText || f.Form == tap.FormBinary || x.socket {
		in := s.begin(SessionSocket)
		in.settled = true
		return in
	}
	if client, ok := findInitialize(m); ok {
		return s.handshake(x, client)
	}
	client, probe, modern := findModern(m)
	switch {
	case probe:
		return s.discover(x, client)
	case modern || jsonrpc.EraOf(jsonrpc.Revision(x.version)) == jsonrpc.Modern:
		return s.ofClient(x, client)
	}
	if in := s.before(x); in != nil {
		return in
	}
	in := s.begin(SessionClient)
	s.mayOpen(x, in)
	return in
}

// handshake returns the session of an initialize.
func (s *Sessions) handshake(x *exchangeState, client string) *session {
	in := s.left(x, client)
	if in == nil {
		in = s.beginClient(x, client)
	}
	s.unnameAll(in, keyClient) // it is not a session of 2026-07-28
	in.probe = false
	s.mayOpen(x, in)
	return in
}

// discover returns the session of a server/discover: that of its client if there is one or if
// its last server/discover was refused, or a new one, since the client may continue with an
// initialize.
func (s *Sessions) discover(x *exchangeState, client string) *session {
	if in := s.byClient(x, client); in != nil {
		return in
	}
	if in, ok := s.conns.Get(x.conn); ok && in.probe && in.path == x.path && in.client == client {
		s.mayOpen(x, in)
		return in
	}
	in := s.refusedProbe(x, client)
	if in == nil {
		in = s.beginClient(x, client)
		in.probe = true
	}
	s.mayOpen(x, in)
	return in
}

// refusedProbe returns the oldest session of a client whose server/discover was refused, which
// it may repeat with a token on another connection; or nil.
func (s *Sessions) refusedProbe(x *exchangeState, client string) *session {
	for _, in := range s.unsettled {
		if in.probe && in.refused && in.opening == 0 && in.path == x.path && in.agent == x.agent && in.client == client {
			return in
		}
	}
	return nil
}

// beginClient begins a session that may continue under another name.
func (s *Sessions) beginClient(x *exchangeState, client string) *session {
	in := s.begin(SessionClient)
	in.client, in.path, in.agent = client, x.path, x.agent
	s.unsettled = append(s.unsettled, in)
	if len(s.unsettled) > maxUnsettled {
		s.unsettled = s.unsettled[1:]
	}
	return in
}

// maxUnsettled is how many sessions may wait to continue under another name.
const maxUnsettled = 64

// ofClient returns the session of a request of 2026-07-28.
func (s *Sessions) ofClient(x *exchangeState, client string) *session {
	in := s.byClient(x, client)
	if in == nil && client == "" {
		if in = s.before(x); in != nil && in.Facts.Era == jsonrpc.Legacy {
			in = nil
		}
	}
	if in == nil {
		if in = s.left(x, client); in == nil {
			in = s.beginClient(x, client)
		}
		s.mayOpen(x, in)
	}
	in.probe = false
	if client != "" {
		s.name(in, sessionKey(keyClient, x.path, client, x.credentials))
	}
	return in
}

// byClient returns the session of 2026-07-28 of a client with a name, or nil.
func (s *Sessions) byClient(x *exchangeState, client string) *session {
	if client == "" {
		return nil
	}
	if in := s.named(sessionKey(keyClient, x.path, client, x.credentials)); in != nil {
		return in
	}
	// Its credentials have changed.
	if in, ok := s.conns.Get(x.conn); ok && in.Kind == SessionClient && in.settled && !in.probe &&
		in.path == x.path && in.client == client && in.Facts.Era != jsonrpc.Legacy {
		return in
	}
	return nil
}

// before returns the session that an exchange without any name continues, or nil.
func (s *Sessions) before(x *exchangeState) *session {
	if x.path == "" { // its head was not recorded
		return s.open.Newest()
	}
	if in, ok := s.conns.Get(x.conn); ok && in.path == x.path && (in.agent == x.agent || x.agent == "") {
		return in
	}
	return s.named(sessionKey(keyAgent, x.path, x.agent, x.credentials))
}

// left returns the session that a client may continue because it was refused, or has only
// requested the server's versions; or nil. Of several it is the one on the same connection,
// or else the oldest.
func (s *Sessions) left(x *exchangeState, client string) *session {
	var found *session
	onConn, _ := s.conns.Get(x.conn)
	for _, in := range s.unsettled {
		switch {
		case in.path != x.path || !in.probe && in.opening > 0:
			continue
		case onConn == in:
			return in
		}
		same := in.agent == x.agent && (in.client == client || in.client == "" || client == "")
		if found == nil && same {
			found = in
		}
	}
	return found
}

// mayOpen records that a request may open a session, if its exchange is known.
func (s *Sessions) mayOpen(x *exchangeState, in *session) {
	if known, _ := s.exchanges.Get(x.Number); known != x {
		s.settle(in)
		return
	}
	x.opens = true
	in.opening++
}

// mediaType returns the media type in a Content-Type, in lower case.
func mediaType(value string) string {
	media, _, _ := strings.Cut(value, ";")
	return strings.ToLower(strings.TrimSpace(jsonrpc.Bound(media)))
}

const eventStream = "text/event-stream"

// ready makes the zero value ready.
func (s *Sessions) ready() {
	s.open.Max, s.names.Max = MaxSessions, MaxNames
	s.exchanges.Max, s.conns.Max = MaxExchanges, MaxExchanges
}

// begin makes a session.
func (s *Sessions) begin(kind SessionKind) *session {
	s.ready()
	s.count++
	return &session{Session: Session{Number: s.count, Kind: kind}}
}

// forget drops everything of a session except its number and its names.
func (s *Sessions) forget(x *session) {
	s.settle(x)
	x.Facts, x.finding, x.events = Facts{}, finding{}, bounded.Map[uint64, seenEvent]{}
	s.forgotten = append(s.forgotten, x)
}

// maxSessionKeys is how many names a session may have. A client of 2026-07-28 has one for
// each of its credentials, which change every hour or so.
const maxSessionKeys = 16

// name gives a session a name, and takes it from the session that had it.
func (s *Sessions) name(x *session, key string) {
	old := s.named(key)
	if old == x {
		return
	}
	if old != nil {
		old.keys = remove(old.keys, key)
	}
	if len(x.keys) == maxSessionKeys {
		s.unname(x, x.keys[0])
	}
	x.keys = append(x.keys, key)
	s.names.Put(key, x)
}

// unname removes a name of a session.
func (s *Sessions) unname(x *session, key string) {
	x.keys = remove(x.keys, key)
	if now, _ := s.names.Get(key); now == x {
		s.names.Delete(key)
	}
}

// unnameAll removes the names that begin with one of the letters.
func (s *Sessions) unnameAll(x *session, letters ...byte) {
	for _, key := range slices.Clone(x.keys) {
		if slices.Contains(letters, key[0]) {
			s.unname(x, key)
		}
	}
}

// named returns the session with a name, or nil. One that is no longer kept is returned
// without its state.
func (s *Sessions) named(key string) *session {
	s.names.Touch(key)
	x, _ := s.names.Get(key)
	return x
}

// settle records that the session continues under the names that it has.
func (s *Sessions) settle(x *session) {
	s.unsettled = remove(s.unsettled, x)
	x.settled = true
}
