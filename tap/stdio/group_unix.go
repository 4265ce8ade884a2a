//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"os/signal"
	"syscall"
	"unsafe"
)

// mayStepOut reports whether the tap can leave its process group to the
// server. A leader cannot: the group bears its number. Nor may a tap that
// reads from the terminal itself: in the background it would be stopped.
func mayStepOut(stdin fd) bool {
	return syscall.Getpgrp() != syscall.Getpid() && !controls(stdin)
}

// stepOut moves the tap into a group of its own.
func stepOut() {
	// Now in the background, it may still have stderr on a terminal that stops
	// background writers.
	signal.Ignore(syscall.SIGTTOU)
	_ = syscall.Setpgid(0, 0)
}

// controls reports whether f is the terminal that controls this process.
func controls(f fd) bool {
	var group int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(f), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group)))
	return errno == 0
}
