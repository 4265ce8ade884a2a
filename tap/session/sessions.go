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
	// SessionID has an id, which the server gives out with its answer to the
	// initialize and the client repeats in a header (2025-03-26 to 2025-11-25,
	// basic/transports#session-management).
	SessionID
	// SessionEndpoint has a URL of its own for what the client sends, which the
	// server names in the first event (2024-11-05, basic/transports#http-with-sse).
	SessionEndpoint
	// SessionSocket is a WebSocket connection.
	SessionSocket
	// SessionClient has no name on the wire: it has the messages of one client, which
	// is known by its name and version, its credentials and its connections. All
	// sessions of 2026-07-28 are of this kind, and older ones where the server gives
	// out no ids.
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
	// Name is what the wire calls it: the id of a [SessionID] and the target of
	// the requests of a [SessionEndpoint] as they were recorded, which is masked
	// as a rule; "" for the others. At most [jsonrpc.MaxSubject] bytes of it.
	Name string
	// Facts are what it reports about itself.
	Facts Facts
	// First and Last are the numbers of its first and its last frame, and Began
	// and Ended when these crossed.
	First, Last  uint64
	Began, Ended time.Duration
	// Exchanges counts its HTTP exchanges.
	Exchanges uint64
	// Over reports that one side ended it: with a DELETE, or by ending the
	// connection that it is.
	Over bool
}

// Limits of [Sessions].
const (
	// MaxSessions is how many sessions are kept in memory: those that something
	// happened in last. The others keep their numbers, as long as one of their
	// names is among the MaxNames that were used last.
	MaxSessions = 1024
	MaxNames    = 17 << 10
	// MaxExchanges is how many HTTP exchanges, and how many connections, may be
	// open in a recording. Beyond that the oldest are forgotten: what comes on them
	// later is taken for that of an exchange without a head. A machine has no more
	// ports.
	MaxExchanges = 1 << 16
)

// Sessions assigns the frames of a recording to its sessions. A recording of stdio is one
// session. In one of HTTP traffic there may be many, of several revisions, one
// beside the other:
//
//   - A request with a session id belongs to that session, and a request to the
//     URL that an endpoint event named to the one which that stream began.
//   - A WebSocket is a session from its first message on.
//   - An initialize begins a session. The answer gives it its id, if it has one.
//   - A request of 2026-07-28 belongs to the session of its client: the same
//     name and version of the client, to the same path, with the same credentials
//     or, as tokens change, on a connection on which it has spoken before.
//   - Any other message belongs to the last session on its connection, else to
//     the last one of the same program (User-Agent) with the same credentials. If
//     there is none, a message of the client begins a session.
//   - An exchange without a message belongs to a session if it opens or deletes a
//     stream of it, even if it is answered with 405. The rest belongs to none:
//     authorization, CORS, pages.
//
// A client that was refused, or that only asked for the server's versions, retries with
// a token, with an initialize or with a GET. That is one session.
//
// A frame belongs to the session of its exchange. Which one that is may not be
// known before the exchange's first message: [Survey] has the answer for
// the frames before that.
//
// Its memory is bounded by [MaxExchanges], [MaxSessions] and [MaxNames]. The zero
// value is ready. Frames must come in the order of their numbers. It must not be used
// by several goroutines at once.
type Sessions struct {
	count int
	// open are the sessions that are kept, the newest is that in which something
	// happened last.
	open      bounded.Map[int, *session]
	exchanges bounded.Map[uint64, *exchangeState]
	conns     bounded.Map[uint64, *session] // the last session on each connection
	// names are what sessions are known by, those that are not kept among them; see
	// sessionKey.
	names bounded.Map[string, *session]
	// unsettled are the sessions that may go on under another name.
	unsettled []*session
	http      bool
	// Of the last frame: see Late, Resumes and Replays; and the sessions that are not
	// kept any more.
	late      uint64
	lateIs    int
	resumes   uint64
	replays   uint64
	forgotten []*session
}

