package mock

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// maxMessage is the maximum size of a client message.
const maxMessage = 256 << 20

// A posted is the message in a POST.
type posted struct {
	raw     []byte
	message jsonrpc.Message
	claim   replay.Claim // of the message, or of the first one in a batch
	modern  bool         // the message or the head is of 2026-07-28
	variant string       // see replay.Head.Variant
	// wrongParam is the first Mcp-Param field that contradicts the message, "" for none.
	wrongParam string
}

// read reads the message of a request. If it cannot, it answers the request and returns false.
func (p *posted) read(w http.ResponseWriter, r *http.Request, head *replay.Head) bool {
	if r.ContentLength > maxMessage {
		http.Error(w, "mcptap mock: the message is too long", http.StatusRequestEntityTooLarge)
		return false
	}
	var err error
	if p.raw, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage)); err != nil {
		status := http.StatusBadRequest
		if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "mcptap mock: the message cannot be read: "+err.Error(), status)
		return false
	}
	p.message = jsonrpc.PeekFrame(&tap.Frame{Lane: tap.ToServer, Form: tap.FormBody, Raw: p.raw, Size: int64(len(p.raw))})
	p.claim = replay.ReadClaim(p.first())
	p.modern = p.claim.Modern || head.Modern()
	p.variant = head.Variant(&p.claim)
	return true
}

// first returns the message, or the first one of a batch.
func (p *posted) first() *jsonrpc.Message {
	if m := &p.message; m.Kind == jsonrpc.Batch && len(m.Batch) > 0 {
		return &m.Batch[0]
	}
	return &p.message
}

// invalid reports whether the body is not a message.
func (p *posted) invalid() bool {
	return p.message.Kind == jsonrpc.Invalid || p.message.Kind == jsonrpc.Other
}

// opens reports whether the message may be the first one of a client.
func (p *posted) opens() bool {
	return p.modern || p.claim.Method == "initialize" || p.claim.Method == "server/discover"
}

func (p *posted) input(stream replay.Stream) replay.Input {
	return replay.Input{Stream: stream, Raw: p.raw, Variant: p.variant}
}

// post handles a POST of Streamable HTTP.
func (s *Server) post(w http.ResponseWriter, r *http.Request, head *replay.Head) {
	var p posted
	if s.early(w, r, head) || !p.read(w, r, head) {
		return
	}
	conditions := s.conditions(head, &p.claim)
	if p.wrongParam = s.rec.fields.Wrong(head, p.first()); p.wrongParam != "" {
		conditions |= replay.WrongParam
	}
	if s.refuses(w, r, conditions, &p) {
		return
	}
	if p.invalid() && s.broken(w, r, head, &p) {
		return
	}
	c, e, why := s.find(r, head, &p)
	switch {
	case c == nil && why == 0:
		s.full(w)
		return
	case c == nil:
		s.refuse(w, r, why, &p)
		return
	}
	version := head.Version
	if p.claim.Method == "initialize" {
		version = p.claim.Version
	}
	out := reply{
		w: w, r: r, srv: s, c: c, modern: p.modern, primes: primed(version), method: p.claim.Method, invalid: p.invalid(), entry: e,
	}
	if out.x = s.receive(w, r, c, &p, out.primes, e); out.x != nil {
		out.run(0)
	}
}

// broken plays the response to a body that is not a message, and reports whether one was
// recorded.
func (s *Server) broken(w http.ResponseWriter, r *http.Request, head *replay.Head, p *posted) bool {
	c := s.follow(r, head)
	switch {
	case c != nil && c.rec.HasBroken(p.raw):
		return false
	case s.opens(w, r, head, c, "", p.raw):
		return true
	}
	return s.opens(w, r, head, s.pageConversation(), "", p.raw)
}

// follow returns the session to which the head of a request belongs, nil for none.
func (s *Server) follow(r *http.Request, head *replay.Head) *conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	if head.Session != "" {
		return s.byID[head.Session]
	}
	e, _ := s.enter(r)
	defer e.end()
	return s.byNumber[sessionKey{number: s.sorter.Follow(e.exchange)}]
}

