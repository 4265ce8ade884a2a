package mock

import (
	"crypto/rand"
	"strconv"
	"sync"
	"time"

	"github.com/mcptap/mcptap/replay"
)

// A talk is a session with a client over HTTP. Whoever has something for it, a
// request or the timer, takes the gate and does all there is to do; each stream is
// written by the request that it is the answer to.
type talk struct {
	srv *Server
	rec *played
	// id is what the client repeats, "" where nothing on the wire names the session;
	// client is what it is known by then.
	id, client string
	gone       chan struct{} // closed when it is over

	// gate is held by who plays the session, which may have to wait for the rest of the
	// recording.
	gate  sync.Mutex
	play  *replay.Session
	began time.Time
	used  time.Time
	timer *time.Timer
	armed bool
	// failed is why it is over, if that is an error.
	failed error

	// mu guards what follows, and nobody waits while he holds it, so that answers are
	// written meanwhile. Who takes both takes the gate first.
	mu sync.Mutex
	// over is set with both held.
	over bool
	// probe says that the client has asked for the server's versions only.
	probe bool

	streams map[replay.Stream]*stream
	last    replay.Stream
	// named are those that can be resumed, oldest first, and kept is how many bytes
	// are kept for that.
	named map[string]*stream
	order []*stream
	kept  int
	// times counts how often a recorded request was played, to name its stream.
	times    map[string]int
	standing *stream
	duplex   *stream
	// waiting is how many bytes wait for a client to read them.
	waiting int
}

// maxTalks is how many sessions are kept that nothing ended, and maxConns how many
// connections are remembered.
const (
	maxTalks = 1024
	maxConns = 4096
)

// begin begins a session. The caller holds the lock of the server.
func (s *Server) begin(rec *played, named bool) *talk {
	t := &talk{
		srv: s, rec: rec, play: rec.NewSession(), began: time.Now(), gone: make(chan struct{}),
		streams: map[replay.Stream]*stream{}, named: map[string]*stream{}, times: map[string]int{},
	}
	t.used = t.began
	t.timer = time.AfterFunc(time.Hour, t.tick)
	t.armed = true
	if named {
		t.id = rand.Text()
		s.byID[t.id] = t
	}
	s.played[rec]++
	s.talks[t] = struct{}{}
	if len(s.talks) > maxTalks {
		old := s.oldest()
		s.leave(old)
		go old.end()
	}
	return t
}

// leave takes that a session is about to be ended. The caller holds the lock of the
// server.
func (s *Server) leave(t *talk) {
	if _, goesOn := s.talks[t]; goesOn {
		delete(s.talks, t)
		s.leaving[t] = struct{}{}
	}
}

// oldest is the session that was used least lately.
func (s *Server) oldest() (old *talk) {
	for t := range s.talks {
		if old == nil || t.used.Before(old.used) {
			old = t
		}
	}
	return old
}

// choose picks the recorded session that a client gets. The caller holds the lock of
// the server.
func (s *Server) choose(modern bool, path string) *played {
	if len(s.rec.sessions) == 1 {
		return s.rec.sessions[0]
	}
	var best *played
	rank := func(p *played) (n int) {
		if !p.Opens(modern) {
			n += 1 << 40
		}
		if p.path != "" && path != "" && !samePath(p.path, path) {
			n += 1 << 36
		}
		return n + s.played[p]
	}
	for _, p := range s.rec.sessions {
		if best == nil || rank(p) < rank(best) {
			best = p
		}
	}
	return best
}

func (t *talk) now() time.Duration { return time.Since(t.began) }

// tick is called when something is due.
func (t *talk) tick() {
	t.gate.Lock()
	defer t.gate.Unlock()
	t.pump()
}

// maxWaiting is how many bytes wait for a client that does not read, before nothing
// more is played to it.
const maxWaiting = 16 << 20

// pump hands all that is to be written now to the streams, and sets the timer to when
// there will be more. The caller holds the gate, and nothing else.
func (t *talk) pump() {
	for t.flows() {
		out, ok, err := t.play.Next(t.now())
		for _, n := range t.play.Notes() {
			t.srv.opt.Note(n)
		}
		switch {
		case err != nil:
			t.fail(err)
		case ok && out.Leave:
			t.finish(true)
		case ok:
			t.put(out)
		case t.play.Done():
			t.finish(false)
		default:
			t.wait()
			return
		}
	}
}

// ended reports whether it is over.
func (t *talk) ended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

// flows reports whether anything can be handed to the streams.
func (t *talk) flows() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.over && t.waiting < maxWaiting
}

// wait sets the timer to when something is due.
func (t *talk) wait() {
	due, any := t.play.Due()
	switch {
	case any:
		t.timer.Reset(max(0, due-t.now()))
	case t.armed:
		t.timer.Stop()
	}
	t.armed = any
}

