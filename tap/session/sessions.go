package session

import (
	"fmt"
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
	// SessionClient has no name on the wire: it is what one client says. A client
	// is known by its name and version, its credentials and its connections. So
	// are all sessions of 2026-07-28, and older ones where the server gives out no
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

// MaxSessions is how many sessions are kept in memory: those that something
// happened in last. The others keep their numbers, as long as the last
// [MaxGoneSessions] of them are remembered by name.
const (
	MaxSessions     = 1024
	MaxGoneSessions = 16 << 10
)

// MaxExchanges is how many HTTP exchanges, and how many connections, may be open in
// a recording. Beyond that the oldest are forgotten: what comes on them later is
// taken for that of an exchange without a head. A machine has no more ports.
const MaxExchanges = 1 << 16

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
//   - Any other message belongs to what was said on its connection before, else
//     to what the same program (User-Agent) said last with the same credentials.
//     Only one of the client's that is left over begins a session.
//   - What carries no message belongs to a session if it opens or deletes a stream
//     of it: so a GET that is answered with 405. The rest belongs to none:
//     authorization, CORS, pages.
//
// A client that was refused or that only asked for the server's versions tries
// again: with a token, with an initialize, with a GET. That is one session.
//
// A frame belongs to the session of its exchange. Which one that is may not be
// known before the exchange's first message: [Survey] has the answer for
// the frames before that.
//
// Its memory grows with the exchanges and connections that are open, up to
// [MaxExchanges] of each, and with sessions up to [MaxSessions]. The zero value is ready. Frames must come in the
// order of their numbers. It is not for use by several goroutines at once.
type Sessions struct {
	count int
	// open are the sessions that are kept, the newest is that in which something
	// happened last.
	open      bounded.Map[int, *session]
	exchanges bounded.Map[uint64, *exchangeState]
	conns     bounded.Map[uint64, *session] // the last session on each connection
	// names are what sessions are known by; the first byte of a key reports what
	// it is.
	names map[string]*session
	gone  bounded.Map[string, *session] // by names of theirs
	// unsettled are the sessions that may go on under another name.
	unsettled []*session
	http      bool
	// late is the exchange whose session became known with the last frame, after
	// others had come on it.
	late, lateIs uint64
	resumes      stream
	replays      uint64
	forgotten    []*session
}

// session is a Session with what is kept to go on with it.
type session struct {
	Session
	finding Finding
	// path is where the client sends its messages to, client what it calls
	// itself, and agent what its program does; see clientKey and agentKey.
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

// Add takes the next frame and its message, which is nil or zero for one that
// carries none, and returns the number of the session that it belongs to: 0 for
// none, or if that is not known yet.
func (s *Sessions) Add(f *tap.Frame, m *jsonrpc.Message) int {
	if f.Lane != tap.Lifecycle {
		return s.add(f, nil, m)
	}
	e, err := tap.ParseEvent(f.Raw)
	if err != nil {
		e = tap.Event{}
	}
	return s.add(f, &e, m)
}

// AddEvent is Add for a frame about the run whose event was read already.
func (s *Sessions) AddEvent(f *tap.Frame, e *tap.Event) int { return s.add(f, e, nil) }

func (s *Sessions) add(f *tap.Frame, e *tap.Event, m *jsonrpc.Message) int {
	s.late, s.lateIs, s.resumes, s.replays = 0, 0, stream{}, 0
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
	if in := s.names[keyOnly]; in != nil {
		return in
	}
	in := s.begin(SessionStdio)
	in.settled = true
	s.name(in, keyOnly)
	return in
}

// saw notes a frame.
func (x *session) saw(f *tap.Frame, m *jsonrpc.Message) {
	if x.First == 0 {
		x.First, x.Began = f.Seq, f.At
	}
	x.Last, x.Ended = f.Seq, f.At
	if m != nil && f.Lane != tap.Lifecycle {
		x.Facts.Learn(&x.finding, f.Lane, m)
	}
}

// Count is how many sessions there have been so far.
func (s *Sessions) Count() int { return s.count }

// Session returns a session as it stands, and whether it is still kept.
func (s *Sessions) Session(number int) (Session, bool) {
	if in, ok := s.open.Get(number); ok {
		return in.Session, true
	}
	return Session{}, false
}

// Late returns the exchange whose session became known with the last frame, although
// others had come on it before, and that session's number; 0 if there is none.
func (s *Sessions) Late() (exchange uint64, session int) { return s.late, int(s.lateIs) }

// An Exchange is what is known of an HTTP exchange that is not over.
type Exchange struct {
	Number uint64
	// Method is that of its request, at most [jsonrpc.MaxSubject] bytes.
	Method string
	// Status is that of its response, 0 as long as there is none. An interim
	// response counts until another comes.
	Status int
	// Asks reports that it has brought a request of JSON-RPC to the server.
	Asks bool
}

// Exchange returns what is known of an exchange, zero for one that is over or that
// began before the recording.
func (s *Sessions) Exchange(number uint64) Exchange {
	if x, ok := s.exchanges.Get(number); ok {
		return x.Exchange
	}
	return Exchange{}
}