// early refuses a message by its length if the recorded server refused such a message before its
// body. It reports whether it did.
func (s *Server) early(w http.ResponseWriter, r *http.Request, head *replay.Head) bool {
	if !s.rec.early || r.ContentLength <= 0 {
		return false
	}
	refuses := func(c *replay.Session, now time.Duration, x replay.Stream) bool {
		ok := c.Refuse(now, x, r.ContentLength)
		r.Close = r.Close || ok // otherwise net/http reads the body first
		return ok
	}
	return s.plays(w, r, head, s.follow(r, head), refuses) || s.plays(w, r, head, s.pageConversation(), refuses)
}

// receive passes a message to its session and returns the stream for the response, nil if the
// request has already been answered.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, c *conversation, p *posted, primes bool, e entry) *stream {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		s.refuse(w, r, replay.OverSession, p)
		return nil
	}
	x := c.stream(formUnknown)
	x.old = c.rec.modernEvents() && !primes
	if c.live != nil && !p.modern && p.claim.Kind == jsonrpc.Request {
		c.handDown(x)
	}
	in := c.accept(p.input(x.id))
	x.played, x.owed = in.Played, in.Requests
	if c.naming() && !p.modern && p.claim.Kind == jsonrpc.Request {
		name := "own"
		if seq := c.play.Matched(); seq != 0 {
			name = strconv.FormatUint(seq, 10)
		}
		c.name(x, name)
	}
	c.pump()
	silent := !in.Played && in.Requests == 0 && len(x.pieces) == 0
	if silent {
		delete(c.streams, x.id)
	}
	c.mu.Unlock()
	switch {
	case !silent:
		return x
	case p.invalid():
		w.WriteHeader(http.StatusBadRequest)
	case c.rec.accepted != nil:
		e.answered(c.rec.accepted.Status)
		s.response(w, r, c.rec.accepted)
	default:
		e.answered(http.StatusAccepted)
		w.WriteHeader(http.StatusAccepted)
	}
	return nil
}

// handDown moves output that waits for a GET stream which the client has not opened to the stream
// of a request. The caller holds the lock.
func (c *conversation) handDown(x *stream) {
	if from := c.standing; from != nil && !from.reading && len(from.pieces) > 0 {
		x.form, x.pieces, x.waiting = formEvents, from.pieces, from.waiting
		c.waiting += x.waiting
		from.drop()
		from.waiting = 0
	}
}

// one is the version of find for a server with a Live, which has one session.
func (s *Server) one(head *replay.Head, p *posted) (*conversation, replay.Condition) {
	c := s.only
	begins := p.claim.Method == "initialize" && !p.modern
	switch {
	case begins && c != nil && c.id != "" && !c.reopens():
		return nil, 0
	case !p.modern && !begins && head.Session != "" && (c == nil || s.byID[head.Session] != c || c.duplex != nil):
		return nil, replay.OverSession
	case !p.modern && !begins && head.Session == "" && c != nil && c.id != "":
		return nil, replay.NoSession
	case c == nil:
		c = s.begin(s.rec.sessions[0], begins)
	case begins && c.id == "":
		s.name(c)
	}
	return c, 0
}

// reopens reports whether the client may try again to open the session, because the live server
// refused it.
func (c *conversation) reopens() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.declined && !c.over
}

