package mock

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A reply writes what comes on a stream to a request: one answer in itself, or
// events, each in a write of its own.
type reply struct {
	w   http.ResponseWriter
	r   *http.Request
	srv *Server
	t   *talk
	x   *stream
	// method is that of the message that is answered, "" for a stream that stands
	// open.
	method string
	// modern says that this is 2026-07-28, broken that the message is none.
	modern, broken bool
	// primes says that events may say nothing but their ids, marked that the client
	// has an id to resume by.
	primes, marked bool
	// begun says that the head is written, closed that the server closes the stream,
	// as it did in the recording.
	begun, closed bool
	// sent counts the events of the stream that the client has, cut those that this
	// reply has written.
	sent, cut int
}

// begin writes the head of an event stream, and what stands before its first message.
func (p *reply) begin() {
	p.begun = true
	p.fields()
	h := p.w.Header()
	if p.x.shape.form != formEvents || h.Get("Content-Type") == "" {
		h.Set("Content-Type", "text/event-stream")
	}
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-cache, no-transform")
	}
	if p.modern && h.Get("X-Accel-Buffering") == "" {
		h.Set("X-Accel-Buffering", "no")
	}
	p.w.WriteHeader(http.StatusOK)
	if p.primes && p.srv.opt.Cut > 0 && p.method != "" {
		b := p.x.eventID([]byte("id: "), 0)
		_, _ = p.w.Write(append(b, "\nretry: 10\ndata: \n\n"...)) // ms, as it is known to be cut
	}
	p.flush()
	p.aside(0)
}

// fields writes the recorded header fields.
func (p *reply) fields() {
	if set := p.x.shape.header; set != 0 {
		p.srv.write(p.w, p.r, p.srv.site.headers[set])
	}
}

// run writes what comes until the stream is over, the client gone, or somebody else
// writes the stream. Turn is the stream's when this began.
func (p *reply) run(turn int) {
	defer p.t.detach(p.x, turn)
	for !p.closed {
		events, over, broken := p.t.take(p.x, p.sent)
		for _, e := range events {
			if !p.event(e) {
				return
			}
		}
		switch {
		case broken && len(events) == 0:
			panic(http.ErrAbortHandler)
		case over && len(events) == 0:
			if !p.begun {
				p.begin() // there is no answer
			}
			return
		case over || broken:
			continue
		}
		select {
		case <-p.x.wake:
		case <-p.r.Context().Done():
			return
		}
		if p.t.taken(p.x, turn) {
			return
		}
	}
}

// event writes one, and reports whether more may follow.
func (p *reply) event(e event) bool {
	switch {
	case e.status != 0 && p.begun:
		panic(http.ErrAbortHandler)
	case e.status != 0:
		p.srv.plain(p.w, e.status, e.data)
		return false
	case e.json:
		p.object(e.data)
		return false
	case !p.begun:
		p.begin()
	}
	if p.aside(e.frame); p.closed {
		return false
	}
	if _, err := p.w.Write(e.data); err != nil {
		return false
	}
	p.flush()
	p.sent++
	p.cut++
	p.marked = p.marked || p.x.ids
	if p.aside(0); p.closed {
		return false
	}
	// What cannot be resumed at all, the stream of HTTP+SSE, is not cut.
	return p.srv.opt.Cut == 0 || p.cut < p.srv.opt.Cut || p.x == p.t.duplex
}

func (p *reply) flush() { _ = http.NewResponseController(p.w).Flush() }

// object writes an answer in itself.
func (p *reply) object(message []byte) {
	p.fields()
	h := p.w.Header()
	if h.Get("Content-Type") == "" || strings.HasPrefix(h.Get("Content-Type"), "text/event-stream") {
		h.Set("Content-Type", "application/json")
	}
	h.Set("Content-Length", strconv.Itoa(len(message)))
	p.w.WriteHeader(p.status(message))
	_, _ = p.w.Write(message)
}

// status is that of an answer in itself: the recorded one, or the one that belongs to
// its error (2026-07-28 basic/transports#status-codes). A client that asks an older
// server for its versions is told by a status that there are none.
func (p *reply) status(message []byte) int {
	if x := &p.x.shape; x.status != 0 && x.form == formJSON {
		return int(x.status)
	}
	if p.broken {
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
