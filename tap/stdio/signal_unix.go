//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"cmp"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcptap/mcptap/tap"
)

// forwarded are the signals that are forwarded to the server. See the package comment
// about the others.
var forwarded = []syscall.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGUSR1,
	syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGTERM, syscall.SIGTSTP, syscall.SIGCONT,
	syscall.SIGWINCH,
}

// asksToEnd reports whether sig asks its receiver to end.
func asksToEnd(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGKILL:
		return true
	}
	return false
}

func signalName(s syscall.Signal) string {
	return cmp.Or(unix.SignalName(s), fmt.Sprintf("SIG%d", int(s)))
}

// catchSignals catches the signals to forward. Signals before the start of the server
// wait in the channel. It is never undone, see [Run].
func catchSignals(c chan<- os.Signal) {
	// A write to a client that is gone must fail and not kill the tap.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	for _, s := range forwarded {
		// A signal that was ignored when we were started (nohup) stays ignored here
		// and in the server.
		if !ignored(s) {
			signal.Notify(c, s)
		}
	}
}

// relay forwards each caught signal once. It never returns.
func (s *server) relay(sigs <-chan os.Signal, rec tap.Recorder) {
	debug.SetPanicOnFault(true) // as in pump.run
	for sig := range sigs {
		if sig, ok := sig.(syscall.Signal); ok {
			s.forward(sig, rec)
		}
	}
}

// forward forwards one signal. If the tap leads a process group, so does the server, and
// the whole group gets the signal: the terminal, and clients that start a leader (the
// Python SDK), signal groups.
func (s *server) forward(sig syscall.Signal, rec tap.Recorder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		// There is no server left, so the signal is for the tap.
		if asksToEnd(sig) {
			s.hurry.Store(true)
		}
		return
	}
	if asksToEnd(sig) {
		s.asked = time.Now()
	}
	barred := s.barred
	switch sig {
	case syscall.SIGTSTP:
		s.stop = s.ownGroup && !barred
	case syscall.SIGCONT:
		s.stop, s.barred = false, false
	}
	// Recorded first: the server's reaction comes later.
	rec.Event(0, tap.Event{Name: tap.EventSignal, Signal: signalName(sig)})
	_ = syscall.Kill(s.target(), sig)
	if asksToEnd(sig) {
		s.owed = true
		s.unbar()
	} else if sig == syscall.SIGTSTP && barred {
		stopTap() // the server is stopped already
	}
}

// target returns the pid argument for kill.
func (s *server) target() int {
	if s.ownGroup {
		return -s.pid
	}
	return s.pid
}

// stopped is called when sig has stopped the server. If that is a SIGTSTP that was
// forwarded, the shell that sent it waits for the tap to stop too. If the server ignores
// the signal, the tap continues.
func (s *server) stopped(sig syscall.Signal) {
	s.mu.Lock()
	stop := s.stop
	s.stop = false
	s.barred = s.ownGroup && (sig == syscall.SIGTTIN || sig == syscall.SIGTTOU)
	s.unbar()
	s.mu.Unlock()
	if stop {
		stopTap()
	}
}

// unbar continues a server that was asked to end and is stopped because it used the
// terminal from a group of its own: a stopped process gets no signal but SIGKILL until it
// continues. Without a tap it would have the terminal. If it does not end, it is soon
// stopped again.
func (s *server) unbar() {
	if s.barred && s.owed {
		s.barred, s.owed = false, false
		_ = syscall.Kill(s.target(), syscall.SIGCONT)
	}
}

func stopTap() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) }