// find returns the session for a message, which it creates if necessary, or the reason why there
// is none.
func (s *Server) find(r *http.Request, head *replay.Head, p *posted) (c *conversation, e entry, why replay.Condition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, e, replay.OverSession
	}
	if s.opt.Live != nil {
		c, why = s.one(head, p)
		return c, e, why
	}
	if head.Session != "" && !p.modern {
		if c = s.byID[head.Session]; c == nil || c.duplex != nil {
			return nil, e, replay.OverSession
		}
		s.touch(c)
		return c, e, 0
	}
	e, _ = s.enter(r)
	number := e.message(p)
	begins := p.claim.Method == "initialize" && !p.modern
	key := sessionKey{number: number}
	if c = s.byNumber[key]; c != nil && p.modern {
		// Requests of 2026-07-28 name no session, so this one may belong to another session.
		fit := c.rec.Fits(p.first(), p.variant)
		if other := s.choose(r, p); fit < replay.FitExact && other.Fits(p.first(), p.variant) > fit {
			key.other = other
			c = s.byNumber[key]
		}
	}
	switch {
	case c == nil, c.begins(p, begins):
		rec := key.other
		if rec == nil {
			rec = s.choose(r, p)
		}
		if !p.opens() && rec.Opens(false) && !rec.nameless() {
			return nil, e, replay.NoSession
		}
		c = s.begin(rec, begins && !rec.nameless())
		c.probe, c.target = p.claim.Method == "server/discover", s.target(r)
	case begins && c.id == "" && !c.rec.nameless():
		s.name(c)
	}
	c.probe = c.probe && p.claim.Method == "server/discover"
	if c.id == "" {
		c.number = key
		s.byNumber[key] = c
	}
	s.touch(c)
	return c, e, 0
}

// begins reports whether a message starts a new session of its client: the session is over, or the
// opening message arrives once more than it was recorded.
func (c *conversation) begins(p *posted, initialize bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
		return true
	case initialize && c.probe: // server/discover came first
		return !c.rec.Opens(false)
	case initialize:
		return true
	}
	return c.play.BeginsAgain(p.input(0))
}

// choose returns the recorded session for a client. It prefers one with its era and path, then one
// that has the message, then one of the same client, then the least played one. The caller holds
// the lock.
func (s *Server) choose(r *http.Request, p *posted) *played {
	var best *played
	least := 0
	info := jsonrpc.Value(p.claim.Client)
	name, version := info.Get("name").Text(), info.Get("version").Text()
	for _, rec := range s.rec.sessions {
		rank := s.played[rec]
		if !rec.Opens(p.modern) {
			rank += 1 << 40
		}
		if rec.path != "" && !samePath(rec.path, s.addresses.recorded(r.URL.Path)) {
			rank += 1 << 36
		}
		if known := rec.facts.Client; len(info) > 0 && (name != known.Name || version != known.Version) {
			rank += 1 << 28
		}
		rank += int(replay.FitExact-rec.Fits(p.first(), p.variant)) << 32
		if best == nil || rank < least {
			best, least = rec, rank
		}
	}
	return best
}

// bare handles a GET or a DELETE of Streamable HTTP.
func (s *Server) bare(w http.ResponseWriter, r *http.Request, head *replay.Head) {
	s.mu.Lock()
	c := s.byID[head.Session]
	var e entry
	if c == nil && (head.Session == "" || head.Modern()) {
		e, _ = s.enter(r)
		c = s.byNumber[sessionKey{number: s.sorter.Follow(e.exchange)}]
		if c != nil && !c.rec.nameless() {
			c = nil
		}
	}
	s.mu.Unlock()
	switch {
	case c == nil && (head.Session == "" || head.Modern()):
		s.sessionless(w, r, head)
	case c == nil && r.Method == http.MethodDelete && s.repeatsDelete(w, r, head.Session):
	case c == nil || c.duplex != nil:
		s.refuse(w, r, replay.OverSession, nil)
	case r.Method == http.MethodDelete:
		s.delete(w, r, head, c)
	default:
		s.get(w, r, head, c)
	}
	e.answered(http.StatusOK)
}

// sessionless handles a GET or a DELETE without a session, as recorded or else as specified
// (2025-11-25 basic/transports#session-management). A server without sessions does not support
// these methods.
func (s *Server) sessionless(w http.ResponseWriter, r *http.Request, head *replay.Head) {
	named := func(p *played) bool { return p.Opens(false) && !p.nameless() }
	if head.Modern() || !slices.ContainsFunc(s.rec.sessions, named) || s.rec.pages.HasPage(r.Method, s.target(r)) {
		s.page(w, r, head)
		return
	}
	s.refuse(w, r, replay.NoSession, nil)
}

