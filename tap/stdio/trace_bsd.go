//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"syscall"
	"unsafe"
)

// A trace is what can be seen from outside of a write that blocks: how many
// bytes the kernel holds for the receiver. A receiver that always takes as much
// as fits again leaves no trace before the write returns, which is after 64 KiB
// at most: pipes keep their default size here.
type trace struct{ queued int32 }

const fionread = 0x4004667f // FIONREAD

// traceOf returns the trace of the write to f that is going on.
func traceOf(f fd) (t trace) {
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, uintptr(f), fionread, uintptr(unsafe.Pointer(&t.queued)))
	return t
}