// session is a Session with what is kept to go on with it.
type session struct {
	Session
	finding finding
	// path is where the client sends its messages to, client what it calls
	// itself (see clientKey), and agent what its program does.
	path, client, agent string
	// keys are the names that it has in Sessions.names, the oldest first.
	keys []string
	// probe reports that the client has only asked for the server's versions,
	// opening counts the requests that may open it and have no response yet, and
	// settled reports that one of them was not refused.
	probe   bool
	opening int
	settled bool
	events  bounded.Map[uint64, seenEvent] // by their ids; see resume
	pairing *Pairing                       // of a Tracker
}

// Add takes the next frame and what it carries: an event, a message, or neither. It
// returns the number of the session that the frame belongs to: 0 for none, or if that
// is not known yet.
func (s *Sessions) Add(f *tap.Frame, e *tap.Event, m *jsonrpc.Message) int {
	s.late, s.lateIs, s.resumes, s.replays = 0, 0, 0, 0
	clear(s.forgotten)
	s.forgotten = s.forgotten[:0]
	var in *session
	switch {
	case f.Exchange != 0 && e != nil:
		in = s.event(f, e)
	case f.Exchange != 0:
		in = s.frame(f, m)
	case e != nil && s.ofTheRun(e):
		return 0
	default:
		in = s.only()
	}
	if in == nil {
		return 0
	}
	s.touch(in)
	in.saw(f, m)
	return in.Number
}

// ofTheRun takes an event that is about no exchange, and reports whether it is
// about no session either: in a recording of HTTP traffic.
func (s *Sessions) ofTheRun(e *tap.Event) bool {
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

// saw notes a frame.
func (x *session) saw(f *tap.Frame, m *jsonrpc.Message) {
	if x.First == 0 {
		x.First, x.Began = f.Seq, f.At
	}
	x.Last, x.Ended = f.Seq, f.At
	if m != nil {
		x.Facts.learn(&x.finding, f.Lane, m)
	}
}

// Count is how many sessions there have been so far.
func (s *Sessions) Count() int { return s.count }

// Session returns a session so far, and whether it is still kept.
func (s *Sessions) Session(number int) (Session, bool) {
	if in, ok := s.open.Get(number); ok {
		return in.Session, true
	}
	return Session{}, false
}

// Late returns the exchange whose session became known with the last frame, although
// others had come on it before, and that session's number; 0 if there is none.
func (s *Sessions) Late() (exchange uint64, session int) { return s.late, s.lateIs }

// An Exchange is what is known of an HTTP exchange that is not over.
type Exchange struct {
	Number uint64
	// Method and Target are those of its request, at most [jsonrpc.MaxSubject] bytes.
	Method, Target string
	// Status is that of its response, 0 as long as there is none. An interim
	// response counts until another comes.
	Status int
	// Carries reports that it has brought a message to the server, Asks that one of
	// them was a request.
	Carries, Asks bool
}

// Exchange returns what is known of an exchange, zero for one that is over or that
// began before the recording.
func (s *Sessions) Exchange(number uint64) Exchange {
	if x, ok := s.exchanges.Get(number); ok {
		return x.Exchange
	}
	return Exchange{}
}

// opens returns the session that a message of the client belongs to where
// nothing in the request's head names one.
func (s *Sessions) opens(x *exchangeState, f *tap.Frame, m *jsonrpc.Message) *session {
	if f.Form == tap.FormText || f.Form == tap.FormBinary || x.socket {
		in := s.begin(SessionSocket)
		in.settled = true
		return in
	}
	if client, ok := saysInitialize(m); ok {
		return s.handshake(x, client)
	}
	client, probe, modern := saysModern(m)
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
		in = s.begin(SessionClient)
		in.client, in.path, in.agent = client, x.path, x.agent
		s.mayGoOn(in)
	}
	s.unnameAll(in, keyClient) // it is not a session of 2026-07-28
	in.probe = false
	s.mayOpen(x, in)
	return in
}

