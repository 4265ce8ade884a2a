package mock

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A reply writes a stream as the response to a request: as one body, or as events, each in a
// separate write.
type reply struct {
	w       http.ResponseWriter
	r       *http.Request
	srv     *Server
	c       *conversation
	x       *stream
	method  string // the method of the message that is answered, "" for none
	modern  bool   // the request is of 2026-07-28
	invalid bool   // its body is not a message
	primes  bool   // the client accepts events without data
	begun   bool   // the head is written
	entry   entry  // zero for none
	sent    int    // the pieces of the stream that the client has
	cut     int    // the pieces that this reply has written
	body    []byte // of a response with a Content-Length
}

// run writes the stream until it is over, the client is gone, or another request reads it. turn is
// the number of the reader.
func (p *reply) run(turn int) {
	defer p.c.detach(p.x, turn)
	for {
		t := p.c.take(p.x, p.sent, turn)
		if t.gone || p.write(&t) {
			return
		}
		select {
		case <-t.wake:
		case <-p.r.Context().Done():
			if !p.begun { // package net/http would respond with 200
				panic(http.ErrAbortHandler)
			}
			return
		}
	}
}

// write writes what was taken, and reports whether the reply is complete.
func (p *reply) write(t *taken) (over bool) {
	deadline(p.w)
	if t.head != nil && !p.begun && t.head.Length >= 0 && !t.head.Events {
		for _, e := range t.pieces {
			p.body = append(p.body, p.page(e)...)
			p.sent++
		}
		if t.over {
			p.whole(t.head, p.body, t.broken)
		}
		return t.over
	}
	if t.head != nil && !p.begun {
		p.played(t.head)
	}
	for _, e := range t.pieces {
		if !p.piece(e) {
			return true
		}
	}
	switch {
	case t.over && t.broken:
		panic(http.ErrAbortHandler)
	case t.over && !p.begun:
		p.begin() // there is no response
	}
	return t.over
}

// head sets the recorded fields of a response.
func (p *reply) head(r *replay.Response) {
	h := p.w.Header()
	for _, x := range r.Header {
		switch name := http.CanonicalHeaderKey(x[0]); name {
		case "Connection", "Keep-Alive":
			h[name] = append(h[name], x[1])
		default:
			h[x[0]] = append(h[x[0]], p.srv.here(p.r, x[1]))
		}
	}
	for _, name := range []string{"Content-Type", "Date"} {
		if _, ok := h[name]; !ok && (name != "Date" || !r.Date) {
			h[name] = nil // or net/http adds it
		}
	}
	if p.r.Close {
		h.Set("Connection", "close")
	}
	if r.Session && p.c != nil && p.c.id != "" {
		h.Set("Mcp-Session-Id", p.c.id)
	}
}

// played writes the head of a recorded response.
func (p *reply) played(r *replay.Response) {
	p.begun = true
	p.head(r)
	p.entry.answered(r.Status)
	p.w.WriteHeader(r.Status)
	p.flush()
}

// whole writes a recorded response with its body.
func (p *reply) whole(r *replay.Response, body []byte, broken bool) {
	p.begun = true
	p.head(r)
	length := len(body)
	if broken {
		length = max(int(min(r.Length, 1<<40)), length+1)
	}
	if bodyAllowed(r.Status) || broken {
		p.w.Header().Set("Content-Length", strconv.Itoa(length))
	}
	p.entry.answered(r.Status)
	p.w.WriteHeader(r.Status)
	if bodyAllowed(r.Status) && p.r.Method != http.MethodHead {
		_, _ = p.w.Write(body)
	}
	p.flush() // before output on another stream
	if broken {
		panic(http.ErrAbortHandler)
	}
}

func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// page returns the data of a piece. If that is not a message, it replaces the origin of the recorded
// server, except in events.
func (p *reply) page(e piece) []byte {
	if !e.page || p.x.form == formEvents {
		return e.data
	}
	return []byte(p.srv.here(p.r, string(e.data)))
}

