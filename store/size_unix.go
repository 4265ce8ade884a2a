//go:build unix

package store

import (
	"os"
	"syscall"
)

// occupied is what a file takes on the disk: a queue is mostly a hole.
func occupied(info os.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(st.Blocks) * 512
	}
	return info.Size()
}
