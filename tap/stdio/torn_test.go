//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"os"
	"syscall"
)

// tornMemory is a recorder's memory that is gone: a mapping of a file that has
// been cut. Touching it is a fault.
func tornMemory() []byte {
	f, err := os.CreateTemp("", "torn")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	_ = os.Remove(f.Name())
	if err := f.Truncate(256 << 10); err != nil {
		panic(err)
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, 256<<10, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	if err := f.Truncate(0); err != nil {
		panic(err)
	}
	return b
}
