//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"os/signal"
	"syscall"
)

// awaitExit returns when the server has ended. There is no portable way here to
// learn that without reaping it; between the two a signal could in theory meet
// a stranger with the same pid.
func (s *server) awaitExit() {
	for {
		var status ended
		_, err := syscall.Wait4(s.pid, &status, syscall.WUNTRACED, nil)
		if err == syscall.EINTR {
			continue
		}
		if err == nil && status.Stopped() {
			s.stopped(status.StopSignal())
			continue
		}
		s.mu.Lock()
		s.gone, s.status = true, status
		s.mu.Unlock()
		return
	}
}

// reap returns the server's status.
func (s *server) reap() ended {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// ignored reports whether sig was ignored when the program started.
func ignored(sig syscall.Signal) bool { return signal.Ignored(sig) }
