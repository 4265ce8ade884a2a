//go:build linux || freebsd

package stdio

import "syscall"

func sysProcAttr(ownGroup bool) *syscall.SysProcAttr {
	// If the tap is killed, so is the server, as if the client had killed it.
	return &syscall.SysProcAttr{Setpgid: ownGroup, Pdeathsig: syscall.SIGKILL}
}
