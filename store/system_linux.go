package store

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// bootID identifies the boot of the machine. A mapping is trusted only within the same
// boot.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// diskReserve is the disk space that the queue leaves to the recording, in bytes.
const diskReserve = 16 << 20

// allocate reserves disk space for a range of the file.
func (q *queueFile) allocate(off, n int64) error {
	var disk syscall.Statfs_t
	if syscall.Fstatfs(int(q.f.Fd()), &disk) == nil && int64(disk.Bavail)*int64(disk.Bsize) < n+diskReserve {
		return syscall.ENOSPC // the recording needs the rest
	}
	err := syscall.Fallocate(int(q.f.Fd()), 0, off, n)
	if err == syscall.EOPNOTSUPP || err == syscall.ENOSYS || err == syscall.EINTR {
		return writeZeros(q.f, off, n)
	}
	return err
}

func adviseRandom(mem []byte) { _ = syscall.Madvise(mem, syscall.MADV_RANDOM) }

// niceness is the nice value of a process with low priority.
const niceness = 10

// GiveWay lowers the priority of this process, so that it does not slow down the taps whose
// recordings it reads.
func GiveWay() {
	// The system call returns 20 minus the nice value.
	if p, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err == nil && 20-p >= niceness {
		return
	}
	threads, _ := os.ReadDir("/proc/self/task") // new threads inherit the value
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, niceness)
		}
	}
}
