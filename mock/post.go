package mock

import (
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// maxMessage is how many bytes a message of a client's may have.
const maxMessage = 256 << 20

// A posted is a message that a client sent.
type posted struct {
	raw     []byte
	message jsonrpc.Message
	// claim is that of the message, or of the first in a batch.
	claim replay.Claim
	// modern says that it is of 2026-07-28, or that its head says so.
	modern bool
}

// read reads the message of a request. It reports whether there is one, and answers
// the request otherwise.
func (p *posted) read(w http.ResponseWriter, r *http.Request) bool {
	var err error
	body := http.MaxBytesReader(w, r.Body, maxMessage)
	if r.ContentLength > maxMessage {
		http.Error(w, "mcptap mock: the message is too long", http.StatusRequestEntityTooLarge)
		return false
	}
	if n := r.ContentLength; n > 0 && n <= 1<<20 {
		p.raw = make([]byte, n)
		_, err = io.ReadFull(body, p.raw)
	} else {
		p.raw, err = io.ReadAll(body)
	}
	if err != nil {
		status := http.StatusBadRequest
		if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "mcptap mock: the message cannot be read: "+err.Error(), status)
		return false
	}
	p.message = jsonrpc.Peek(p.raw)
	m := &p.message
	if m.Kind == jsonrpc.Batch && len(m.Batch) > 0 {
		m = &m.Batch[0]
	}
	p.claim = replay.ReadClaim(m)
	return true
}

// post takes a message on the path of Streamable HTTP.
func (s *Server) post(w http.ResponseWriter, r *http.Request, f *fields) {
	var p posted
	if !p.read(w, r) {
		return
	}
	p.modern = p.claim.Modern || f.modern()
	if s.refuses(w, r, s.site.circumstances(f, &p.claim), p.claim, &p.message) {
		return
	}
	t, why := s.find(r, f, &p)
	if t == nil {
		s.refuse(w, r, why, p.claim, &p.message)
		return
	}
	x := s.play(w, r, t, &p)
	if x == nil {
		return
	}
	if p.claim.Method == "initialize" && t.id != "" {
		w.Header().Set("Mcp-Session-Id", t.id)
	}
	out := reply{w: w, r: r, srv: s, t: t, x: x, modern: p.modern, primes: x.ids && primed(f, &p), method: p.claim.Method, broken: p.broken()}
	if x.shape.form == formEvents && !s.rec.refuses {
		out.begin()
	}
	out.run(0)
}

// play gives a message to its session, and returns the stream of what it is answered
// with, nil if the request has been answered.
func (s *Server) play(w http.ResponseWriter, r *http.Request, t *talk, p *posted) *stream {
	t.gate.Lock()
	if t.over {
		t.gate.Unlock()
		if t.failed != nil {
			s.failed(w, p.claim.ID, t.failed)
		} else {
			s.refuse(w, r, overSession, p.claim, &p.message)
		}
		return nil
	}
	if frame, ok := t.play.Refused(p.raw); ok && s.site.byFrame[frame] != nil {
		t.pump()
		t.gate.Unlock()
		s.fixed(w, r, s.site.byFrame[frame])
		return nil
	}
	t.mu.Lock()
	x := t.open("", formUnknown)
	x.reading = true
	t.mu.Unlock()
	requests := t.play.Receive(t.now(), x.id, p.raw)
	s.dress(t, x, p)
	t.pump()
	silent := t.silent(x, requests)
	failed := t.failed
	t.gate.Unlock()
	switch {
	case !silent:
		return x
	case failed != nil:
		s.failed(w, p.claim.ID, failed)
	default:
		s.accepted(w, r, t, p)
	}
	return nil
}

// silent reports whether nothing answers a message with so many requests, and forgets
// its stream then.
func (t *talk) silent(x *stream, requests int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	silent := (requests == 0 || t.failed != nil) && len(x.events) == 0
	if silent {
		delete(t.streams, x.id)
	}
	return silent
}

// broken reports whether it is no message, which is answered as well.
func (p *posted) broken() bool { return p.message.Kind == jsonrpc.Invalid }

// dress gives a stream the form that the recorded answer had. The caller holds the
// gate.
func (s *Server) dress(t *talk, x *stream, p *posted) {
	request, exchange := t.play.Matched()
	t.mu.Lock()
	defer t.mu.Unlock()
	if exchange != 0 {
		x.shape = s.site.shapeOf(exchange)
	}
	if x.shape.form == formEvents {
		x.form = formEvents
	}
	if !p.modern && t.resumable() && p.claim.Kind == jsonrpc.Request {
		name := "own"
		if request.Seq != 0 {
			name = strconv.FormatUint(request.Seq, 10)
		}
		t.name(x, name)
		x.asides = t.asides(x.shape.asides)
	}
}

