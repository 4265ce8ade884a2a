package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// What is waited for unless [Options] say otherwise.
const (
	DefaultTimeout  = 30 * time.Second
	DefaultPatience = 2 * time.Second
)

// Options say how a plan is played. The zero value is good.
type Options struct {
	// Pace is how much of the recorded time passes before the client says the next
	// thing. Brisk leaves out all but some milliseconds.
	Pace replay.Pace
	// Timeout is how much longer than in the recording an answer may take.
	Timeout time.Duration
	// Patience is how long something that is no answer, and had come before the
	// client went on, is waited for. It is halved each time that it is in vain.
	Patience time.Duration
	// Revision is the one to speak, "" for the recorded one.
	Revision jsonrpc.Revision
	// Edit, if it is not nil, makes of a recorded request of a call the one to be sent.
	Edit func(call session.Ref, request []byte) []byte
	// Note is told what could not be done as recorded. It is called by the goroutine
	// that called Play. Nil is nobody.
	Note func(Note)
}

// ErrRevision says that the recorded session cannot be spoken in another revision.
var ErrRevision = errors.New("a session of the 002 dialect cannot be spoken in another revision")

// linger is how long the client stays on after all else, for what the server says by
// itself: as long as the recorded one did, if that is known, but no longer.
const linger = 100 * time.Millisecond

// holdBack is how long nothing happens before the server gets an answer although it
// asked earlier than in the recording.
const holdBack = 300 * time.Millisecond

// A player is a plan being played.
type player struct {
	plan   *Plan
	opt    Options
	conn   Conn
	ctx    context.Context
	events chan Event

	at      int // the step
	last    time.Duration
	gone    error // nothing can be sent any more
	spoken  bool  // the server has said something
	silence int   // requests that were not answered in time since it did
	barred  error // what keeps the session from being opened
	fresh   int64
	asks    []progress
	waits   map[session.Ref]int  // how many requests of a call wait
	flights map[string][]*flight // those that wait, by their ids (see idKey)
	values  liveValues
	due     map[news]int           // what is to be heard by now, less what was
	behind  int                    // how many of those there are
	tokens  map[string]session.Ref // calls, by their progress tokens
	patient time.Duration
	pool    *pool
	chains  map[session.Ref]*chain
	target  target
	ended   map[string]bool // tasks that have ended
}

// A progress is how far a recorded request is.
type progress uint8

const (
	unsent progress = iota
	waiting
	answered
	skipped
	failed
)

// A flight is a request that was sent and may be answered.
type flight struct {
	id     string
	method string
	out    *Outgoing // the message that it was sent in
	ask    int       // -1 for one that was not recorded
	rounds int       // input_required results so far
	over   bool
	// acknowledged says that it is a subscription which has begun.
	acknowledged bool

	result []byte // of one that was not recorded
	code   string
}

// Play plays a plan to the server at the other end of a connection, and returns when
// all was said and the connection is closed. Whatever the server does is no error,
// but for one that cannot be reached at all, or refuses by the status of HTTP to open
// a session as the recorded one did: that is a [ReachError] if it is at a URL.
func Play(ctx context.Context, plan *Plan, conn Conn, opt Options) error {
	if opt.Timeout <= 0 {
		opt.Timeout = DefaultTimeout
	}
	if opt.Patience <= 0 {
		opt.Patience = DefaultPatience
	}
	if opt.Note == nil {
		opt.Note = func(Note) {}
	}
	p := &player{
		plan: plan, opt: opt, conn: conn, events: make(chan Event, 64), fresh: plan.fresh,
		asks: make([]progress, len(plan.asks)), flights: map[string][]*flight{}, values: liveValues{}, waits: map[session.Ref]int{}, due: map[news]int{}, tokens: map[string]session.Ref{},
		patient: opt.Patience, chains: map[session.Ref]*chain{}, ended: map[string]bool{},
	}
	p.pool = newPool(plan)
	if err := p.target.begin(plan, opt.Revision); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.ctx = ctx
	if err := conn.Open(ctx, p.events); err != nil {
		return asReachError(err)
	}
	err := p.play()
	p.finish()
	if err == nil && p.barred != nil {
		err = asReachError(p.barred)
	}
	return err
}

