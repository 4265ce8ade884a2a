package stdio

import (
	"bytes"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"unsafe"
)

const waitPID = 1 // P_PID

// awaitExit returns when the server has ended, without reaping it: its pid
// must not become somebody else's while a signal is on its way.
func (s *server) awaitExit() {
	for {
		if _, errno := waitid(s.pid, syscall.WEXITED|syscall.WSTOPPED|syscall.WNOWAIT); errno != 0 {
			return // cannot happen for a child of ours; reap will tell
		}
		// A stop has to be taken, or it is reported for ever.
		if pid, errno := waitid(s.pid, syscall.WSTOPPED|syscall.WNOHANG); errno != 0 || pid == 0 {
			return
		}
		s.stopped()
	}
}

// waitid returns the pid that it has news of, 0 if there is none.
func waitid(pid, options int) (int32, syscall.Errno) {
	for {
		var info [16]uint64 // siginfo_t, 128 bytes
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, waitPID, uintptr(pid),
			uintptr(unsafe.Pointer(&info)), uintptr(options), 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		// si_signo, the first word on every architecture, is SIGCHLD or 0.
		return *(*int32)(unsafe.Pointer(&info)), errno
	}
}

// reap takes the server's status, and ends the forwarding of signals.
func (s *server) reap() ended {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	for {
		_, err := syscall.Wait4(s.pid, &s.status, 0, nil)
		if err != syscall.EINTR {
			return s.status
		}
	}
}

// ignored reports whether sig was ignored when the program started. Package
// signal knows that of SIGHUP and SIGINT only; the kernel knows it of those
// that the runtime has not touched, such as SIGTSTP.
func ignored(sig syscall.Signal) bool {
	if signal.Ignored(sig) {
		return true
	}
	if sig != syscall.SIGTSTP {
		return false
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(status, []byte("\nSigIgn:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	mask, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 64)
	return err == nil && mask&(1<<(uint(sig)-1)) != 0
}
