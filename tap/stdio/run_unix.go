//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcptap/mcptap/tap"
)

const (
	// procs is how many Ps Run wants. A goroutine that comes back from a
	// blocking system call needs one; where there are fewer than pumps, each
	// read waits for the runtime to notice (24 times slower with one).
	procs = 8
	// tick is how often the lanes of a server that has ended are looked at.
	tick = 10 * time.Millisecond
)

// quiet is how long the output of a server that has ended must rest before the
// run is over, where somebody else still holds it open. See the package comment.
var quiet = 100 * time.Millisecond

// Run starts the server, forwards until it is over and returns the status that
// the tap must exit with. It prints nothing: err, where there is one, is for
// the caller to print, and code is to be returned all the same.
//
// Call it from the main goroutine. On Linux the server dies with the thread
// that started it, which Run keeps to itself until it returns. Signals stay
// caught afterwards, so that one that comes late does not change the status.
func Run(cfg Config) (code int, err error) {
	if len(cfg.Command) == 0 {
		return ExitOwnFailure, errNoCommand
	}
	sigs := make(chan os.Signal, 256)
	return runWith(cfg, sigs, func() { catchSignals(sigs) })
}

// runWith is Run with what catches the signals.
func runWith(cfg Config, sigs <-chan os.Signal, catch func()) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The recorder's memory may be mapped from a file, see pump.run.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))

	client := clientSide(&cfg)
	// Beside the spawn, as the runtime takes longer over the signals than the
	// system over a process. The package comment says what becomes of those that
	// come before.
	caught := make(chan struct{})
	go func() {
		defer close(caught)
		catch()
	}()
	srv, failure := spawn(cfg.Command, !mayStepOut(client[0]))
	if failure != nil {
		<-caught
		return spawnFailed(&cfg, failure)
	}
	if !srv.ownGroup {
		// The server has the process group that it would have had. The tap
		// leaves it, so that whoever signals the group reaches the server once.
		stepOut()
	}
	rec := cfg.recorder(srv.pid)
	dir, _ := os.Getwd()
	rec.Event(0, tap.Event{Name: tap.EventStart, Transport: "stdio", Command: cfg.Command, Dir: dir, PID: srv.pid})
	if cfg.Started != nil {
		<-caught // who is told of a server may send it signals
		cfg.Started(srv.pid)
	}
	r := newRun(rec, client, srv)
	r.pumps[0].start()
	// Whoever has seen something of the server may count on its getting signals.
	<-caught
	go srv.relay(sigs, rec)
	r.pumps[1].start()
	r.pumps[2].start()
	if runtime.GOMAXPROCS(0) < procs { // it takes a while, so not earlier
		runtime.GOMAXPROCS(procs)
	}
	srv.awaitExit()
	return r.finish(), nil
}

// clientSide returns the three descriptors of the client's side.
func clientSide(cfg *Config) [3]fd {
	side := [3]fd{fd(cfg.Stdin), fd(cfg.Stdout), fd(cfg.Stderr)}
	for i, f := range side {
		if f == 0 {
			side[i] = fd(i)
		}
	}
	return side
}

// spawnFailed records that there is no server.
func spawnFailed(cfg *Config, err *spawnError) (int, error) {
	code := err.code()
	cfg.recorder(0).Event(0, tap.Event{Name: tap.EventSpawnFailed, Transport: "stdio",
		Command: cfg.Command, Code: &code, Error: err.Err.Error()})
	return code, err
}

// A run is one server with its three lanes.
type run struct {
	rec   tap.Recorder
	srv   *server
	over  atomic.Bool
	pumps [3]*pump // in, out, err
	wait  stall    // of the receivers of out and err, once the server has ended
}

func newRun(rec tap.Recorder, client [3]fd, srv *server) *run {
	r := &run{rec: rec, srv: srv}
	r.pumps = [3]*pump{
		{lane: tap.ToServer, src: client[0], dst: srv.stdin,
			atEOF: srv.stdin.close,
			// The client must find nobody listening, as it would without us.
			atBroken: func() { client[0].release(); srv.stdin.close() }},
		{lane: tap.ToClient, src: srv.stdout, dst: client[1],
			atEOF: client[1].release,
			// The server's next write must fail, as it would without us.
			atBroken: srv.stdout.close},
		{lane: tap.Stderr, src: srv.stderr, dst: client[2],
			// The tap's own stderr stays open: it may have a failure to report.
			atEOF:    func() {},
			atBroken: srv.stderr.close},
	}
	for _, p := range r.pumps {
		p.rec, p.over = rec, &r.over
	}
	return r
}

// finish is called when the server has ended. It sees its output through,
// takes the recorder away from the pumps, and returns the status.
func (r *run) finish() int {
	status := r.srv.reap()
	r.wait.limited = r.srv.wasAsked(time.Now())
	r.drain()
	// What the client was sending fails at once, unless somebody else still
	// holds the server's stdin: that write may block for ever.
	in := r.pumps[0]
	for wait := quiet; wait > 0 && in.state.Load() == stateWriting; wait -= tick {
		time.Sleep(tick)
	}
	r.over.Store(true)
	for _, p := range r.pumps {
		for r.holdsUp(p) {
			time.Sleep(time.Millisecond)
			r.lookForStall()
		}
	}
	r.noteUnread()
	code := status.ExitStatus()
	e := tap.Event{Name: tap.EventExit, Code: &code}
	if status.Signaled() {
		code = 128 + int(status.Signal())
		e.Signal = signalName(status.Signal())
	}
	r.rec.Event(0, e)
	return code
}

// holdsUp reports whether the run cannot end yet because of p.
func (r *run) holdsUp(p *pump) bool {
	switch p.state.Load() {
	case stateRecording:
		// The recorder may be waiting for the store: that is the backpressure which
		// loses nothing.
		return true
	case stateWriting:
		return p.lane != tap.ToServer && !r.srv.hurry.Load()
	}
	return false
}

// drain waits until both output lanes have ended or, where somebody else holds
// them open, have rested. A receiver that reads slowly is waited for, until
// somebody signals the tap to end; one that does not read at all may be given
// up, see [run.lookForStall].
func (r *run) drain() {
	var seen [3]int64
	rested := time.Now()
	for {
		moved, open := false, false
		for i, p := range r.pumps {
			if p.lane == tap.ToServer || p.finished() {
				continue
			}
			open = true
			if n := p.reads.Load(); n != seen[i] {
				seen[i], moved = n, true
			}
			moved = moved || r.flowing(p)
		}
		if moved {
			rested = time.Now()
		}
		if !open || time.Since(rested) >= quiet {
			return
		}
		r.nap()
		r.lookForStall()
	}
}

// flowing reports whether p still has something to forward.
func (r *run) flowing(p *pump) bool {
	if p.state.Load() != stateReading {
		return !r.srv.hurry.Load()
	}
	src, _ := p.src.(fd)
	waiting, err := poll(src, pollIn, 0)
	return waiting && err == nil
}

// nap sleeps for a tick, or less if a lane ends.
func (r *run) nap() {
	// A channel that is closed already would not let it sleep.
	var ends [2]<-chan struct{}
	for i, p := range r.pumps[1:] {
		if !p.finished() {
			ends[i] = p.done
		}
	}
	select {
	case <-ends[0]:
	case <-ends[1]:
	case <-time.After(tick):
	}
}

// ended is how a server ended.
type ended = syscall.WaitStatus
