package store

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// niceness is how much the writer gives way, and a whole process with [GiveWay].
const niceness = 10

// lowerPriority keeps the calling goroutine on a thread of its own, which gives way to
// others: what piles up can wait in the queue, the traffic cannot. On Linux, unlike
// POSIX, the value is the thread's own.
func lowerPriority() {
	runtime.LockOSThread() // and so the thread ends with the goroutine
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), own()+niceness)
}

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

// populate touches all pages of mem, which costs a third of what it costs one by
// one. Where it fails, that is what happens.
func populate(mem []byte) {
	const madvPopulateWrite = 23 // MADV_POPULATE_WRITE, Linux 5.14
	_ = syscall.Madvise(mem, madvPopulateWrite)
}
