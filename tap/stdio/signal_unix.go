//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// forwarded are the signals that somebody may send to what they take for the
// server. The package comment says why others are not.
var forwarded = []syscall.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGUSR1,
	syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGTERM, syscall.SIGTSTP, syscall.SIGCONT,
	syscall.SIGWINCH,
}

// asksToEnd reports whether whoever sends sig wants the receiver gone.
func asksToEnd(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGKILL:
		return true
	}
	return false
}

var signalNames = map[syscall.Signal]string{
	syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT",
	syscall.SIGILL: "SIGILL", syscall.SIGTRAP: "SIGTRAP", syscall.SIGABRT: "SIGABRT",
	syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE", syscall.SIGKILL: "SIGKILL",
	syscall.SIGUSR1: "SIGUSR1", syscall.SIGSEGV: "SIGSEGV", syscall.SIGUSR2: "SIGUSR2",
	syscall.SIGPIPE: "SIGPIPE", syscall.SIGALRM: "SIGALRM", syscall.SIGTERM: "SIGTERM",
	syscall.SIGCONT: "SIGCONT", syscall.SIGSTOP: "SIGSTOP", syscall.SIGTSTP: "SIGTSTP",
	syscall.SIGTTIN: "SIGTTIN", syscall.SIGTTOU: "SIGTTOU", syscall.SIGXCPU: "SIGXCPU",
	syscall.SIGXFSZ: "SIGXFSZ", syscall.SIGVTALRM: "SIGVTALRM", syscall.SIGPROF: "SIGPROF",
	syscall.SIGSYS: "SIGSYS", syscall.SIGIO: "SIGIO", syscall.SIGWINCH: "SIGWINCH",
}

func signalName(s syscall.Signal) string {
	if name := signalNames[s]; name != "" {
		return name
	}
	return fmt.Sprintf("SIG%d", int(s))
}

// catchSignals catches what is to be forwarded: what comes before there is a
// server to forward it to waits in the channel. It is never undone, see [Run].
func catchSignals(c chan<- os.Signal) {
	// A write to a client that has gone must fail, not kill.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	for _, s := range forwarded {
		// One that whoever started us ignores (nohup) stays ignored here and
		// in the server.
		if !ignored(s) {
			signal.Notify(c, s)
		}
	}
}

// relay forwards each signal that is caught, once, for ever.
func (s *server) relay(sigs <-chan os.Signal, rec tap.Recorder) {
	debug.SetPanicOnFault(true) // as in pump.run
	for sig := range sigs {
		if sig, ok := sig.(syscall.Signal); ok {
			s.forward(sig, rec)
		}
	}
}

// forward sends one signal on. Where the tap leads a process group, the server
// has one of its own to match, and the whole of it is told: the terminal and
// those who start a leader (the Python SDK) signal groups.
func (s *server) forward(sig syscall.Signal, rec tap.Recorder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		// Nobody to forward it to, so it is for us: without a tap there would
		// be no process left.
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
	// Noted first: what the server does about it comes later.
	rec.Event(0, tap.Event{Name: tap.EventSignal, Signal: signalName(sig)})
	_ = syscall.Kill(s.target(), sig)
	if asksToEnd(sig) {
		s.owed = true
		s.unbar()
	} else if sig == syscall.SIGTSTP && barred {
		stopTap() // the server cannot stop once more
	}
}

// target is whom to signal, as kill has it.
func (s *server) target() int {
	if s.ownGroup {
		return -s.pid
	}
	return s.pid
}

// stopped is called when sig has stopped the server. If that is a SIGTSTP that
// came through us, the shell that sent it waits for us to stop too. A server
// that ignores the signal keeps its tap.
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

// unbar lets a server meet its end that is stopped because it has reached for
// the terminal from a group of its own. Without a tap it would have had the
// terminal, and the keys that end it; and one that is stopped gets no signal but
// SIGKILL until it goes on. If it does not end, it is soon stopped again.
func (s *server) unbar() {
	if s.barred && s.owed {
		s.barred, s.owed = false, false
		_ = syscall.Kill(s.target(), syscall.SIGCONT)
	}
}

func stopTap() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) }
