package mock

import (
	"crypto/rand"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A conversation is a session with a client. What has something for it, a request or the
// timer, does all there is to do. Over HTTP each stream is written by the request that it
// is the response to; on stdio a message is written at once.
type conversation struct {
	srv *Server // nil on stdio, and so is rec
	rec *played
	// note gets what there is to say; done is called when it is over.
	note func(replay.Note)
	done func()
	// live is asked for what is not recorded, nil for nothing. lines writes what is
	// played on stdio.
	live  *Live
	lines *lineWriter
	// id is what the client repeats, "" where nothing on the wire names the session;
	// number is that of the live session then. target is where the client began it.
	id     string
	number sessionKey
	target string
	used   atomic.Int64 // when, in nanoseconds since the beginning of the server

	// turn is held beside mu by what may write on stdio, also while it writes, when mu is
	// not: until a client reads, nothing more is taken from it.
	turn sync.Mutex
	mu   sync.Mutex
	// changed says that there is room for a reader's messages again, that there is
	// something for the live server, or that the session is over.
	changed *sync.Cond
	play    *replay.Session
	began   time.Time
	timer   *time.Timer
	armed   bool
	// ended says that the client has ended the session, over that nothing more comes.
	ended, over bool
	// failed is why it is over, if that is an error.
	failed error
	// probe says that the client has asked for the server's versions only, declined that
	// the live server has refused to open the session.
	probe, declined bool

	streams map[replay.Stream]*stream
	last    replay.Stream
	// kept are the streams that can be resumed, oldest first, and keptBytes how many bytes
	// that takes.
	kept      []*stream
	keptBytes int
	// times counts how often a name was given to a stream.
	times    map[string]int
	standing *stream
	duplex   *stream
	// waiting is how many bytes wait for a client to read them.
	waiting int

	// latest is the stream that was given something last. What another one is to get is
	// held until that has been written, but not beyond heldTo: the client must not get it
	// first.
	latest *stream
	held   *replay.Output
	heldTo time.Duration
}

// Limits of what is kept.
const (
	// maxConversations is how many sessions are kept that nothing ended.
	maxConversations = 1024
	// maxWaiting is how many bytes wait for a client that does not read, before nothing
	// more is played to it.
	maxWaiting = 16 << 20
	// maxResumable is how many streams are kept that can be resumed, and maxResumableBytes
	// how many bytes of them.
	maxResumable      = 1024
	maxResumableBytes = 16 << 20
)

// converse begins a session.
func converse(script *replay.Script, live *Live, note func(replay.Note)) *conversation {
	c := &conversation{
		play: script.NewSession(), live: live, note: note, began: time.Now(), streams: map[replay.Stream]*stream{}, times: map[string]int{},
	}
	c.changed = sync.NewCond(&c.mu)
	c.timer, c.armed = time.AfterFunc(time.Hour, c.tick), true
	if live != nil {
		live.c.Store(c)
	}
	return c
}

// begin begins a session over HTTP. The caller holds the lock of the server.
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

// touch notes that a session is being used.
func (s *Server) touch(c *conversation) { c.used.Store(int64(time.Since(s.began))) }

func (c *conversation) now() time.Duration { return time.Since(c.began) }

// tick is called when something is due.
func (c *conversation) tick() { c.act(func() {}) }

// act does something when it is its turn, unless the session is over, and all that follows
// from it. It reports whether the session is over then.
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

// hear takes a message of the client's. The caller holds the lock.
func (c *conversation) hear(in replay.Input) (r replay.Reception) {
	if c.live == nil || !c.live.took(c, in) {
		r = c.play.Receive(c.now(), in)
	}
	return r
}

// pump hands all that is to be written now to the streams, and sets the timer to when
// there will be more. The caller holds the lock.
func (c *conversation) pump() {
	for !c.over && c.waiting < maxWaiting {
		if c.held != nil {
			if c.latest.busy() && c.now() < c.heldTo {
				c.timer.Reset(c.heldTo - c.now())
				c.armed = true
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
			c.wait()
			return
		}
	}
}

// maxHeldUp is how long a stream that its client does not read holds up the others.
const maxHeldUp = 100 * time.Millisecond

// owes reports whether answers of the live server are waited for.
func (c *conversation) owes() bool { return c.live != nil && c.live.owes() }

// wait sets the timer to when something is due.
func (c *conversation) wait() {
	due, any := c.play.Due()
	switch {
	case any:
		c.timer.Reset(max(0, due-c.now()))
	case c.armed:
		c.timer.Stop()
	}
	c.armed = any
}

// put hands what is to be written to its stream. The caller holds the lock.
func (c *conversation) put(out replay.Output) {
	if c.lines != nil {
		c.write(out)
		return
	}
	x := c.streams[out.Stream]
	if x == nil {
		return // no client can come back for it
	}
	if x.live { // only the two servers together know which answer is the last
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
	switch {
	case !out.Last:
	case x.played && !out.Abort && !x.resumable && c.play.Continue(x.id):
		// The client has no id to come back with, so what came then comes here.
	default:
		x.over, x.broken = true, out.Abort
	}
	x.signal()
}

// tell hands a message of the live server to a stream, nil for none. What is no message
// stays out of HTTP. The caller holds the lock.
func (c *conversation) tell(x *stream, raw []byte, kind jsonrpc.Kind) {
	switch {
	case x == nil, kind == jsonrpc.Invalid && c.lines == nil:
	case !x.reading && x.waiting >= maxWaiting: // nothing reads it, for long
	default:
		c.put(replay.Output{Stream: x.id, Raw: raw})
	}
}

// oldest is the stream of the oldest request that is not answered, but for those left out;
// nil if there is none. The caller holds the lock.
func (c *conversation) oldest(leaveOut map[replay.Stream]bool) (first *stream) {
	for id, x := range c.streams {
		if x.reading && !x.over && !x.played && x.owed > 0 && !leaveOut[id] && (first == nil || id < first.id) {
			first = x
		}
	}
	return first
}

// aside is the stream for what belongs to no request, nil where there is none. The caller
// holds the lock.
func (c *conversation) aside() *stream {
	if c.standing == nil && c.id != "" {
		c.standing = c.stream(formEvents)
		c.standing.reading = false
		if c.naming() {
			c.name(c.standing, standingName)
		}
	}
	return c.standing
}

// awaitRoom waits as long as too much waits to be read.
func (c *conversation) awaitRoom() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.waiting >= maxWaiting && !c.over {
		c.changed.Wait()
	}
}

// stream makes a stream. The caller holds the lock.
func (c *conversation) stream(form streamForm) *stream {
	c.last++
	x := &stream{id: c.last, form: form, wake: make(chan struct{}, 1), reading: true}
	c.streams[x.id] = x
	return x
}

// name lets a stream be resumed whose events have no ids. The caller holds the lock.
func (c *conversation) name(x *stream, name string) {
	if c.times[name]++; c.times[name] > 1 {
		name += "." + strconv.Itoa(c.times[name])
	}
	x.name = name
	x.resumable = true
	c.keep(x)
}

// naming reports whether events get ids that have none: where it is not known whether
// they had, and where streams are cut. What a live server adds is not kept, as it may be
// without end.
func (c *conversation) naming() bool { return c.live == nil && (!c.rec.heads || c.srv.opt.Cut > 0) }

// keep keeps a stream for clients that resume it, and drops the oldest that are over where
// there are too many. The caller holds the lock.
func (c *conversation) keep(x *stream) {
	if n := len(c.kept); n == 0 || c.kept[n-1] != x {
		for _, k := range c.kept {
			if k == x {
				return
			}
		}
		c.kept = append(c.kept, x)
	}
	for i := 0; i < len(c.kept) && (c.keptBytes > maxResumableBytes || len(c.kept) > maxResumable); {
		x := c.kept[i]
		if !x.over || x.reading {
			i++
			continue
		}
		c.kept = append(c.kept[:i], c.kept[i+1:]...)
		c.keptBytes -= x.drop()
		delete(c.streams, x.id)
	}
}

// finish ends the session: the streams end too, as if the connection broke if
// abruptly. The caller holds the lock.
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

// end ends the session for the client. What a live server owes is still waited for.
func (c *conversation) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked()
}

// endLocked is end. The caller holds the lock.
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

// leave takes that the client sends nothing more. The caller holds the lock.
func (c *conversation) leave() {
	c.play.End(c.now())
	if c.live != nil {
		c.live.leave(c)
	}
}

// close ends the session, and waits for nobody: the live server, which learns that the
// client has left, has no time to end first.
func (c *conversation) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked()
	c.finish(false)
}

// detach says that a reader does not read a stream any more.
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

// drained takes that nothing waits to be read from a stream any more. The caller holds
// the lock.
func (c *conversation) drained(x *stream) {
	if c.waiting >= maxWaiting {
		go c.tick() // there is room again
		c.changed.Broadcast()
	}
	c.waiting -= x.waiting
	x.waiting = 0
}

// taken is what is to be written to a reader.
type taken struct {
	head         *replay.Response
	pieces       []piece
	over, broken bool
	// gone says that another reader has taken its place.
	gone bool
	// wake says that there may be more.
	wake <-chan struct{}
}

// take returns what is to be written to a reader that has had a number of pieces.
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