// accepted answers a message that nothing answers.
func (s *Server) accepted(w http.ResponseWriter, r *http.Request, t *talk, p *posted) {
	if p.broken() {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if f := t.rec.accepted; f != nil {
		s.fixed(w, r, f)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// primed reports whether a client may get an event that says nothing but its id: the
// older ones take it for a broken message.
func primed(f *fields, p *posted) bool {
	version := f.version
	if p.claim.Method == "initialize" {
		version = p.claim.Version
	}
	return jsonrpc.Revision(version) >= jsonrpc.Rev20251125
}

// plain writes an error with a status of its own.
func (s *Server) plain(w http.ResponseWriter, status int, message []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(message)
}

// modern reports whether there is a session of 2026-07-28 to play.
func (s *Server) modern() bool {
	for _, p := range s.rec.sessions {
		if p.Opens(true) {
			return true
		}
	}
	return false
}

// write writes recorded header fields.
func (s *Server) write(w http.ResponseWriter, r *http.Request, header [][2]string) {
	h := w.Header()
	for _, x := range header {
		h.Add(x[0], s.here(r, x[1]))
	}
}

// here puts the origin of this server in the place of the recorded one's, in what
// names it: where to be authorized, say.
func (s *Server) here(r *http.Request, text string) string {
	for _, o := range s.site.origins {
		if strings.Contains(text, o) {
			text = strings.ReplaceAll(text, o, "http://"+r.Host)
		}
	}
	return text
}

// fixed writes a recorded response that is no message.
func (s *Server) fixed(w http.ResponseWriter, r *http.Request, f *fixed) {
	s.write(w, r, f.header)
	w.WriteHeader(f.status)
	if bodyAllowed(f.status) {
		_, _ = io.WriteString(w, s.here(r, string(f.body)))
	}
}

func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// opens reports whether it may be the first of a client's.
func (p *posted) opens() bool {
	return p.modern || p.claim.Method == "initialize" || p.claim.Method == "server/discover"
}

// find finds the session that a message belongs to, or begins it; else why is the
// reason not to.
func (s *Server) find(r *http.Request, f *fields, p *posted) (t *talk, why circumstances) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, overSession
	}
	if f.session != "" && !p.modern {
		if t = s.byID[f.session]; t == nil || t.duplex != nil {
			return nil, overSession
		}
		t.used = time.Now()
		return t, 0
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	client := strings.Join([]string{host, r.URL.RequestURI(), f.agent, f.credentials, string(p.claim.Client)}, "\x00")
	if t = s.ofClient(r, client, p); s.closed {
		return nil, overSession
	}
	if t == nil || p.claim.Method == "initialize" && !p.modern {
		if t, why = s.enter(t, r, p); t == nil {
			return nil, why
		}
		t.client = client
	}
	t.probe = t.probe && p.claim.Method == "server/discover"
	if t.id == "" {
		s.byClient[client] = t
		if len(s.byConn) >= maxConns {
			clear(s.byConn)
		}
		s.byConn[r.RemoteAddr] = t
	}
	t.used = time.Now()
	return t, 0
}

// ofClient finds the session that a client goes on with, nil if it begins one. The
// caller holds the lock of the server, which is let go of while a session has to find
// out.
func (s *Server) ofClient(r *http.Request, client string, p *posted) (t *talk) {
	var begins bool
	for asked := (*talk)(nil); ; asked = t {
		t = s.byConn[r.RemoteAddr]
		here := t != nil && (t.client == client || p.claim.Client == nil)
		if !here {
			t = s.byClient[client]
		}
		switch {
		case t == nil || t == asked && begins:
			return nil
		case t == asked:
			return t
		}
		s.mu.Unlock()
		begins = t.begins(p, here)
		s.mu.Lock()
	}
}

// enter begins a session for a message, or goes on with one in which the client has
// asked for the server's versions only. The caller holds the lock.
func (s *Server) enter(probed *talk, r *http.Request, p *posted) (*talk, circumstances) {
	rec := s.choose(p.modern, r.URL.Path)
	if !p.opens() && rec.Opens(false) {
		return nil, noSession
	}
	named := p.claim.Method == "initialize" && !p.modern && !rec.nameless()
	if probed != nil && probed.probe && p.claim.Method == "initialize" {
		probed.probe = false
		if named {
			delete(s.byClient, probed.client)
			probed.id = rand.Text()
			s.byID[probed.id] = probed
		}
		return probed, 0
	}
	t := s.begin(rec, named)
	t.probe = p.claim.Method == "server/discover"
	return t, 0
}

// begins reports whether a message begins the session of its client anew: what it
// begins with comes once more than recorded, on another connection, or it asks for
// the server's versions again.
func (t *talk) begins(p *posted, here bool) bool {
	if here && p.claim.Method != "server/discover" {
		return t.ended()
	}
	t.gate.Lock()
	defer t.gate.Unlock()
	return t.over || t.play.BeginsAgain(p.raw)
}
