//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcptap/mcptap/tap"
)

const (
	// procs is the minimum GOMAXPROCS of Run. A goroutine that returns from a blocking
	// system call needs a P; with fewer of them than pumps, each read waits for the
	// runtime's monitor (with one, reads are 24 times slower).
	procs = 8
	// tick is the poll interval for the lanes of a server that has ended.
	tick = time.Millisecond
)

// quiet is how long the output of a server that has ended must be idle before the run is
// over, if another process still holds it open. See the package comment.
var quiet = 100 * time.Millisecond

// Run starts the server, forwards until it has ended, and returns the status with which
// the tap must exit. It prints nothing: the caller prints err, if it is not nil, and
// exits with code in any case.
//
// Call it from the main goroutine. On Linux the server is killed when the thread that
// started it ends; Run locks that thread until it returns. Signals stay caught
// afterwards, so that a late one does not change the status.
func Run(cfg Config) (code int, err error) {
	if len(cfg.Command) == 0 {
		return exitOwnFailure, errNoCommand
	}
	sigs := make(chan os.Signal, 256)
	return runWith(cfg, sigs, func() { catchSignals(sigs) })
}

// runWith is Run with the function that catches the signals.
func runWith(cfg Config, sigs <-chan os.Signal, catch func()) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// As in pump.run.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))

	client := [3]fd{0, 1, 2}
	// In parallel with the spawn, as catching signals takes longer than starting a
	// process. See the package comment about signals that come before.
	caught := make(chan struct{})
	go func() {
		defer close(caught)
		catch()
	}()
	srv, failure := spawn(cfg.Command, !mayStepOut(client[0]))
	if failure != nil {
		<-caught
		return cfg.spawnFailed(failure)
	}
	if !srv.ownGroup {
		// The server has the process group that it would have without a tap. The
		// tap leaves it, so that a signal to the group reaches the server once.
		// Now in the background, the tap may have stderr on a terminal that stops
		// background writers.
		signal.Ignore(syscall.SIGTTOU)
		_ = syscall.Setpgid(0, 0)
	}
	rec := cfg.started(srv.pid)
	if cfg.Started != nil {
		<-caught // Started may cause signals
		cfg.Started(srv.pid)
	}
	r := newRun(rec, client, srv)
	go r.pumps[0].run()
	<-caught // a client that has seen output of the server may send it signals
	go srv.relay(sigs, rec)
	go r.pumps[1].run()
	go r.pumps[2].run()
	if runtime.GOMAXPROCS(0) < procs { // slow, so not earlier
		runtime.GOMAXPROCS(procs)
	}
	srv.awaitExit()
	return r.finish(), nil
}

// A run is one server with its three lanes.
type run struct {
	rec   tap.Recorder
	srv   *server
	over  atomic.Bool
	pumps [3]*pump // in, out, err

	// After the server has ended, limited reports that the receivers of out and err may not
	// take longer than patience, stuck has the reads of each pump that is waiting for its
	// receiver, 0 for the others, and since is when one of them last made progress.
	limited bool
	stuck   [3]int64
	since   time.Time
}

func newRun(rec tap.Recorder, client [3]fd, srv *server) *run {
	r := &run{rec: rec, srv: srv}
	r.pumps = [3]*pump{
		{lane: tap.ToServer, src: client[0], dst: srv.stdin,
			atEOF: srv.stdin.close,
			// The client's next write must fail, as it would without us.
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

// finish is called when the server has ended. It waits for the rest of the output, ends
// the pumps' use of the recorder, and returns the status.
func (r *run) finish() int {
	status := r.srv.reap()
	r.limited = r.srv.wasAsked(time.Now())
	r.drain()
	// A write to the server fails immediately, unless another process still holds its
	// stdin: then it may block forever.
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
		// The recorder may be waiting for the store, so that nothing is lost.
		return true
	case stateWriting:
		return p.lane != tap.ToServer && !r.srv.hurry.Load()
	}
	return false
}

// drain waits until both output lanes have ended or, if another process holds them open,
// are idle. It waits for a receiver that reads slowly until a signal asks the tap to end;
// for one that does not read at all see [run.lookForStall].
func (r *run) drain() {
	var seen [3]int64
	last := time.Now() // of progress
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
			last = time.Now()
		}
		if !open || time.Since(last) >= quiet {
			return
		}
		time.Sleep(tick)
		r.lookForStall()
	}
}

// flowing reports whether p still has something to forward.
func (r *run) flowing(p *pump) bool {
	if p.state.Load() != stateReading {
		return !r.srv.hurry.Load()
	}
	src, _ := p.src.(fd)
	waiting, err := poll(src, unix.POLLIN, 0)
	return waiting && err == nil
}

// ended is how a server ended.
type ended = syscall.WaitStatus

var (
	// patience is how long the client may leave the remaining output of a server that was
	// asked to end unread before the tap ends as well.
	patience = time.Second
	// askedLimit is how long after a signal the end of a server is attributed to it.
	// Clients send SIGKILL at most 10 seconds later.
	askedLimit = 10 * time.Second
)

// wasAsked reports whether the server, which ended now, was asked to end. Without a tap
// it would be gone, whatever its client had read.
func (s *server) wasAsked(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status.Signaled() && asksToEnd(s.status.Signal()) {
		return true
	}
	return !s.asked.IsZero() && now.Sub(s.asked) < askedLimit
}

// lookForStall makes the tap end if the client has stopped reading the output of a server
// that was asked to end: if it has not taken one read of a pump, at most 64 KiB, within
// patience.
func (r *run) lookForStall() {
	if !r.limited {
		return
	}
	var reads [3]int64
	for i, p := range r.pumps {
		if p.lane != tap.ToServer && p.state.Load() == stateWriting {
			reads[i] = p.reads.Load() // not 0 here
		}
	}
	if reads == ([3]int64{}) || reads != r.stuck {
		r.stuck, r.since = reads, time.Now()
	}
	if time.Since(r.since) >= patience {
		r.srv.hurry.Store(true)
	}
}

// noteUnread records which lanes end with bytes that their receiver did not read. How
// many is not known.
func (r *run) noteUnread() {
	for _, p := range r.pumps {
		if p.lane != tap.ToServer && p.state.Load() == stateWriting {
			r.rec.Event(0, tap.Event{Name: tap.EventBroken, Lane: p.lane.String(),
				Error: "not all output was read before the tap had to end"})
		}
	}
}

// mayStepOut reports whether the tap can leave its process group to the server. A leader
// cannot: the group has its id. Nor may a tap whose stdin is the terminal: in the
// background it would be stopped.
func mayStepOut(stdin fd) bool {
	return syscall.Getpgrp() != syscall.Getpid() && !controls(stdin)
}

// controls reports whether f is the terminal that controls this process.
func controls(f fd) bool {
	_, err := unix.IoctlGetInt(int(f), unix.TIOCGPGRP)
	return err == nil
}