// discover returns the session of a server/discover: that of its client if there
// is one, else one of its own, since the client may as well go on with an
// initialize.
func (s *Sessions) discover(x *exchangeState, client string) *session {
	if in := s.byClient(x, client); in != nil {
		return in
	}
	if in, ok := s.conns.Get(x.conn); ok && in.probe && in.path == x.path && in.client == client {
		s.mayOpen(x, in)
		return in
	}
	in := s.begin(SessionClient)
	in.client, in.path, in.agent, in.probe = client, x.path, x.agent, true
	s.mayGoOn(in)
	s.mayOpen(x, in)
	return in
}

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
			in = s.begin(SessionClient)
			in.client, in.path, in.agent = client, x.path, x.agent
			s.mayGoOn(in)
		}
		s.mayOpen(x, in)
	}
	in.probe = false
	if client != "" {
		s.name(in, sessionKey(keyClient, x.path, client, x.credentials))
	}
	return in
}

// byClient returns the session of 2026-07-28 of a client that names itself.
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

// before returns the session that an exchange without any name goes on with,
// nil if there is none.
func (s *Sessions) before(x *exchangeState) *session {
	if x.path == "" { // its head was not recorded
		return s.open.Newest()
	}
	if in, ok := s.conns.Get(x.conn); ok && in.path == x.path && (in.agent == x.agent || x.agent == "") {
		return in
	}
	return s.named(sessionKey(keyAgent, x.path, x.agent, x.credentials))
}

// left returns the session that a client may go on with: it was refused, or it
// has only asked for the server's versions. Of several it is the one of the same
// connection, else the oldest.
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

// mayOpen notes that a request may open a session, if its response can be
// waited for.
func (s *Sessions) mayOpen(x *exchangeState, in *session) {
	if known, _ := s.exchanges.Get(x.Number); known != x {
		s.settle(in)
		return
	}
	x.opens = true
	in.opening++
}

// mediaIsStream reports whether a content type is that of an event stream.
func mediaIsStream(value string) bool {
	media, _, _ := strings.Cut(value, ";")
	return strings.EqualFold(strings.TrimSpace(media), "text/event-stream")
}

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

// touch makes a session the one in which something happened last.
func (s *Sessions) touch(x *session) {
	oldest, full := s.open.Put(x.Number, x)
	if full {
		s.forget(oldest)
	}
}

// forget keeps of a session only its number and its names.
func (s *Sessions) forget(x *session) {
	s.settle(x)
	x.Facts, x.finding, x.events = Facts{}, finding{}, bounded.Map[uint64, seenEvent]{}
	s.forgotten = append(s.forgotten, x)
}

// maxSessionKeys is how many names a session has at once. A client of
// 2026-07-28 has one for each of its credentials, which change by the hour.
const maxSessionKeys = 16

// name makes a session known by a name. The one that had it before loses it.
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

// unname takes a name of a session back.
func (s *Sessions) unname(x *session, key string) {
	x.keys = remove(x.keys, key)
	if now, _ := s.names.Get(key); now == x {
		s.names.Delete(key)
	}
}

// unnameAll takes back the names that begin with one of some letters.
func (s *Sessions) unnameAll(x *session, letters ...byte) {
	for _, key := range slices.Clone(x.keys) {
		if slices.Contains(letters, key[0]) {
			s.unname(x, key)
		}
	}
}

// named returns the session with a name, nil if there is none. One that is not kept
// any more comes back, without what was known of it.
func (s *Sessions) named(key string) *session {
	s.names.Touch(key)
	x, _ := s.names.Get(key)
	return x
}

// maxUnsettled is how many sessions may wait to be gone on with under another
// name.
const maxUnsettled = 64

// mayGoOn notes a session that the client may go on with under another name.
func (s *Sessions) mayGoOn(x *session) {
	s.unsettled = append(s.unsettled, x)
	if len(s.unsettled) > maxUnsettled {
		s.unsettled = s.unsettled[1:]
	}
}

// settle notes that it goes on under the names that it has.
func (s *Sessions) settle(x *session) {
	s.unsettled = remove(s.unsettled, x)
	x.settled = true
}
