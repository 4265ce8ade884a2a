package mock

import (
	"fmt"
	"slices"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// An aside is what a recorded server did on an event stream beside its messages: it
// sent an event without data, which gives the client an id to resume by or says how
// long to wait before that; or it closed the stream before the answer, to be polled
// (2025-11-25 basic/transports#sending-messages-to-the-server).
type aside struct {
	// after is how many messages the stream had before it.
	after uint32
	// frame is its own number in the recording, 0 where that is of no use: what
	// was recorded behind it is not sent before it.
	frame uint64
	// text are the lines of the event, without that of its id.
	text string
	// id says that the event has one, end that this is the end of the stream.
	id, end bool
}

// maxAsides is how many are kept of a stream.
const maxAsides = 1024

// A polling is the recorded way of an event stream, through all exchanges that it went
// over.
type polling struct {
	asides []aside
	// ids says that its events had ids.
	ids bool
	// said counts the messages, owed the answers that are still to come.
	said uint32
	owed int
	// standing says that the stream belongs to no request. Such a stream ends when
	// the session does: that is to be played only if somebody resumed it, until when
	// it is kept in ended.
	standing bool
	ended    *aside
	// kept is the number under which the asides are kept, 0 where others share it.
	kept uint32
}

// heard takes an event of the server's.
func (p *polling) heard(frame uint64, e *tap.ServerSentEvent, m *jsonrpc.Message) {
	p.ids = p.ids || e.HasID
	if m != nil && m.Kind != jsonrpc.Other {
		p.said++
		p.owed -= answersIn(m)
		return
	}
	if len(e.Data) > 0 || !e.HasID && e.Name == "" && e.Retry == "" {
		return // a page's, or a comment
	}
	a := aside{after: p.said, frame: frame, id: e.HasID}
	if e.Name != "" {
		a.text = "event: " + e.Name + "\n"
	}
	if e.Retry != "" {
		a.text += "retry: " + e.Retry + "\n"
	}
	if e.Data != nil {
		a.text += "data: \n"
	}
	p.add(a)
}

func (p *polling) add(a aside) {
	if len(p.asides) < maxAsides {
		p.asides = append(p.asides, a)
	}
}

// closed takes that the server closed the stream.
func (p *polling) closed(frame uint64) {
	end := aside{after: p.said, frame: frame, end: true}
	switch {
	case p.standing:
		p.ended = &end
	case p.owed > 0:
		p.add(end)
	}
}

// resumed takes that a client goes on with the stream.
func (p *polling) resumed() {
	if p.ended != nil {
		p.add(*p.ended)
		p.ended = nil
	}
}

// answersIn counts the answers in a message, requestsIn the requests.
func answersIn(m *jsonrpc.Message) (n int) {
	return count(m, func(k jsonrpc.Kind) bool { return k == jsonrpc.Response || k == jsonrpc.ErrorResponse })
}

// requestsIn is documented at answersIn.
func requestsIn(m *jsonrpc.Message) (n int) {
	return count(m, func(k jsonrpc.Kind) bool { return k == jsonrpc.Request })
}

func count(m *jsonrpc.Message, is func(jsonrpc.Kind) bool) (n int) {
	if is(m.Kind) {
		n++
	}
	for i := range m.Batch {
		if is(m.Batch[i].Kind) {
			n++
		}
	}
	return n
}

// keepAsides keeps those of a stream, and returns under which number: the same for
// all streams that are alike, as nearly all of a server's are, but for those that are
// polled. 0 is none.
func (s *site) keepAsides(p *polling) uint32 {
	if len(p.asides) == 0 {
		return 0
	}
	if p.kept != 0 || p.asides[len(p.asides)-1].end {
		if p.kept == 0 {
			s.asides = append(s.asides, nil)
			p.kept = uint32(len(s.asides))
		}
		s.asides[p.kept-1] = p.asides
		return p.kept
	}
	all := slices.Clone(p.asides)
	for i := range all {
		all[i].frame = 0
	}
	name := fmt.Sprint(all)
	if n, ok := s.knownAsides[name]; ok {
		return n
	}
	s.asides = append(s.asides, all)
	s.knownAsides[name] = uint32(len(s.asides))
	return s.knownAsides[name]
}

// asidesOf returns those that are kept under a number.
func (s *site) asidesOf(n uint32) []aside {
	if n == 0 {
		return nil
	}
	return s.asides[n-1]
}

// asides are those of a stream. Where streams are cut, that takes their place.
func (t *talk) asides(n uint32) []aside {
	if t.srv.opt.Cut > 0 {
		return nil
	}
	return t.srv.site.asidesOf(n)
}

// aside returns the next one, when its place has come: so many messages have been
// sent, and next is the frame of the one that follows, 0 if that is not known.
func (t *talk) aside(x *stream, sent int, next uint64) (a aside, ok bool) {
	if len(x.asides) == 0 {
		return a, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if x.aside == len(x.asides) {
		return a, false
	}
	a = x.asides[x.aside]
	if int(a.after) > sent && (a.frame == 0 || a.frame > next) {
		return a, false
	}
	x.aside++
	return a, true
}

// aside writes what the server did beside its messages before the next one, whose
// frame that is, 0 if it is not there yet. What says nothing but an id is withheld
// from clients that would take it for a broken message, and a stream is not closed
// that they cannot resume.
func (p *reply) aside(next uint64) {
	for !p.closed {
		a, ok := p.t.aside(p.x, p.sent, next)
		switch {
		case !ok:
			return
		case a.end:
			p.closed = p.marked
		case p.primes:
			var b []byte
			if a.id {
				b = append(p.x.eventID([]byte("id: "), p.sent), '\n')
				p.marked = true
			}
			b = append(b, a.text...)
			_, _ = p.w.Write(append(b, '\n'))
			p.flush()
		}
	}
}