// put hands a message to its stream.
func (t *talk) put(out replay.Output) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.streams[out.Stream]
	if x == nil {
		return // nobody can come back for it
	}
	if len(out.Raw) > 0 {
		n := x.put(out)
		if x.reading {
			x.waiting += n
			t.waiting += n
		}
		if x.ids {
			t.kept += n
		}
	}
	x.over = x.over || out.Last
	x.signal()
}

// open makes a stream. Its name is what resuming clients call it. The caller holds mu.
func (t *talk) open(name string, form answerForm) *stream {
	t.last++
	x := &stream{id: t.last, form: form, wake: make(chan struct{}, 1)}
	t.streams[x.id] = x
	if name != "" {
		t.name(x, name)
	}
	return x
}

// name lets a stream be resumed. The caller holds mu.
func (t *talk) name(x *stream, name string) {
	if t.times[name]++; t.times[name] > 1 {
		name += "." + strconv.Itoa(t.times[name])
	}
	x.name, x.ids = name, true
	t.named[name] = x
	t.order = append(t.order, x)
	t.forget()
}

// What is kept for clients that resume.
const (
	maxKeptEvents = 16 << 20
	maxNamed      = 1024
)

// forget drops the oldest streams that are over, where there are too many.
func (t *talk) forget() {
	for i := 0; i < len(t.order) && (t.kept > maxKeptEvents || len(t.order) > maxNamed); {
		x := t.order[i]
		if !x.over || x.reading {
			i++
			continue
		}
		copy(t.order[1:], t.order[:i]) // the few that stay, most of the time none
		t.order[0] = nil
		t.order = t.order[1:]
		delete(t.named, x.name)
		t.kept -= x.drop()
	}
}

// finish ends the session: the streams end too, as if the connection broke if
// abruptly. The caller holds the gate, and nothing else.
func (t *talk) finish(abruptly bool) {
	if t.over {
		return
	}
	t.timer.Stop()
	t.mu.Lock()
	t.over = true
	for _, x := range t.streams {
		x.broken = x.broken || abruptly && !x.over
		x.over = true
		x.signal()
	}
	t.mu.Unlock()
	close(t.gone)
	t.srv.opt.Over(t.play)
	go t.srv.drop(t)
}

// drop forgets a session that is over.
func (s *Server) drop(t *talk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.talks, t)
	delete(s.leaving, t)
	if t.id != "" {
		delete(s.byID, t.id)
	}
	if s.byClient[t.client] == t {
		delete(s.byClient, t.client)
	}
}

// end ends the session for the client.
func (t *talk) end() {
	t.gate.Lock()
	defer t.gate.Unlock()
	if t.over {
		return
	}
	t.play.End(t.now())
	t.pump()
	t.finish(false)
}

// detach says that a reader does not read a stream any more.
func (t *talk) detach(x *stream, turn int) {
	t.mu.Lock()
	over := x.over && x != t.standing && x != t.duplex
	t.mu.Unlock()
	if over { // as the session knows, which may be waiting
		t.forsake(x, turn)
		return
	}
	t.gate.Lock()
	defer t.gate.Unlock()
	if !t.forsake(x, turn) {
		return
	}
	t.play.Detach(t.now(), x.id)
	t.pump()
	if x == t.duplex {
		t.finish(false)
	}
}

// forsake lets go of a stream, and reports whether the session has to know: the stream
// is not over, and nobody else reads it.
func (t *talk) forsake(x *stream, turn int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x.turn != turn {
		return false
	}
	t.unread(x)
	lasts := x == t.standing || x == t.duplex
	if x.over && !lasts || !x.ids && x != t.duplex {
		delete(t.streams, x.id)
	}
	return !x.over || lasts
}

// unread says that nobody reads a stream. The caller holds mu.
func (t *talk) unread(x *stream) {
	x.reading = false
	t.drained(x)
}

// drained takes that nothing waits to be read from a stream any more. The caller holds
// mu.
func (t *talk) drained(x *stream) {
	if t.waiting >= maxWaiting {
		go t.tick() // there is room again
	}
	t.waiting -= x.waiting
	x.waiting = 0
}

// take returns what is to be written to a reader that has had so many events.
func (t *talk) take(x *stream, from int) (events []event, over, broken bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	events = x.from(from)
	x.read = max(x.read, from+len(events))
	t.drained(x)
	switch {
	case !x.ids:
		x.drop()
	case x == t.standing:
		t.kept -= x.trim(from)
	}
	return events, x.over, x.broken
}

// taken reports whether another reader has taken the place of one.
func (t *talk) taken(x *stream, turn int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x.turn != turn {
		x.signal() // which was for that one
		return true
	}
	return false
}
