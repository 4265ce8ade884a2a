//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"syscall"
	"unsafe"
)

// newPipe returns a pipe whose ends no child inherits.
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

func dup2(from, to int) error { return syscall.Dup2(from, to) }

func rawPoll(p *pollFD, ms int) (int, syscall.Errno) {
	n, _, errno := syscall.Syscall(syscall.SYS_POLL, uintptr(unsafe.Pointer(p)), 1, uintptr(ms))
	return int(n), errno
}
