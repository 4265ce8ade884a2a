package store

import (
	"os"
	"strings"
	"syscall"
)

// bootID names the boot of the machine: what lies in a mapping is only believed
// within it.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// diskReserve is how much of the disk the queue leaves to the recording, in bytes.
const diskReserve = 16 << 20

// allocate makes sure that a range of the file has its space on the disk.
func (q *queueFile) allocate(off, n int64) error {
	var disk syscall.Statfs_t
	if syscall.Fstatfs(int(q.f.Fd()), &disk) == nil && int64(disk.Bavail)*int64(disk.Bsize) < n+diskReserve {
		return syscall.ENOSPC // the recording itself needs what is left
	}
	err := syscall.Fallocate(int(q.f.Fd()), 0, off, n)
	if err == syscall.EOPNOTSUPP || err == syscall.ENOSYS || err == syscall.EINTR {
		return writeZeros(q.f, off, n)
	}
	return err
}

func adviseRandom(mem []byte) { _ = syscall.Madvise(mem, syscall.MADV_RANDOM) }
