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
		info, errno := waitid(s.pid, syscall.WSTOPPED|syscall.WNOHANG)
		if errno != 0 || info.signo == 0 {
			return
		}
		s.stopped(syscall.Signal(info.status))
	}
}

// A sigInfo is siginfo_t as waitid fills it in, 128 bytes. Two of the words that
// are not named here change places between architectures, and the union behind
// them begins where a pointer may.
type sigInfo struct {
	signo  int32 // SIGCHLD, or 0 where there is no news
	_      [2]int32
	_      [0]uintptr
	_      [2]int32 // pid and uid
	status int32    // the signal that stopped it
	_      [108 - unsafe.Sizeof(uintptr(0))]byte
}

// waitid returns what news there are of a process.
func waitid(pid, options int) (sigInfo, syscall.Errno) {
	for {
		var info sigInfo
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, waitPID, uintptr(pid),
			uintptr(unsafe.Pointer(&info)), uintptr(options), 0, 0)
		if errno != syscall.EINTR {
			return info, errno
		}
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
