//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// quiet is how long Run waits for output that somebody else than the server
// still holds open once the server has ended.
const quiet = 100 * time.Millisecond

// Run starts the server, forwards until it is over and returns the status that
// the tap must exit with. It prints nothing: err, where there is one, is for
// the caller to print, and code is to be returned all the same.
func Run(cfg Config) (code int, err error) {
	if len(cfg.Command) == 0 {
		return ExitOwnFailure, errNoCommand
	}
	// Ctrl-C reaches everybody on the console by itself: the server decides,
	// the tap follows it.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	cmd := exec.Command(cfg.Command[0], cfg.Command[1:]...)
	cmd.Args[0] = cfg.Command[0]
	stdin, stdout, stderr, theirs, err := pipes(cmd)
	if err == nil {
		err = cmd.Start()
		for _, f := range theirs {
			_ = f.Close()
		}
	}
	if err != nil {
		return startFailed(&cfg, err)
	}
	tie(cmd.Process)
	rec := cfg.recorder(cmd.Process.Pid)
	dir, _ := os.Getwd()
	rec.Event(0, tap.Event{Name: tap.EventStart, Transport: "stdio", Command: cfg.Command, Dir: dir, PID: cmd.Process.Pid})
	if cfg.Started != nil {
		cfg.Started(cmd.Process.Pid)
	}
	in, out, errs := clientFile(cfg.Stdin, os.Stdin), clientFile(cfg.Stdout, os.Stdout), clientFile(cfg.Stderr, os.Stderr)
	var over atomic.Bool
	pumps := [3]*pump{
		{lane: tap.ToServer, src: in, dst: stdin, atEOF: closer(stdin),
			atBroken: func() { _ = in.Close(); _ = stdin.Close() }},
		{lane: tap.ToClient, src: stdout, dst: out, atEOF: closer(out), atBroken: closer(stdout)},
		{lane: tap.Stderr, src: stderr, dst: errs, atEOF: func() {}, atBroken: closer(stderr)},
	}
	for _, p := range pumps {
		p.rec, p.over = rec, &over
		p.start()
	}
	state, err := cmd.Process.Wait()
	if err != nil {
		return ExitOwnFailure, fmt.Errorf("cannot wait for %q: %w", cfg.Command[0], err)
	}
	settle(pumps[1:])
	over.Store(true)
	for _, p := range pumps {
		for p.state.Load() == stateRecording {
			time.Sleep(time.Millisecond)
		}
	}
	code = state.ExitCode()
	rec.Event(0, tap.Event{Name: tap.EventExit, Code: &code})
	return code, nil
}

// pipes makes the server's three pipes: our ends, and those to close once it
// has them.
func pipes(cmd *exec.Cmd) (stdin, stdout, stderr *os.File, theirs []*os.File, err error) {
	var r, w [3]*os.File
	for i := range r {
		if r[i], w[i], err = os.Pipe(); err != nil {
			return nil, nil, nil, nil, err
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r[0], w[1], w[2]
	return w[0], r[1], r[2], []*os.File{r[0], w[1], w[2]}, nil
}

// settle waits for the end of the output lanes, or until nothing has moved on
// them for a while.
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

func startFailed(cfg *Config, err error) (int, error) {
	code := exitCannotExec
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		code = exitNotFound
	}
	var path *os.PathError
	var look *exec.Error
	switch {
	case errors.As(err, &look):
		err = look.Err
	case errors.As(err, &path):
		err = path.Err
	}
	cfg.recorder(0).Event(0, tap.Event{Name: tap.EventSpawnFailed, Transport: "stdio",
		Command: cfg.Command, Code: &code, Error: err.Error()})
	return code, fmt.Errorf("cannot start %q: %w", cfg.Command[0], err)
}

func clientFile(handle uintptr, own *os.File) *os.File {
	if handle == 0 {
		return own
	}
	return os.NewFile(handle, own.Name())
}

func closer(c io.Closer) func() { return func() { _ = c.Close() } }
