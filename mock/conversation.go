package mock

import (
	"crypto/rand"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A conversation is a session with a client. Over HTTP each stream is written by the handler of
// the request that it answers. On stdio a message is written immediately.
type conversation struct {
	srv  *Server // nil on stdio, as is rec
	rec  *played
	note func(replay.Note)
	done func()      // called when it is over
	live *Live       // gets messages that are not recorded, nil for none
	out  *lineWriter // on stdio
	// id is the session id, "" if the client does not name its session. Then number identifies it.
	id     string
	number sessionKey
	target string       // the target of the request that began it
	used   atomic.Int64 // when it was last used, in nanoseconds since the start of the server

	// turn is held together with mu by code that may write on stdio. It stays held while mu is
	// released for the write, so that nothing more is read from a client that does not read.
	turn sync.Mutex
	mu   sync.Mutex
	// changed signals room for messages to a reader, a message for the live server, or the
	// end of the session.
	changed *sync.Cond
	play    *replay.Session
	began   time.Time
	timer   *time.Timer
	ended   bool  // the client has ended the session
	over    bool  // nothing more is sent
	failed  error // why it is over, nil for no error
	// probe reports that the client has only sent server/discover, declined that the live server
	// refused to open the session.
	probe, declined bool

	streams   map[replay.Stream]*stream
	last      replay.Stream
	kept      []*stream // those that can be resumed, oldest first
	keptBytes int
	times     map[string]int // how many streams were given a name
	standing  *stream
	duplex    *stream
	waiting   int // bytes that clients have not read

	// latest is the stream of the last output. Output for another stream is held until that
	// output has been written, but not beyond heldTo, so that clients get them in order.
	latest *stream
	held   *replay.Output
	heldTo time.Duration
}

const (
	maxConversations  = 1024                   // open sessions
	maxWaiting        = 16 << 20               // unread bytes before playing stops
	maxResumable      = 1024                   // streams kept for resuming
	maxResumableBytes = 16 << 20               // and their bytes
	maxHeldUp         = 100 * time.Millisecond // how long an unread stream delays others
)

// converse starts a session.
func converse(script *replay.Script, live *Live, note func(replay.Note)) *conversation {
	c := &conversation{
		play: script.NewSession(), live: live, note: note, began: time.Now(), streams: map[replay.Stream]*stream{}, times: map[string]int{},
	}
	c.changed = sync.NewCond(&c.mu)
	c.timer = time.AfterFunc(time.Hour, c.tick)
	if live != nil {
		live.c.Store(c)
	}
	return c
}

// begin starts a session over HTTP. The caller holds the server's lock.
func (s *Server) begin(rec *played, named bool) *conversation {
	c := converse(rec.Script, s.opt.Live, s.opt.Note)
	c.srv, c.rec = s, rec
	c.done = func() {
		s.opt.Over(c.play)
		go s.drop(c)
	}
	s.touch(c)
	if named {
		c.id = rand.Text()
		s.byID[c.id] = c
	}
	if c.live != nil {
		s.only = c
	}
	s.played[rec]++
	for k := range s.refused {
		if k.why == replay.NoCredentials {
			delete(s.refused, k) // the next client is refused as the recorded one was
		}
	}
	s.open[c] = struct{}{}
	if len(s.open) > maxConversations {
		var old *conversation
		for c := range s.open {
			if old == nil || c.used.Load() < old.used.Load() {
				old = c
			}
		}
		s.forget(old)
		go old.close()
	}
	return c
}

// touch marks a session as used.
func (s *Server) touch(c *conversation) { c.used.Store(int64(time.Since(s.began))) }

func (c *conversation) now() time.Duration { return time.Since(c.began) }

// tick is called by the timer.
func (c *conversation) tick() { c.act(func() {}) }

// act calls do, unless the session is over, and writes what results from it. It reports whether
// the session is over afterwards.
func (c *conversation) act(do func()) (over bool) {
	c.turn.Lock()
	defer c.turn.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		do()
	}
	c.pump()
	return c.over
}

