package streamable

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// Who did something, as [tap.Event] has it in By.
const (
	byClient = "client"
	byServer = "server"
	byTap    = "tap"
)

// An exchange is one request and all that comes back on it.
type exchange struct {
	n      uint64
	method string
	target string
	began  time.Time // when its first byte came
	// origin is the tap's own, by the name that the client uses.
	origin string
	// decided, where the request asks for another protocol, is closed when it
	// is known whether the connection speaks it from now on.
	decided chan struct{}
	// ws is what was agreed on, tunnel that it is some protocol or other. They
	// are set before decided is closed.
	ws     *wsTerms
	tunnel bool

	up, down side // each belongs to its lane until that is over

	// The rest is guarded by traffic.mu.

	// own is the tap's answer, for a request that is not forwarded.
	own *answer
	// answering says that the response has begun.
	answering bool
	// by and why say how it ended where it was broken off.
	by, why string
	// halfClosed says that the client had closed its side before that. A server that
	// notices may end its response as if it were whole.
	halfClosed bool
	ended      bool
}

// A side is what is known of one direction of an exchange.
type side struct {
	bytes   uint64
	first   time.Duration // from the request's first byte
	coding  string
	notes   []string // what went wrong with the recording
	trailer [][2]string
	unread  uint64 // bytes that crossed and could not be read
	socket  bool   // it has become a WebSocket

	// Guarded by traffic.mu. closes says that a WebSocket's close frame has crossed.
	over, complete, closes bool
}

// note says something of the exchange in its end.
func (s *side) note(text string) { s.notes = appendNew(s.notes, text) }

// traffic is what the two lanes of one connection know together.
type traffic struct {
	*site
	conn uint64
	// local is the IP address that the client connected to.
	local string

	mu sync.Mutex
	// queue has the exchanges whose responses are not over, in their order.
	queue []*exchange
	// gone says who ended the connection first, and how.
	goneBy, goneHow string
}

// newExchange numbers a request whose first byte came at that time.
func (tr *traffic) newExchange(at time.Time) *exchange {
	return &exchange{n: tr.number(), began: at}
}

// enqueue makes the exchange the one that is answered after those before it.
func (tr *traffic) enqueue(ex *exchange) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.queue = append(tr.queue, ex)
}

// answering returns the exchange that the response which begins now belongs to,
// nil if nothing was asked.
func (tr *traffic) answering() *exchange {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(tr.queue) == 0 {
		return nil
	}
	tr.queue[0].answering = true
	return tr.queue[0]
}

// pending returns the exchange that waits for the tap's own answer, if it is
// the next to be answered.
func (tr *traffic) pending() *exchange {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(tr.queue) > 0 && tr.queue[0].own != nil && !tr.queue[0].answering {
		return tr.queue[0]
	}
	return nil
}

// first returns the exchange that is the next to be answered, or being answered,
// if there is one.
func (tr *traffic) first() *exchange {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(tr.queue) == 0 {
		return nil
	}
	return tr.queue[0]
}

// lost notes who ended the connection, and how: "hung up", say. The first one
// counts.
func (tr *traffic) lost(by, how string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.goneBy == "" {
		tr.goneBy, tr.goneHow = by, how
	}
}

// requestOver says that nothing more of a request will come.
func (tr *traffic) requestOver(ex *exchange, complete bool) { tr.over(ex, &ex.up, complete) }

// responseOver says that nothing more of a response will come.
func (tr *traffic) responseOver(ex *exchange, complete bool) {
	tr.mu.Lock()
	if i := slices.Index(tr.queue, ex); i >= 0 {
		tr.queue = slices.Delete(tr.queue, i, i+1)
	}
	tr.mu.Unlock()
	tr.over(ex, &ex.down, complete)
	tr.decide(ex)
}

// decide lets go of a request lane that waits for what becomes of the
// connection.
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

// responsesOver ends all exchanges that still wait for something to come back.
func (tr *traffic) responsesOver() {
	for ex := tr.first(); ex != nil; ex = tr.first() {
		tr.responseOver(ex, false)
	}
}

// over ends one side of an exchange, and with the second one the exchange.
func (tr *traffic) over(ex *exchange, s *side, complete bool) {
	s.unreadNote(s == &ex.up)
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

// blame says who broke an exchange off.
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
		ex.why = "" // which the other side had no time to answer
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

// end is the event that ends an exchange.
func (ex *exchange) end() tap.Event {
	e := tap.Event{
		Name: tap.EventEnd, By: ex.by, HalfClosed: ex.halfClosed, FirstByte: ex.down.first,
		BytesUp: ex.up.bytes, BytesDown: ex.down.bytes,
		Trailer: append(ex.up.trailer, ex.down.trailer...),
	}
	if e.By == "" {
		e.By = byServer
	}
	var codings, problems []string
	if ex.why != "" {
		problems = append(problems, ex.why)
	}
	for _, s := range []*side{&ex.up, &ex.down} {
		if s.coding != "" {
			codings = appendNew(codings, s.coding)
		}
		problems = append(problems, s.notes...)
	}
	e.Coding, e.Error = strings.Join(codings, ", "), strings.Join(problems, "; ")
	return e
}
