package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// The defaults of [Options].
const (
	DefaultTimeout  = 30 * time.Second
	DefaultPatience = 2 * time.Second
)

// Options control how a plan is played. The zero value is valid.
type Options struct {
	// Pace determines how much of the recorded time passes before the next client message.
	Pace replay.Pace
	// Timeout is how much longer than in the recording a response may take; 0 means
	// [DefaultTimeout].
	Timeout time.Duration
	// Patience is how long to wait for a message other than a response that had arrived
	// before the recorded client continued; 0 means [DefaultPatience]. Each wait without success
	// halves it.
	Patience time.Duration
	// Revision is the protocol revision to use, "" for the recorded one.
	Revision jsonrpc.Revision
	// Edit, if not nil, returns what to send for a recorded request of a call. It is called with
	// the recorded request and, if live values replace recorded ones, again with the result.
	Edit func(call, message session.Ref, request []byte) []byte
	// Note, if not nil, is called for everything that could not be done as recorded, on the
	// goroutine that called [Play].
	Note func(Note)
}

// errRevision reports that a session cannot be played in another revision.
var errRevision = errors.New("a session of the 002 dialect cannot be played in another revision")

// linger is the maximum time that the client stays after its last step, for unsolicited messages
// of the server.
const linger = 100 * time.Millisecond

// holdBack is how long the session must be idle before a server request is answered earlier than
// in the recording.
const holdBack = 300 * time.Millisecond

// A player plays a plan.
type player struct {
	plan   *Plan
	opt    Options
	conn   Conn
	ctx    context.Context
	events chan Event

	at       int // the current step
	last     time.Duration
	gone     error // why nothing more can be sent
	spoken   bool  // the server has sent something
	silence  int   // the requests that timed out since the last message of the server
	barred   error // why the session cannot be opened
	fresh    int64
	progress []progress            // of the recorded requests
	waits    map[session.Ref]int   // the number of open requests of a call
	open     map[string][]*pending // the open requests by id (see idKey)
	values   liveValues
	due      map[news]int           // the number of messages that should have arrived by now
	tokens   map[string]session.Ref // calls by progress token
	patient  time.Duration
	pool     *pool
	chains   map[session.Ref]*chain
	target   target
	ended    map[string]bool // the tasks that have ended
	cursors  map[int][]byte  // the JSON cursors of lists with more pages than recorded, by request
}

// A progress is the state of a recorded request.
type progress uint8

const (
	unsent progress = iota
	waiting
	answered
	skipped
	failed
)

// A pending is a request that was sent.
type pending struct {
	id           string
	method       string
	out          *Outgoing // the message with which it was sent
	request      int       // the recorded request, -1 for none
	sent         time.Time // of a recorded one
	rounds       int       // the number of input_required results so far
	over         bool      // it has a response, or will have none
	acknowledged bool      // it is a subscription that has begun
	result       []byte    // of one that was not recorded
}

// Play plays a plan to the server of a connection and closes the connection. It returns an error
// if the server cannot be reached, or refuses to open a session that the recorded server opened.
// For a server at a URL that is a [ReachError]. Everything else is noted.
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
		plan: plan, opt: opt, conn: conn, events: make(chan Event, 64), fresh: plan.fresh, pool: newPool(plan),
		progress: make([]progress, len(plan.requests)), open: map[string][]*pending{}, values: liveValues{}, waits: map[session.Ref]int{},
		due: map[news]int{}, tokens: map[string]session.Ref{}, patient: opt.Patience, chains: map[session.Ref]*chain{}, ended: map[string]bool{}, cursors: map[int][]byte{},
	}
	if err := p.target.begin(plan, opt.Revision); err != nil {
		return err
	}
	if c, ok := conn.(*httpConn); ok {
		c.keeps = plan.http && !plan.sse && !plan.deletes
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.ctx = ctx
	if err := conn.Open(ctx, p.events); err != nil {
		return err
	}
	err := p.play()
	p.finish()
	return cmp.Or(err, p.barred)
}

// play plays the steps.
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
			p.pace(s) // if the server goes away meanwhile, this step is not sent
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
		p.wait(linger)
	}
	return p.ctx.Err()
}

// step repeats an action of the client, or waits for what had arrived.
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
	case stepReceive:
		if p.target.expects(s) {
			p.expect(s)
		}
	case stepHangUp:
		if p.plan.requests[s.request].answer == (session.Ref{}) { // otherwise it came on another stream
			p.pace(s)
			p.outlast(s)
			p.abandon(s.request)
		}
	case stepDelete:
		p.pace(s)
		if c, ok := p.conn.(*httpConn); ok {
			c.endSession()
		}
	case stepEnd:
		p.catchUp()
		p.wait(min(linger, max(0, s.at-p.last)))
		p.conn.CloseSend()
	}
	return nil
}

// awaitQuestion waits until the server sends the request that the client answers next.
func (p *player) awaitQuestion(s *step) {
	p.pool.free = false
	q := &p.pool.all[s.question]
	if q.method == "ping" {
		p.catchUp() // servers ping periodically, so it may not come
		return
	}
	p.until(func() bool { return q.asked > 0 || p.closed(q.within) }, p.patient)
}

// pace waits for what had arrived before the client continued, and then for as much of the
// recorded time as the pace requires.
func (p *player) pace(s *step) {
	p.catchUp()
	gap := p.opt.Pace.Gap(s.at - p.last)
	if s.method == "tasks/get" && p.opt.Pace != replay.Instant {
		gap = max(gap, min(s.at-p.last, longestPoll))
	}
	p.wait(gap)
}

// outlast waits for the response to a request as long as the recorded client did before it
// cancelled the request, so that a server that has been fixed can respond.
func (p *player) outlast(s *step) {
	r := &p.plan.requests[s.request]
	if f := p.pending(s.request); f != nil && r.method != methodListen {
		limit := min(s.at-r.at, p.opt.Timeout) - time.Since(f.sent)
		p.until(func() bool { return p.progress[s.request] != waiting }, limit)
	}
}

// await waits for the response to a request.
func (p *player) await(s *step) {
	a := &p.plan.requests[s.request]
	settled := func() bool { return p.progress[s.request] != waiting }
	limit := a.took + p.opt.Timeout
	if a.method == methodListen {
		// It may not end until the client leaves.
		if p.more() {
			p.until(settled, p.patient)
		}
		return
	}
	if s.role == session.RoleLate { // the live server may respect the cancellation
		if !p.until(settled, p.patient) {
			p.patient /= 2
		}
		return
	}
	if a.answer == (session.Ref{}) { // it was not answered in the recording either
		p.until(settled, limit)
		return
	}
	if !p.until(settled, limit) {
		if p.ctx.Err() != nil || p.gone != nil {
			return
		}
		p.set(s.request, failed)
		p.timedOut(a, limit)
	}
	p.finishTask(s.request)
	p.finishList(s.request)
}

// wait handles events for a time.
func (p *player) wait(d time.Duration) { p.until(func() bool { return false }, d) }

// until handles events until done reports true or the time is up. It returns what done reports.
func (p *player) until(done func() bool, limit time.Duration) bool {
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
			p.pool.free = true // the server waits for answers in another order than recorded
			_ = p.release()
		case <-p.ctx.Done():
			return false
		}
	}
	return done()
}

// finish closes the connection.
func (p *player) finish() {
	stop := make(chan struct{})
	go func() { // the connection must not block on its last events
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
		p.opt.Note(Note{Kind: NoteKilled, Text: "the server did not exit when its input ended, and was sent " + killed})
	}
}