// delete ends a session if the recorded server allowed it.
func (s *Server) delete(w http.ResponseWriter, r *http.Request, head *replay.Head, c *conversation) {
	status, played := c.rec.Ends()
	if played && status >= 300 {
		if !s.opens(w, r, head, c, "", nil) {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
		return
	}
	s.mu.Lock()
	s.forget(c)
	if further := c.rec.deletes; len(further) > 0 {
		if len(s.deleted) == maxConversations {
			clear(s.deleted)
		}
		s.deleted[c.id] = deleted{c.rec.Script, further}
	}
	s.mu.Unlock()
	s.opens(w, r, head, c, "", nil) // if not recorded, the status is 200
	c.end()
}

// A deleted is a deleted session for which further DELETEs were recorded.
type deleted struct {
	script    *replay.Script
	responses []*replay.Exchange
}

// repeatsDelete plays the response to a further DELETE of a session, and reports whether one was
// recorded.
func (s *Server) repeatsDelete(w http.ResponseWriter, r *http.Request, id string) bool {
	s.mu.Lock()
	d, ok := s.deleted[id]
	if ok {
		s.deleted[id] = deleted{d.script, d.responses[1:]}
		if len(d.responses) == 1 {
			delete(s.deleted, id)
		}
	}
	s.mu.Unlock()
	if ok {
		s.outputs(w, r, replay.Refusal{Exchange: d.responses[0], Script: d.script}.Outputs(nil))
	}
	return ok
}

// get opens the GET stream or resumes a stream
// (2025-11-25 basic/transports#resumability-and-redelivery).
func (s *Server) get(w http.ResponseWriter, r *http.Request, head *replay.Head, c *conversation) {
	if s.opens(w, r, head, c, head.LastEventID, nil) || !c.knows(head.LastEventID) && s.opens(w, r, head, c, "", nil) {
		return
	}
	if c.id == "" {
		s.page(w, r, head)
		return
	}
	if !head.Accepts("text/event-stream") {
		http.Error(w, "mcptap mock: the client does not accept an event stream", http.StatusNotAcceptable)
		return
	}
	p := reply{w: w, r: r, srv: s, c: c, primes: primed(head.Version)}
	turn := 0
	p.x, p.sent, turn = c.reads(head.LastEventID)
	if head := p.x.head; head != nil {
		p.played(head)
	} else {
		p.begin()
	}
	p.run(turn)
}

// reads returns the stream for a GET, the number of pieces that the client already has, and the
// number of the reader. A second reader replaces the first.
func (c *conversation) reads(last string) (x *stream, from, turn int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x, from = c.resumed(last)
	if x == nil {
		if c.standing == nil {
			c.openStanding()
		}
		x, from = c.standing, c.standing.read
	}
	x.turn++
	close(x.wake) // for the reader that this one replaces
	x.wake = make(chan struct{}, 1)
	if !x.reading {
		x.waiting = 0
	}
	x.reading = true
	switch {
	case c.over:
	case x == c.standing:
		c.play.Attach(c.now(), x.id, replay.Standing)
	default:
		c.play.Resume(c.now(), x.id)
	}
	c.pump()
	return x, from, x.turn
}

// knows reports whether a stream can be resumed after an event.
func (c *conversation) knows(last string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	x, _ := c.resumed(last)
	return x != nil
}

// resumed returns the stream with the event last, nil for none, and the number of its pieces up to
// that event.
func (c *conversation) resumed(last string) (*stream, int) {
	if last == "" {
		return nil, 0
	}
	for _, x := range slices.Backward(c.kept) {
		if n, ok := x.behind(last); ok {
			return x, n
		}
	}
	return nil, 0
}
