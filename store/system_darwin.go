package store

import "syscall"

// bootID identifies the boot of the machine. A mapping is trusted only within the same
// boot.
func bootID() string {
	id, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// allocate reserves disk space for a range of the file.
func (q *queueFile) allocate(off, n int64) error { return writeZeros(q.f, off, n) }

func adviseRandom([]byte) {}

// GiveWay lowers the priority of this process, on Linux.
func GiveWay() {}
