//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"os/signal"
	"syscall"
)

// newPipe returns a pipe whose ends are not inherited.
func newPipe() (r, w fd, err error) {
	var p [2]int
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := syscall.Pipe(p[:]); err != nil {
		return -1, -1, err
	}
	syscall.CloseOnExec(p[0])
	syscall.CloseOnExec(p[1])
	return fd(p[0]), fd(p[1]), nil
}

// awaitExit returns when the server has ended. There is no portable way here to wait
// without reaping it; in theory a signal could then reach another process with the same
// pid.
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
