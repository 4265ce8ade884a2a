//go:build !unix

package store

import (
	"errors"
	"os"

	"github.com/mcptap/mcptap/tap"
)

// An open queueFile shows that the tap is alive: Windows refuses to
// remove or rename an open file.
type queueFile struct {
	f    *os.File
	path string
}

// createQueueFile creates the file. The queue itself is plain memory.
func createQueueFile(path string, h tap.Header, blockSize, blocks int) (*queueFile, []byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, nil, err
	}
	_, err = f.Write(encodeQueueHead(h, "", blockSize, blocks))
	if err == nil {
		err = f.Truncate(queueHead)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return &queueFile{f: f, path: path}, nil, nil
}

func (q *queueFile) allocate(int64, int64) error { return nil }

// remove removes the file. q may be nil.
func (q *queueFile) remove() {
	if q != nil {
		q.f.Close()
		os.Remove(q.path)
	}
}

// unlock does nothing, as closing the file releases the lock.
func unlock(*os.File) {}

// unlinked returns false, as an open file cannot be removed.
func unlinked(*os.File) bool { return false }

// drop closes a removed file.
func (q *queueFile) drop([]byte) { q.f.Close() }

// lockDead opens the queue at path for draining. It returns nil and no error if there is
// none, and ErrLive if a running tap or another program that drains it has it open.
func lockDead(path string) (*os.File, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if isOpen(path) {
		return nil, ErrLive
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		markDraining(f)
	}
	return f, err
}

// held reports whether a process has the queue's file at path.
func held(path string) bool {
	_, err := os.Stat(path)
	return err == nil && isOpen(path)
}

// isOpen reports whether a process has the file open. An open file cannot be renamed.
func isOpen(path string) bool {
	probe := path + ".probe"
	if err := os.Rename(path, probe); err != nil {
		return true
	}
	os.Rename(probe, path)
	return false
}

// bootID is empty, as there are no mappings to trust after a crash.
func bootID() string { return "" }

// GiveWay lowers the priority of this process, on Linux.
func GiveWay() {}
