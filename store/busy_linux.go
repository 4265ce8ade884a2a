package store

import (
	"os"
	"strconv"
	"syscall"
)

// lowPriority leaves the writer a seventieth of what another thread gets, where there
// is not enough for all.
const lowPriority = 19

// lowerPriority makes the calling thread give way to others. On Linux, unlike
// POSIX, the value is the thread's own.
func lowerPriority() {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), lowPriority)
}

// madvPopulateWrite is MADV_POPULATE_WRITE (Linux 5.14), which the syscall
// package does not have.
const madvPopulateWrite = 23

// populate touches all pages of mem, which costs a third of what it costs one by
// one. Where it fails, that is what happens.
func populate(mem []byte) { _ = syscall.Madvise(mem, madvPopulateWrite) }

// GiveWay makes this process give way to others, such as the taps whose recordings
// it reads.
func GiveWay() {
	const nice = 10
	// The raw call returns 20 less the nice value.
	if own, _, errno := syscall.RawSyscall(syscall.SYS_GETPRIORITY, syscall.PRIO_PROCESS, 0, 0); errno != 0 || 20-int(own) >= nice {
		return
	}
	threads, _ := os.ReadDir("/proc/self/task") // those to come are as these
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, nice)
		}
	}
}
