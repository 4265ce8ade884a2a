//go:build darwin || netbsd || openbsd || dragonfly

package stdio

import "syscall"

func sysProcAttr(ownGroup bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: ownGroup}
}
