package store

import (
	"syscall"
	"testing"
)

// TestRunPriority has the traffic become heavy and calm again: each step must
// run at the priority that the one before it asked for.
func TestRunPriority(t *testing.T) {
	var r Recorder
	heavy := []bool{false, true, true, false, true, false, false}
	var got []bool
	r.run(func() bool {
		// The raw call returns 20 less the nice value.
		p, _, errno := syscall.RawSyscall(syscall.SYS_GETPRIORITY, syscall.PRIO_PROCESS, uintptr(syscall.Gettid()), 0)
		if errno != 0 {
			t.Error(errno)
		}
		got = append(got, 20-int(p) == lowPriority)
		r.busy.Store(heavy[min(len(got), len(heavy)-1)])
		return len(got) < len(heavy)
	})
	// Where the test itself runs at that priority, nothing but that can be told.
	own, _, _ := syscall.RawSyscall(syscall.SYS_GETPRIORITY, syscall.PRIO_PROCESS, 0, 0)
	always := 20-int(own) == lowPriority
	for i := range heavy {
		if want := heavy[i] || always; got[i] != want {
			t.Errorf("step %d: low priority %v, want %v", i+1, got[i], want)
		}
	}
}
