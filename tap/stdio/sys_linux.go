package stdio

import (
	"bytes"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pipeSize is the size that we ask for our pipes, so that a frame of 256 KB crosses in one
// piece instead of four. The kernel may refuse.
const pipeSize = 1 << 20

// newPipe returns a pipe whose ends are not inherited.
func newPipe() (r, w fd, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return -1, -1, err
	}
	_, _ = unix.FcntlInt(uintptr(p[1]), unix.F_SETPIPE_SZ, pipeSize)
	return fd(p[0]), fd(p[1]), nil
}

// awaitExit returns when the server has ended. It does not reap it: its pid must not be
// reused while a signal is sent.
func (s *server) awaitExit() {
	for {
		if _, errno := waitid(s.pid, syscall.WEXITED|syscall.WSTOPPED|syscall.WNOWAIT); errno != 0 {
			return // cannot happen for a child
		}
		// A stop must be consumed, or waitid returns it forever.
		info, errno := waitid(s.pid, syscall.WSTOPPED|syscall.WNOHANG)
		if errno != 0 || info.signo == 0 {
			return
		}
		s.stopped(syscall.Signal(info.status))
	}
}

// A sigInfo is siginfo_t as waitid fills it in, 128 bytes. The order of the two words that
// are not named here depends on the architecture, and the union after them is aligned as
// a pointer.
type sigInfo struct {
	signo  int32 // SIGCHLD, or 0 if the state has not changed
	_      [2]int32
	_      [0]uintptr
	_      [2]int32 // pid and uid
	status int32    // the signal that stopped it
	_      [108 - unsafe.Sizeof(uintptr(0))]byte
}

// waitid waits for a process to change its state.
func waitid(pid, options int) (sigInfo, syscall.Errno) {
	for {
		var info sigInfo
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, unix.P_PID, uintptr(pid), uintptr(unsafe.Pointer(&info)), uintptr(options), 0, 0)
		if errno != syscall.EINTR {
			return info, errno
		}
	}
}

// reap returns the server's status, and ends the forwarding of signals.
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

// ignored reports whether sig was ignored when the program started. Package signal
// reports that for SIGHUP and SIGINT only; the kernel does for those that the runtime has
// not changed, such as SIGTSTP.
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
