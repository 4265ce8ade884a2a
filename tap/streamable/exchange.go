package streamable

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// Values of By in [tap.Event].
const (
	byClient = "client"
	byServer = "server"
	byTap    = "tap"
)

// An exchange is one request and everything that comes back on it.
type exchange struct {
	n      uint64
	method string
	target string
	began  time.Time // when its first byte arrived
	// origin is the origin of the tap, with the name that the client uses.
	origin string
	// decided, if the request asks for another protocol, is closed when it is known whether
	// the connection changes to it.
	decided chan struct{}
	// ws has the agreed parameters of a WebSocket. tunnel reports another protocol. They
	// are set before decided is closed.
	ws     *wsTerms
	tunnel bool

	up, down side // each is used by its lane only, until that has ended

	// The following fields are guarded by traffic.mu.

	// own is the status of the response of the tap to a request that is not forwarded, or
	// 0. Its text is why.
	own int
	// answering reports that the response has begun.
	answering bool
	// by and why describe how the exchange was aborted.
	by, why string
	// halfClosed reports that the client had closed its side before that. A server that
	// notices may end its response properly.
	halfClosed bool
	ended      bool
}

// A side is one direction of an exchange.
type side struct {
	bytes   uint64
	first   time.Duration // since the first byte of the request
	coding  string
	notes   []string // problems of the recording
	trailer [][2]string
	unread  uint64 // number of bytes that were neither read nor recorded
	socket  bool   // it has become a WebSocket

	// Guarded by traffic.mu. closes reports that the close frame of a WebSocket has crossed.
	over, complete, closes bool
}

// note adds a note to the end of the exchange.
func (s *side) note(text string) { s.notes = appendNew(s.notes, text) }

// traffic is the state shared by the two lanes of a connection.
type traffic struct {
	*Tap
	conn uint64
	// local is the IP address that the client connected to.
	local string

	mu sync.Mutex
	// queue has the exchanges whose responses have not ended, in order.
	queue []*exchange
	// goneBy and goneHow describe which side ended the connection first, and how.
	goneBy, goneHow string
}

// newExchange numbers a request whose first byte arrived at a time.
func (tr *traffic) newExchange(at time.Time) *exchange {
	return &exchange{n: tr.exchanges.Add(1), began: at}
}

// enqueue adds an exchange to the queue of responses.
func (tr *traffic) enqueue(ex *exchange) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.queue = append(tr.queue, ex)
}

// answering returns the exchange of a response that begins now, nil if there was no
// request.
func (tr *traffic) answering() *exchange {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(tr.queue) == 0 {
		return nil
	}
	tr.queue[0].answering = true
	return tr.queue[0]
}

// pending returns the exchange that waits for a response of the tap, if it is next.
func (tr *traffic) pending() *exchange {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(tr.queue) > 0 && tr.queue[0].own != 0 && !tr.queue[0].answering {
		return tr.queue[0]
	}
	return nil
}

// first returns the exchange whose response is next or has begun, or nil.
func (tr *traffic) first() *exchange {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(tr.queue) == 0 {
		return nil
	}
	return tr.queue[0]
}

// lost records which side ended the connection, and how, such as "hung up". Only the first call
// counts.
func (tr *traffic) lost(by, how string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.goneBy == "" {
		tr.goneBy, tr.goneHow = by, how
	}
}

// hangUp records that the client has hung up in each exchange whose response is not over.
// The end of the exchange is recorded when the server notices, which may be much later. Other
// protocols have ends of their own, but a client may offer one with each request.
func (tr *traffic) hangUp() {
	tr.mu.Lock()
	defer tr.mu.Unlock() // held while recording, so that the end of the exchange comes later
	for _, ex := range tr.queue {
		if ex.method != "" && ex.own == 0 && !ex.changed() {
			tr.rec.Event(ex.n, tap.Event{Name: tap.EventHangUp, By: byClient})
		}
	}
}

// requestOver ends a request.
func (tr *traffic) requestOver(ex *exchange, complete bool) { tr.over(ex, &ex.up, complete) }

// responseOver ends a response.
func (tr *traffic) responseOver(ex *exchange, complete bool) {
	tr.mu.Lock()
	if i := slices.Index(tr.queue, ex); i >= 0 {
		tr.queue = slices.Delete(tr.queue, i, i+1)
	}
	tr.mu.Unlock()
	tr.over(ex, &ex.down, complete)
	tr.decide(ex)
}

// decide releases a request lane that waits for the protocol of the connection.
func (tr *traffic) decide(ex *exchange) {
	if ex.decided == nil {
		return
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	select {
	case <-ex.decided:
	default:
		close(ex.decided)
	}
}

// changed reports whether the connection has changed to another protocol.
func (ex *exchange) changed() bool {
	if ex.decided == nil {
		return false
	}
	select {
	case <-ex.decided:
		return ex.ws != nil || ex.tunnel
	default:
		return false
	}
}

// responsesOver ends all exchanges without a complete response.
func (tr *traffic) responsesOver() {
	for ex := tr.first(); ex != nil; ex = tr.first() {
		tr.responseOver(ex, false)
	}
}

// over ends one side of an exchange, and the exchange with the second side.
func (tr *traffic) over(ex *exchange, s *side, complete bool) {
	tr.mu.Lock()
	if !s.over {
		s.over, s.complete = true, complete
		tr.blame(ex, s, complete)
	}
	end := ex.up.over && ex.down.over && !ex.ended
	ex.ended = ex.ended || end
	tr.mu.Unlock()
	if end {
		tr.rec.Event(ex.n, ex.end())
	}
}

// blame determines which side aborted an exchange.
func (tr *traffic) blame(ex *exchange, s *side, complete bool) {
	if s == &ex.down && tr.goneBy == byClient {
		ex.halfClosed = true
	}
	if complete || ex.why != "" {
		return
	}
	ex.by, ex.why = tr.goneBy, "the "+tr.goneBy+" "+tr.goneHow
	switch {
	case tr.goneBy == "":
		ex.by, ex.why = byTap, "the connection ended"
	case tr.goneBy == byTap:
		ex.why = tr.goneHow
		return
	}
	switch {
	case s.socket && (tr.goneBy == byClient && ex.up.closes || tr.goneBy == byServer && ex.down.closes):
		ex.why = "" // the other side had no time to respond
	case s.socket:
		ex.why += " without a close frame"
	case s == &ex.up:
		ex.why += " within the request"
	case ex.answering:
		ex.why += " within the response"
	default:
		ex.why += " before the response began"
	}
}

// end returns the event that ends an exchange.
func (ex *exchange) end() tap.Event {
	e := tap.Event{
		Name: tap.EventEnd, By: cmp.Or(ex.by, byServer), HalfClosed: ex.halfClosed, FirstByte: ex.down.first,
		BytesUp: ex.up.bytes, BytesDown: ex.down.bytes,
		Trailer: append(ex.up.trailer, ex.down.trailer...),
	}
	var codings, problems []string
	if ex.why != "" {
		problems = append(problems, ex.why)
	}
	for i, s := range []*side{&ex.up, &ex.down} {
		if s.coding != "" {
			codings = appendNew(codings, s.coding)
		}
		problems = append(problems, s.notes...)
		if from := [...]string{byClient, byServer}[i]; s.unread > 0 {
			problems = append(problems, fmt.Sprintf("%d bytes from the %s were not recorded, as there may be secrets in them", s.unread, from))
		}
	}
	e.Coding, e.Error = strings.Join(codings, ", "), strings.Join(problems, "; ")
	return e
}
