package stdio

import (
	"os"
	"syscall"
	"unsafe"
)

// tie puts the server into a job that ends with this process, so that a tap
// that is killed takes the server with it. Where that fails the server is left
// with the end of its stdin.
func tie(p *os.Process) {
	kernel := syscall.NewLazyDLL("kernel32.dll")
	create, set, assign := kernel.NewProc("CreateJobObjectW"), kernel.NewProc("SetInformationJobObject"),
		kernel.NewProc("AssignProcessToJobObject")
	if create.Find() != nil || set.Find() != nil || assign.Find() != nil {
		return
	}
	// JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	var limits struct {
		processTime, jobTime     int64
		flags                    uint32
		minSet, maxSet           uintptr
		active                   uint32
		affinity                 uintptr
		priority, scheduling     uint32
		io                       [6]uint64
		processMemory, jobMemory uintptr
		peakProcess, peakJob     uintptr
	}
	const (
		killOnClose   = 0x2000      // JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
		breakawayOK   = 0x0800      // JOB_OBJECT_LIMIT_BREAKAWAY_OK
		extendedClass = 9           // JobObjectExtendedLimitInformation
		access        = 0x100 | 0x1 // PROCESS_SET_QUOTA | PROCESS_TERMINATE
	)
	limits.flags = killOnClose | breakawayOK
	// The job's handle is left open on purpose: closing it is what kills.
	job, _, _ := create.Call(0, 0)
	if job == 0 {
		return
	}
	if ok, _, _ := set.Call(job, extendedClass, uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits)); ok == 0 {
		return
	}
	h, err := syscall.OpenProcess(access, false, uint32(p.Pid))
	if err != nil {
		return
	}
	_, _, _ = assign.Call(job, uintptr(h))
	_ = syscall.CloseHandle(h)
}
