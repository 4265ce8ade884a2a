//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package stdio

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// quiet is how long Run waits for output that another process still holds open once the
// server has ended.
const quiet = 100 * time.Millisecond

// killWithUs makes the system end a server when this process ends, if possible.
var killWithUs = func(*os.Process) {}

// Run starts the server, forwards until it has ended, and returns the status with which
// the tap must exit. It prints nothing: the caller prints err, if it is not nil, and
// exits with code in any case.
func Run(cfg Config) (code int, err error) {
	if len(cfg.Command) == 0 {
		return exitOwnFailure, errNoCommand
	}
	// The console sends Ctrl-C to every process: the server decides, and the tap ends
	// with it.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	server, err := Start(cfg.Command)
	var failure *spawnError
	if errors.As(err, &failure) {
		return cfg.spawnFailed(failure)
	}
	rec := cfg.started(server.pid)
	if cfg.Started != nil {
		cfg.Started(server.pid)
	}
	var over atomic.Bool
	pumps := [3]*pump{
		{lane: tap.ToServer, src: os.Stdin, dst: server.Stdin, atEOF: closer(server.Stdin), atBroken: func() { _ = os.Stdin.Close(); _ = server.Stdin.Close() }},
		{lane: tap.ToClient, src: server.Stdout, dst: os.Stdout, atEOF: closer(os.Stdout), atBroken: closer(server.Stdout)},
		{lane: tap.Stderr, src: server.Stderr, dst: os.Stderr, atEOF: func() {}, atBroken: closer(server.Stderr)},
	}
	for _, p := range pumps {
		p.rec, p.over = rec, &over
		go p.run()
	}
	<-server.ended
	settle(pumps[1:])
	over.Store(true)
	for _, p := range pumps {
		for p.state.Load() == stateRecording {
			time.Sleep(time.Millisecond)
		}
	}
	rec.Event(0, tap.Event{Name: tap.EventExit, Code: &server.code})
	return server.code, nil
}

// settle waits for the end of the output lanes, or until nothing has moved on them for a
// while.
func settle(pumps []*pump) {
	var seen int64
	for rested := time.Now(); time.Since(rested) < quiet; time.Sleep(quiet / 10) {
		var reads int64
		open, busy := false, false
		for _, p := range pumps {
			reads += p.reads.Load()
			open = open || !p.finished()
			busy = busy || !p.finished() && p.state.Load() != stateReading
		}
		if !open {
			return
		}
		if busy || reads != seen {
			rested, seen = time.Now(), reads
		}
	}
}

func closer(c io.Closer) func() { return func() { _ = c.Close() } }

func (e *spawnError) code() int {
	if errors.Is(e.Err, exec.ErrNotFound) || errors.Is(e.Err, os.ErrNotExist) {
		return exitNotFound
	}
	return exitCannotExec
}

// Start starts a server. The error is like that of [Run] for a command that cannot be
// started.
func Start(command []string) (*Process, error) {
	if len(command) == 0 {
		return nil, errNoCommand
	}
	p := &Process{ended: make(chan struct{})}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Args[0] = command[0]
	files, err := p.pipes(cmd)
	if err == nil {
		err = cmd.Start()
	}
	for i, f := range files {
		if ours := i >= 3; !ours || err != nil {
			_ = f.Close()
		}
	}
	if err != nil {
		var path *os.PathError
		var look *exec.Error
		switch {
		case errors.As(err, &look):
			err = look.Err
		case errors.As(err, &path):
			err = path.Err
		}
		return nil, &spawnError{command[0], err}
	}
	killWithUs(cmd.Process)
	p.pid = cmd.Process.Pid
	go func() {
		p.code = exitOwnFailure
		if state, err := cmd.Process.Wait(); err == nil {
			p.code = state.ExitCode()
		}
		close(p.ended)
	}()
	return p, nil
}

// pipes makes the pipes and returns their ends: the server's, then ours. On error it
// returns those that were made.
func (p *Process) pipes(cmd *exec.Cmd) ([]*os.File, error) {
	var r, w [3]*os.File
	for i := range r {
		var err error
		if r[i], w[i], err = os.Pipe(); err != nil {
			return append(r[:i:i], w[:i]...), err
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r[0], w[1], w[2]
	p.Stdin, p.Stdout, p.Stderr = w[0], r[1], r[2]
	return []*os.File{r[0], w[1], w[2], w[0], r[1], r[2]}, nil
}

// Terminate does nothing: there is no such signal here. It returns "".
func (p *Process) Terminate() (string, error) { return "", nil }

// Kill ends the server.
func (p *Process) Kill() (string, error) {
	select {
	case <-p.ended:
		return "SIGKILL", nil // the pid may be that of another process by now
	default:
	}
	handle, err := os.FindProcess(p.pid)
	if err == nil {
		err = handle.Kill()
	}
	return "SIGKILL", err
}
