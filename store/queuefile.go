package store

import (
	"os"
	"time"
)

const (
	// newExt is what the name of a queue, or of a recording, ends in while it is being
	// made.
	newExt = ".new"
	// newLimit is how long that may take, generously.
	newLimit = time.Minute
)

// removeUnborn removes what a tap left that was killed while it made its queue, or its
// file. What had crossed it is not there. path ends in newExt.
func removeUnborn(path string) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > newLimit && !held(path) {
		os.Remove(path)
	}
}

// writeZeros fills a range that was never written, which takes its space on the
// disk where the system cannot reserve it.
func writeZeros(f *os.File, off, n int64) error {
	zeros := make([]byte, 256<<10)
	for n > 0 {
		k := min(n, int64(len(zeros)))
		if _, err := f.WriteAt(zeros[:k], off); err != nil {
			return err
		}
		off, n = off+k, n-k
	}
	return nil
}

// sameFile reports whether info describes the open file.
func sameFile(f *os.File, info os.FileInfo) bool {
	mine, err := f.Stat()
	return err == nil && os.SameFile(mine, info)
}

// regular reports whether path is a file, and no link, pipe or device: to open
// one of those could wait for ever, or lead elsewhere.
func regular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// markDraining says in a queue whose lock we have that its tap is gone.
func markDraining(f *os.File) {
	_, _ = f.WriteAt([]byte{1}, headDraining) // where it fails, others take it for a live one
}

// beingDrained reports whether the tap of a queue that is locked is gone, and
// another program appends what it left.
func beingDrained(recording string) bool {
	if !regular(recording + QueueExt) {
		return false
	}
	f, err := os.Open(recording + QueueExt)
	if err != nil {
		return false
	}
	defer f.Close()
	var mark [1]byte
	_, err = f.ReadAt(mark[:], headDraining)
	return err == nil && mark[0] != 0
}