// play goes through the steps.
func (p *player) play() error {
	for p.at = range p.plan.steps {
		s := &p.plan.steps[p.at]
		if err := p.ctx.Err(); err != nil {
			return err
		}
		if p.batched(s) && p.at > 0 && p.plan.steps[p.at-1].ref.Seq == s.ref.Seq {
			continue // it was sent with the first of its batch
		}
		if (s.kind == stepSend || p.batched(s)) && p.gone == nil {
			p.pace(s) // if the server goes meanwhile, this is among the rest
		}
		if p.barred != nil {
			return nil
		}
		if p.gone != nil {
			p.rest()
			return nil
		}
		if err := p.step(s); err != nil {
			return fmt.Errorf("frame %d: %w", s.ref.Seq, err)
		}
		p.last = s.at
	}
	p.catchUp()
	if n := len(p.plan.steps); n == 0 || p.plan.steps[n-1].kind != stepEnd {
		p.until(func() bool { return false }, linger)
	}
	return p.ctx.Err()
}

// step does what the client did, or waits for what had come.
func (p *player) step(s *step) error {
	if p.batched(s) {
		return p.sendBatch(s)
	}
	switch s.kind {
	case stepSend:
		return p.send(s)
	case stepAnswer:
		p.awaitQuestion(s)
		return p.release()
	case stepAwait:
		p.await(s)
	case stepHear:
		if p.target.hears(s) {
			p.expect(s)
		}
	case stepHangUp:
		if p.plan.asks[s.ask].answer == (session.Ref{}) { // else it came on another stream
			p.pace(s)
			p.abandon(s.ask)
		}
	case stepEnd:
		p.catchUp()
		p.until(func() bool { return false }, min(linger, max(0, s.at-p.last)))
		p.conn.CloseSend()
	}
	return nil
}

// awaitQuestion waits until the server asks what the client is to answer.
func (p *player) awaitQuestion(s *step) {
	p.pool.free = false
	q := p.pool.at(s.question)
	if q.method == "ping" {
		p.catchUp() // servers ping by the clock, so it may not come
		return
	}
	p.until(func() bool { return q.asked > 0 || p.closed(q.within) }, p.patient)
}

// pace waits for what had come before the client went on, and then for as much of
// the recorded time as the pace says.
func (p *player) pace(s *step) {
	p.catchUp()
	gap := p.opt.Pace.Gap(s.at - p.last)
	if s.method == "tasks/get" && p.opt.Pace != replay.Instant {
		gap = max(gap, min(s.at-p.last, longestPoll))
	}
	p.until(func() bool { return false }, gap)
}

// await waits for the answer to a request.
func (p *player) await(s *step) {
	a := &p.plan.asks[s.ask]
	settled := func() bool { return p.asks[s.ask] != waiting }
	limit := a.took + p.opt.Timeout
	if a.method == "subscriptions/listen" {
		// It ends when the server wants, which may be that the client leaves.
		if p.more() {
			p.until(settled, p.patient)
		}
		return
	}
	if !p.until(settled, limit) {
		if p.ctx.Err() != nil || p.gone != nil {
			return
		}
		p.set(s.ask, failed)
		p.timedOut(a, limit)
	}
	p.seeThrough(s.ask)
}

// until handles what comes until it is done, or for so long. It reports whether it
// is done.
func (p *player) until(done func() bool, limit time.Duration) bool {
	if limit <= 0 && done() {
		return true
	}
	timer := time.NewTimer(max(0, limit))
	defer timer.Stop()
	for !done() && p.gone == nil {
		var hold <-chan time.Time
		if len(p.pool.held) > 0 {
			hold = time.After(holdBack)
		}
		select {
		case e := <-p.events:
			p.handle(e)
		case <-timer.C:
			return done()
		case <-hold:
			p.pool.free = true // the server waits for something else first than in the recording
			_ = p.release()
		case <-p.ctx.Done():
			return false
		}
	}
	return done()
}

// finish ends the connection.
func (p *player) finish() {
	stop := make(chan struct{})
	go func() { // whoever still has something to tell must not wait for ever
		for {
			select {
			case <-p.events:
			case <-stop:
				return
			}
		}
	}()
	killed := p.conn.Close()
	close(stop)
	if killed != "" && p.ctx.Err() == nil {
		p.opt.Note(Note{Kind: NoteKilled, Text: "the server did not end when its input did, and was sent " + killed})
	}
}
