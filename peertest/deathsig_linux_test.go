package peertest

import "syscall"

// dieWithParent makes a spy invisible to SIGKILL as well: what it stands for
// dies with it.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
