package mock

import (
	"io"
	"net/http"
	"net/url"

	"github.com/mcptap/mcptap/replay"
)

// events serves the event stream of HTTP+SSE (2024-11-05
// basic/transports#http-with-sse), which is a session.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	t, x := s.duplexTalk(r, formEvents)
	if t == nil {
		http.Error(w, "mcptap mock: the server is ending", http.StatusServiceUnavailable)
		return
	}
	t.attach(x) // before the client knows where to send what
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	query := url.Values{s.site.param: {t.id}}
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, "event: endpoint\ndata: "+(&url.URL{Path: s.site.post, RawQuery: query.Encode()}).String()+"\n\n")
	p := reply{w: w, r: r, srv: s, t: t, x: x, begun: true}
	p.flush()
	p.run(x.turn)
}

// duplexTalk begins a session on one stream that carries everything.
func (s *Server) duplexTalk(r *http.Request, form answerForm) (*talk, *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil
	}
	t := s.begin(s.choose(false, r.URL.Path), true)
	t.duplex = t.open("", form)
	t.duplex.reading = true
	return t, t.duplex
}

// attach lets the session begin to speak.
func (t *talk) attach(x *stream) {
	t.gate.Lock()
	defer t.gate.Unlock()
	if !t.over {
		t.play.Attach(t.now(), x.id, replay.Duplex)
		t.pump()
	}
}

// receive takes a message for a session that is one stream, and reports whether that
// is not over.
func (t *talk) receive(raw []byte) bool {
	t.gate.Lock()
	defer t.gate.Unlock()
	if t.over {
		return false
	}
	t.play.Receive(t.now(), t.duplex.id, raw)
	t.pump()
	return true
}

// postEvents takes a message of a client of HTTP+SSE. What it is answered with comes
// on the event stream; the specification names no status, and everybody's is 202.
func (s *Server) postEvents(w http.ResponseWriter, r *http.Request, t *talk) {
	var p posted
	if !p.read(w, r) {
		return
	}
	if t.duplex == nil || !t.receive(p.raw) {
		s.refuse(w, r, overSession, p.claim, &p.message)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, "Accepted")
}
