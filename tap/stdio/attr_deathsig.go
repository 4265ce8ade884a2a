//go:build linux || freebsd

package stdio

import "syscall"

func sysProcAttr(ownGroup bool) *syscall.SysProcAttr {
	// A tap that is killed takes the server with it, as if the client had
	// killed the server.
	return &syscall.SysProcAttr{Setpgid: ownGroup, Pdeathsig: syscall.SIGKILL}
}
