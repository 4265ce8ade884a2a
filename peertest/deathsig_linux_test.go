package peertest

import "syscall"

// dieWithParent makes a spy transparent for SIGKILL too: the process that it wraps dies with it.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
