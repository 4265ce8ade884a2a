package stdio

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// A trace is what can be seen from outside of a write that blocks. It changes
// when the receiver reads: from a pipe that is full either the number of bytes
// in it falls, or a page comes free and wakes the writer, which fills it again.
// (A write that blocks tells how much it has written only when it returns, and
// a quarter of a megabyte takes a slow reader long.)
type trace struct {
	queued int32 // bytes that the kernel holds for the receiver
	wakes  int64 // how often the writer was woken
}

// traceOf returns the trace of the write to f that is going on. What is not
// known of it, for want of /proc, is zero.
func traceOf(f fd) trace { return trace{queued(f), wakes(f)} }

// queued returns how many bytes were written to f and not read yet.
func queued(f fd) (n int32) {
	for _, request := range []uintptr{
		syscall.TIOCOUTQ, // sockets and terminals
		syscall.TIOCINQ,  // pipes, from either end
	} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(f), request, uintptr(unsafe.Pointer(&n))); errno == 0 {
			return n
		}
	}
	return 0
}

// wakes sums up how often the threads have slept that wait for f now. Where f is
// non-blocking they wait in poll, which does not tell for what, so all that do
// count.
func wakes(f fd) (n int64) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0
	}
	write := fmt.Appendf(nil, "%d %#x ", syscall.SYS_WRITE, int(f))
	poll := fmt.Appendf(nil, "%d ", syscall.SYS_PPOLL)
	for _, t := range tasks {
		dir := "/proc/self/task/" + t.Name()
		call, err := os.ReadFile(dir + "/syscall")
		if err != nil || !bytes.HasPrefix(call, write) && !bytes.HasPrefix(call, poll) {
			continue
		}
		status, err := os.ReadFile(dir + "/status")
		if err != nil {
			continue
		}
		_, rest, _ := bytes.Cut(status, []byte("\nvoluntary_ctxt_switches:"))
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		slept, _ := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
		n += slept
	}
	return n
}