// begin writes the head of an event stream without a recorded head.
func (p *reply) begin() {
	p.begun = true
	h := p.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	if p.modern {
		h.Set("X-Accel-Buffering", "no")
	}
	p.session()
	p.entry.answered(http.StatusOK)
	p.w.WriteHeader(http.StatusOK)
	if p.primes && p.srv.opt.Cut > 0 && p.method != "" && p.x.name != "" {
		_, _ = p.w.Write([]byte("id: " + p.x.eventID(0) + "\nretry: 10\ndata: \n\n")) // it will be cut
	}
	p.flush()
}

// session sets the id of the session that an initialize began.
func (p *reply) session() {
	if p.method == "initialize" && p.c != nil && p.c.id != "" {
		p.w.Header().Set("Mcp-Session-Id", p.c.id)
	}
}

// piece writes a piece, and reports whether more may follow.
func (p *reply) piece(e piece) bool {
	switch {
	case e.status != 0 && p.begun:
		panic(http.ErrAbortHandler)
	case e.status != 0:
		p.entry.answered(e.status)
		plain(p.w, e.status, e.data)
		return false
	case e.alone:
		p.alone(e.data)
		return false
	case !p.begun:
		p.begin()
	}
	if _, err := p.w.Write(p.page(e)); err != nil {
		return false
	}
	p.flush()
	p.sent++
	if !e.page {
		p.cut++
	}
	// The stream of HTTP+SSE cannot be resumed, so it is not cut.
	return p.srv.opt.Cut == 0 || p.cut < p.srv.opt.Cut || p.c == nil || p.x == p.c.duplex
}

func (p *reply) flush() { _ = http.NewResponseController(p.w).Flush() }

// writeTime is how long a client may take to accept a write.
const writeTime = time.Minute

// deadline sets the deadline for the next writes.
func deadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
}

// alone writes a message as the whole body.
func (p *reply) alone(message []byte) {
	if p.c == nil || p.c.live == nil || jsonrpc.Peek(message).Kind != jsonrpc.ErrorResponse { // otherwise no session has begun
		p.session()
	}
	h := p.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(message)))
	status := p.status(message)
	p.entry.answered(status)
	p.w.WriteHeader(status)
	_, _ = p.w.Write(message)
	p.flush()
}

// status returns the HTTP status for a message without a recorded status: the one for its error
// (2026-07-28 basic/transports#status-codes). A client that sends server/discover to an older
// server expects a failure status too.
func (p *reply) status(message []byte) int {
	if p.invalid {
		return http.StatusBadRequest
	}
	if !p.modern && p.method != "server/discover" && p.method != "initialize" {
		return http.StatusOK
	}
	m := jsonrpc.Peek(message)
	if m.Kind != jsonrpc.ErrorResponse {
		return http.StatusOK
	}
	switch {
	case m.ErrorCode == "-32601" && p.modern && p.srv.modern():
		return http.StatusNotFound
	case m.ErrorCode == "-32601" && p.method == "server/discover",
		m.ErrorCode == "-32020", m.ErrorCode == "-32021", m.ErrorCode == "-32022":
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// outputs writes a complete recorded response.
func (s *Server) outputs(w http.ResponseWriter, r *http.Request, all []replay.Output) {
	x := &stream{played: true}
	t := taken{over: true}
	for _, out := range all {
		x.put(out)
		t.broken = t.broken || out.Abort
	}
	if t.head, t.pieces = x.head, x.pieces; t.head == nil {
		panic(http.ErrAbortHandler)
	}
	(&reply{w: w, r: r, srv: s, x: x}).write(&t)
}

// response writes a recorded head.
func (s *Server) response(w http.ResponseWriter, r *http.Request, head *replay.Response) {
	s.outputs(w, r, []replay.Output{{Response: head, Last: true}})
}

// plain writes an error with a status.
func plain(w http.ResponseWriter, status int, message []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(message)
}

// here replaces the origin of the recorded server in a text with that of this server.
func (s *Server) here(r *http.Request, text string) string {
	for _, o := range s.addresses.origins {
		text = strings.ReplaceAll(text, o, "http://"+r.Host)
	}
	return text
}
