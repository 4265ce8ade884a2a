package mock

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/replay"
)

// get opens the stream for what belongs to no request, or goes on with one that was
// cut (2025-11-25 basic/transports#resumability-and-redelivery).
func (s *Server) get(w http.ResponseWriter, r *http.Request, f *fields) {
	t := s.talkOf(f.session)
	switch {
	case t == nil && (f.modern() || f.session == ""):
		s.sessionless(w, r, f)
		return
	case t == nil || t.duplex != nil:
		s.refuse(w, r, overSession, replay.Claim{}, nil)
		return
	case t.rec.refusesGET != nil && !t.knows(f):
		s.fixed(w, r, t.rec.refusesGET)
		return
	case !f.takes("text/event-stream"):
		http.Error(w, "mcptap mock: the client does not take an event stream", http.StatusNotAcceptable)
		return
	}
	x, from, turn := t.reads(f)
	p := reply{w: w, r: r, srv: s, t: t, x: x, sent: from, primes: primed(f, &posted{}), marked: f.lastEvent != ""}
	p.begin()
	p.run(turn)
}

// standingName is the name of the stream for what belongs to no request.
const standingName = "0"

// reads finds the stream that a GET wants, how many events of it the client has, and
// the reader's turn. A second reader takes the place of the first.
func (t *talk) reads(f *fields) (x *stream, from, turn int) {
	t.gate.Lock()
	defer t.gate.Unlock()
	x, from, turn = t.seats(f)
	if x == t.standing && !t.over {
		t.play.Attach(t.now(), x.id, replay.Standing)
	}
	t.pump()
	x.signal()
	return x, from, turn
}

// seats finds the stream that a GET wants, and makes its reader the one that there is.
func (t *talk) seats(f *fields) (x *stream, from, turn int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x, from = t.resumed(f); x == nil {
		if t.standing == nil {
			name := ""
			if t.resumable() {
				name = standingName
			}
			t.standing = t.open(name, formEvents)
			if t.standing.ids {
				t.standing.asides = t.asides(t.rec.asides)
			}
		}
		x, from = t.standing, t.standing.read
	}
	x.turn++
	x.reading = true
	return x, from, x.turn
}

// resumable reports whether events get ids: as recorded, or where that is not known,
// or where streams are cut.
func (t *talk) resumable() bool { return t.rec.ids || !t.rec.heads || t.srv.opt.Cut > 0 }

// resumed finds the stream that a request goes on with, and how many events of it the
// client has; nil if there is none.
func (t *talk) resumed(f *fields) (*stream, int) {
	name, number, ok := strings.Cut(f.lastEvent, "-")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || t.named[name] == nil {
		return nil, 0
	}
	return t.named[name], n
}

// knows reports whether a request goes on with a stream of the session.
func (t *talk) knows(f *fields) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	x, _ := t.resumed(f)
	return x != nil
}

// sessionless answers a GET or a DELETE that names no session, as recorded or else by
// what is missing (2025-11-25 basic/transports#session-management). A server without
// sessions has no such methods.
func (s *Server) sessionless(w http.ResponseWriter, r *http.Request, f *fields) {
	recorded := s.site.recordedPage(r.Method, r.URL) != nil
	named := func(p *played) bool { return p.Opens(false) && !p.nameless() }
	if recorded || f.modern() || !slices.ContainsFunc(s.rec.sessions, named) {
		s.page(w, r)
		return
	}
	s.refuse(w, r, noSession, replay.Claim{}, nil)
}

// delete ends a session.
func (s *Server) delete(w http.ResponseWriter, r *http.Request, f *fields) {
	t := s.talkOf(f.session)
	switch {
	case t == nil && (f.modern() || f.session == ""):
		s.sessionless(w, r, f)
	case t == nil || t.duplex != nil:
		s.refuse(w, r, overSession, replay.Claim{}, nil)
	case t.rec.refusesDELETE != nil:
		s.fixed(w, r, t.rec.refusesDELETE)
	default:
		s.mu.Lock()
		delete(s.byID, t.id)
		s.leave(t)
		s.mu.Unlock()
		t.end()
		if t.rec.deleted != nil {
			s.fixed(w, r, t.rec.deleted)
		}
	}
}
