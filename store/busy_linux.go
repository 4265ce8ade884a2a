package store

import "syscall"

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
