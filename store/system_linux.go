package store

import (
	"os"
	"strconv"
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

// niceness is the nice value of a process that gives way.
const niceness = 10

// own is the process's nice value. The raw call returns 20 less it.
func own() int {
	p, _, errno := syscall.RawSyscall(syscall.SYS_GETPRIORITY, syscall.PRIO_PROCESS, 0, 0)
	if errno != 0 {
		return 0
	}
	return 20 - int(p)
}

// GiveWay makes this process give way to others, such as the taps whose recordings
// it reads.
func GiveWay() {
	if own() >= niceness {
		return
	}
	threads, _ := os.ReadDir("/proc/self/task") // those to come are as these
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, niceness)
		}
	}
}

// populate touches all pages of mem at a third of what the tap would pay one by one.
// It may fail.
func populate(mem []byte) {
	const madvPopulateWrite = 23 // MADV_POPULATE_WRITE, Linux 5.14
	_ = syscall.Madvise(mem, madvPopulateWrite)
}
