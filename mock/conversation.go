package mock

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcptap/mcptap/replay"
)

// A conversation is a session with a client over HTTP. What has something for it, a
// request or the timer, does all there is to do; each stream is written by the request
// that it is the response to.
type conversation struct {
	srv *Server
	rec *played
	// id is what the client repeats, "" where nothing on the wire names the session;
	// number is that of the live session then. target is where the client began it.
	id     string
	number liveSession
	target string
	// pages says that it plays what belongs to no session.
	pages bool
	used  atomic.Int64 // when, in nanoseconds since the beginning of the server

	mu    sync.Mutex
	play  *replay.Session
	began time.Time
	timer *time.Timer
	armed bool
	over  bool
	// failed is why it is over, if that is an error.
	failed error
	// probe says that the client has asked for the server's versions only.
	probe bool

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

// begin begins a session. The caller holds the lock of the server.
func (s *Server) begin(rec *played, named bool) *conversation {
	c := &conversation{
		srv: s, rec: rec, play: rec.NewSession(), began: time.Now(), streams: map[replay.Stream]*stream{}, times: map[string]int{},
	}
	s.touch(c)
	c.timer = time.AfterFunc(time.Hour, c.tick)
	c.armed = true
	if named {
		c.id = rand.Text()
		s.byID[c.id] = c
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
		go old.end()
	}
	return c
}

// touch notes that a session is being used.
func (s *Server) touch(c *conversation) { c.used.Store(int64(time.Since(s.began))) }

func (c *conversation) now() time.Duration { return time.Since(c.began) }

// tick is called when something is due.
func (c *conversation) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pump()
}

// pump hands all that is to be written now to the streams, and sets the timer to when
// there will be more. The caller holds the lock.
func (c *conversation) pump() {
	for !c.over && c.waiting < maxWaiting {
		out, ok, err := c.play.Next(c.now())
		for _, n := range c.play.Notes() {
			c.srv.opt.Note(n)
		}
		switch {
		case err != nil:
			c.fail(err)
		case ok && out.Leave:
			c.finish(true)
		case ok:
			c.put(out)
		case c.play.Done():
			c.finish(false)
		default:
			c.wait()
			return
		}
	}
}

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
	x := c.streams[out.Stream]
	if x == nil {
		return // no client can come back for it
	}
	n := x.put(out)
	if x.reading {
		x.waiting += n
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
// they had, and where streams are cut.
func (c *conversation) naming() bool { return !c.rec.heads || c.srv.opt.Cut > 0 }

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
	c.over = true
	for _, x := range c.streams {
		x.broken = x.broken || abruptly && !x.over
		x.over = true
		x.signal()
	}
	if !c.pages {
		c.srv.opt.Over(c.play)
	}
	go c.srv.drop(c)
}

// end ends the session for the client.
func (c *conversation) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.play.End(c.now())
	c.pump()
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
	if c.over || x.over && !lasts {
		return
	}
	c.play.Detach(c.now(), x.id)
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
}

// take returns what is to be written to a reader that has had a number of pieces.
func (c *conversation) take(x *stream, from, turn int) taken {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x.turn != turn {
		x.signal() // which was for that one
		return taken{gone: true}
	}
	t := taken{head: x.head, pieces: x.from(from), over: x.over, broken: x.broken}
	x.read = max(x.read, from+len(t.pieces))
	c.drained(x)
	switch {
	case !x.resumable:
		x.drop()
	case x == c.standing:
		c.keptBytes -= x.trim(from)
	}
	return t
}

// unreadable says why a session came to its end.
const unreadable = "the recording cannot be read any more: "

// failure is the answer to a request whose answer cannot be read; id is the request's as
// it stands, nil for none.
func failure(id []byte, err error) []byte {
	text, e := json.Marshal("mcptap mock: " + unreadable + err.Error())
	if e != nil { // a string: cannot happen
		panic(e)
	}
	if len(id) == 0 {
		id = []byte("null")
	}
	return []byte(`{"jsonrpc":"2.0","error":{"code":-32603,"message":` + string(text) + `},"id":` + string(id) + `}`)
}

// fail ends the session since the recording cannot be read. Each request without a
// response gets an error. The caller holds the lock.
func (c *conversation) fail(err error) {
	c.failed = err
	c.srv.opt.Note(replay.Note{Kind: replay.NoteMiss, Text: unreadable + err.Error()})
	for _, owed := range c.play.Owed() {
		out := replay.Output{Stream: owed.Stream, Raw: failure(owed.ID, err)}
		if x := c.streams[owed.Stream]; x != nil && x != c.duplex {
			out.Last = true
			if x.base+len(x.pieces) == 0 && x.head == nil && x.form == formUnknown {
				out.Status = http.StatusInternalServerError
				x.played = false
			}
		}
		c.put(out)
	}
	c.finish(true)
}
