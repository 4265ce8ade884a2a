package store

import "syscall"

// bootID names the boot of the machine: what lies in a mapping is only believed
// within it.
func bootID() string {
	id, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// allocate makes sure that a range of the file has its space on the disk.
func (q *queueFile) allocate(off, n int64) error { return writeZeros(q.f, off, n) }

func adviseRandom([]byte) {}

func populate([]byte) {}

// GiveWay makes this process give way to others, on Linux.
func GiveWay() {}