// accept handles a client message. The caller holds the lock.
func (c *conversation) accept(in replay.Input) (r replay.Reception) {
	if c.live == nil || !c.live.accepts(c, in) {
		r = c.play.Receive(c.now(), in)
	}
	return r
}

// pump passes due output to the streams and sets the timer for the rest. The caller holds the
// lock.
func (c *conversation) pump() {
	for !c.over && c.waiting < maxWaiting {
		if c.held != nil {
			if c.latest.busy() && c.now() < c.heldTo {
				c.timer.Reset(c.heldTo - c.now())
				return
			}
			c.put(*c.held)
			c.held = nil
			continue
		}
		out, ok := c.play.Next(c.now())
		for _, n := range c.play.Notes() {
			c.note(n)
		}
		switch {
		case ok && out.Leave && !c.owes():
			c.finish(out.Abort)
		case ok && c.latest != nil && c.latest.id != out.Stream && c.latest.busy():
			c.held, c.heldTo = &out, c.now()+maxHeldUp
		case ok:
			c.put(out)
		case (c.play.Done() || c.ended) && !c.owes():
			c.finish(false)
		default:
			if due, any := c.play.Due(); any {
				c.timer.Reset(max(0, due-c.now()))
			} else {
				c.timer.Stop()
			}
			return
		}
	}
}

// owes reports whether the live server owes responses.
func (c *conversation) owes() bool { return c.live != nil && c.live.owes() }

// put passes an output to its stream. The caller holds the lock.
func (c *conversation) put(out replay.Output) {
	if c.out != nil {
		c.write(out)
		return
	}
	x := c.streams[out.Stream]
	if x == nil {
		return // the client cannot resume it
	}
	if x.live { // both servers respond, so only this count identifies the last response
		m := jsonrpc.Peek(out.Raw)
		for part := range m.All {
			if isResponse(part) {
				x.owed--
			}
		}
		out.Last = x.owed <= 0
	}
	c.latest = x
	n := x.put(out)
	if x.waiting += n; x.reading {
		c.waiting += n
	}
	if x.resumable {
		c.keep(x)
		c.keptBytes += n
	}
	// If the client has no event id with which to resume a played stream, what the recorded
	// client got when it resumed the stream is sent on the same stream.
	if out.Last && (!x.played || out.Abort || x.resumable && !out.Left || !c.play.Continue(x.id)) {
		x.over, x.broken = true, out.Abort
	}
	x.signal()
}

// forward passes a message of the live server to a stream, which may be nil. Over HTTP it drops
// frames that are not messages. The caller holds the lock.
func (c *conversation) forward(x *stream, raw []byte, kind jsonrpc.Kind) {
	switch {
	case x == nil, kind == jsonrpc.Invalid && c.out == nil:
	case !x.reading && x.waiting >= maxWaiting: // no client has read it for a long time
	default:
		c.put(replay.Output{Stream: x.id, Raw: raw})
	}
}

// oldest returns the stream of the oldest open request that is not in leaveOut, nil for none. The
// caller holds the lock.
func (c *conversation) oldest(leaveOut map[replay.Stream]bool) (first *stream) {
	for id, x := range c.streams {
		if x.reading && !x.over && !x.played && x.owed > 0 && !leaveOut[id] && (first == nil || id < first.id) {
			first = x
		}
	}
	return first
}

// general returns the stream for messages that belong to no request, nil for none. The caller
// holds the lock.
func (c *conversation) general() *stream {
	if c.standing == nil && c.id != "" {
		c.openStanding()
		c.standing.reading = false
	}
	return c.standing
}

// openStanding creates the standing stream. The caller holds the lock.
func (c *conversation) openStanding() {
	c.standing = c.stream(formEvents)
	if c.naming() {
		c.name(c.standing, "0")
	}
}

// awaitRoom waits while there is too much unread output.
func (c *conversation) awaitRoom() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.waiting >= maxWaiting && !c.over {
		c.changed.Wait()
	}
}

// stream creates a stream. The caller holds the lock.
func (c *conversation) stream(form streamForm) *stream {
	c.last++
	x := &stream{id: c.last, form: form, wake: make(chan struct{}, 1), reading: true}
	c.streams[x.id] = x
	return x
}

