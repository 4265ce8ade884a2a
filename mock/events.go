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
	c, x := s.beginDuplex(r, formEvents)
	if c == nil {
		http.Error(w, "mcptap mock: the server is ending", http.StatusServiceUnavailable)
		return
	}
	c.attach(x) // before the client knows where to send what
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	query := url.Values{s.addresses.param: {c.id}}
	w.WriteHeader(http.StatusOK)
	endpoint := &url.URL{Path: s.addresses.post, RawQuery: query.Encode()}
	_, _ = io.WriteString(w, "event: endpoint\ndata: "+endpoint.String()+"\n\n")
	p := reply{w: w, r: r, srv: s, c: c, x: x, begun: true}
	p.flush()
	p.run(x.turn)
}

// beginDuplex begins a session on one stream that carries everything.
func (s *Server) beginDuplex(r *http.Request, form streamForm) (*conversation, *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil
	}
	c := s.begin(s.choose(r, &posted{}), true)
	c.duplex = c.stream(form)
	return c, c.duplex
}

// attach lets the session begin to speak.
func (c *conversation) attach(x *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.play.Attach(c.now(), x.id, replay.Duplex)
		c.pump()
	}
}

// receive takes a message for a session that is one stream, and reports whether that
// is not over.
func (c *conversation) receive(raw []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	c.play.Receive(c.now(), replay.Input{Stream: c.duplex.id, Raw: raw})
	c.pump()
	return true
}

// postEvents takes a message of a client of HTTP+SSE. What it is answered with comes
// on the event stream; the specification names no status, and all servers send 202.
func (s *Server) postEvents(w http.ResponseWriter, r *http.Request, c *conversation) {
	var p posted
	if !p.read(w, r, &replay.Head{}) {
		return
	}
	if c.duplex == nil || !c.receive(p.raw) {
		s.refuse(w, r, replay.OverSession, &p)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, "Accepted")
}
