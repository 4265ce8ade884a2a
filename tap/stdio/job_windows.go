package stdio

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

func init() { killWithUs = joinJob }

// joinJob puts the server into a job that ends with this process, so that the server ends
// if the tap is killed. If that fails, the server sees the end of its stdin.
func joinJob(p *os.Process) {
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_BREAKAWAY_OK
	job, err := windows.CreateJobObject(nil, nil) // stays open: closing it ends the server
	if err != nil {
		return
	}
	size := uint32(unsafe.Sizeof(limits))
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), size); err != nil {
		return
	}
	server, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(p.Pid))
	if err != nil {
		return
	}
	_ = windows.AssignProcessToJobObject(job, server)
	_ = windows.CloseHandle(server)
}
