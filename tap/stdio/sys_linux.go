package stdio

import (
	"syscall"
	"time"
	"unsafe"
)

// pipeSize is asked for on our own pipes: with it a frame of 256 KB crosses in
// one piece instead of four. The kernel may refuse, which is no failure.
const (
	pipeSize   = 1 << 20
	fSetPipeSz = 1031 // F_SETPIPE_SZ
)

// newPipe returns a pipe whose ends no child inherits.
func newPipe() (r, w fd, err error) {
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		return -1, -1, err
	}
	_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, uintptr(p[1]), fSetPipeSz, pipeSize)
	return fd(p[0]), fd(p[1]), nil
}

func dup2(from, to int) error { return syscall.Dup3(from, to, 0) }

func rawPoll(p *pollFD, ms int) (int, syscall.Errno) {
	var ts *syscall.Timespec
	if ms >= 0 {
		t := syscall.NsecToTimespec(int64(ms) * int64(time.Millisecond))
		ts = &t
	}
	n, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(p)), 1,
		uintptr(unsafe.Pointer(ts)), 0, 0, 0)
	return int(n), errno
}