// name gives ids to the events of a stream, so that it can be resumed. The caller holds the lock.
func (c *conversation) name(x *stream, name string) {
	if c.times[name]++; c.times[name] > 1 {
		name += "." + strconv.Itoa(c.times[name])
	}
	x.name = name
	x.resumable = true
	c.keep(x)
}

// naming reports whether events without an id get one: if it is unknown whether they had one, or
// if streams are cut. Streams with a live server are not kept, as they may be endless.
func (c *conversation) naming() bool { return c.live == nil && (!c.rec.heads || c.srv.opt.Cut > 0) }

// keep stores a stream for resuming, and drops the oldest finished streams if there are too many.
// The caller holds the lock.
func (c *conversation) keep(x *stream) {
	if !slices.Contains(c.kept, x) {
		c.kept = append(c.kept, x)
	}
	for i := 0; i < len(c.kept) && (c.keptBytes > maxResumableBytes || len(c.kept) > maxResumable); {
		x := c.kept[i]
		if !x.over || x.reading {
			i++
			continue
		}
		c.kept = slices.Delete(c.kept, i, i+1)
		c.keptBytes -= x.drop()
		delete(c.streams, x.id)
	}
}

// finish ends the session and its streams. If abruptly is set, the streams end as if the
// connection broke. The caller holds the lock.
func (c *conversation) finish(abruptly bool) {
	if c.over {
		return
	}
	c.timer.Stop()
	if c.live != nil {
		c.live.over(c)
	}
	c.over = true
	c.changed.Broadcast()
	for _, x := range c.streams {
		x.broken = x.broken || abruptly && !x.over
		x.over = true
		x.signal()
	}
	c.done()
}

// end ends the session on behalf of the client. Responses that a live server owes are still sent.
func (c *conversation) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked()
}

// endLocked is end for a caller that holds the lock.
func (c *conversation) endLocked() {
	if c.over {
		return
	}
	c.leave()
	c.ended = true
	c.pump()
	if !c.owes() {
		c.finish(false)
	}
}

// leave handles the end of the client's lane. The caller holds the lock.
func (c *conversation) leave() {
	c.play.End(c.now())
	if c.live != nil {
		c.live.leave(c)
	}
}

// close ends the session immediately.
func (c *conversation) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked()
	c.finish(false)
}

// detach handles that a reader no longer reads a stream.
func (c *conversation) detach(x *stream, turn int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x.turn != turn {
		return
	}
	x.reading = false
	c.drained(x)
	lasts := x == c.standing || x == c.duplex
	if !x.resumable && !lasts {
		delete(c.streams, x.id)
	}
	switch {
	case c.over:
		return
	case x.over && !lasts:
		if c.held != nil {
			c.pump()
		}
		return
	}
	c.play.Detach(c.now(), x.id)
	if c.live != nil {
		c.live.hungUp(x)
	}
	c.pump()
	if x == c.duplex {
		c.finish(false)
	}
}

// drained marks a stream as read. The caller holds the lock.
func (c *conversation) drained(x *stream) {
	if c.waiting >= maxWaiting {
		go c.tick() // there is room again
		c.changed.Broadcast()
	}
	c.waiting -= x.waiting
	x.waiting = 0
}

// A taken is what a reader must write.
type taken struct {
	head         *replay.Response
	pieces       []piece
	over, broken bool
	gone         bool            // another reader has replaced this one
	wake         <-chan struct{} // receives when there may be more
}

// take returns what a reader must write that has already written from pieces.
func (c *conversation) take(x *stream, from, turn int) taken {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x.turn != turn {
		return taken{gone: true}
	}
	t := taken{head: x.head, pieces: x.from(from), over: x.over, broken: x.broken, wake: x.wake}
	x.read = max(x.read, from+len(t.pieces))
	x.writing = len(t.pieces) > 0 || x.over
	c.drained(x)
	switch {
	case !x.resumable:
		x.drop()
	case x == c.standing:
		c.keptBytes -= x.trim(from)
	}
	if c.held != nil {
		c.pump()
	}
	return t
}
