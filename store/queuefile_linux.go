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

// allocate makes sure that a range of the file has its space on the disk.
func (q *queueFile) allocate(off, n int64) error {
	err := syscall.Fallocate(int(q.f.Fd()), 0, off, n)
	if err == syscall.EOPNOTSUPP || err == syscall.ENOSYS || err == syscall.EINTR {
		return writeZeros(q.f, off, n)
	}
	return err
}

func adviseRandom(mem []byte) { _ = syscall.Madvise(mem, syscall.MADV_RANDOM) }
