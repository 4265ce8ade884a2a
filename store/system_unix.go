//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// A queueFile is the file of the queue of a running tap. Its lock shows that the
// tap is alive: the system releases it with the process, however that ends.
type queueFile struct {
	f    *os.File
	path string
}

// createQueueFile creates, locks and maps the file of a queue. The name appears only
// afterwards, so that no reader considers it dead. mem is nil
// if the queue cannot outlive a crash anyway, see bootID: then the file is
// only a lock.
func createQueueFile(path string, h tap.Header, blockSize, blocks int) (q *queueFile, mem []byte, err error) {
	tmp := path + newExt
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(tmp)
			q, mem = nil, nil
		}
	}()
	q = &queueFile{f: f, path: path}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return q, nil, fmt.Errorf("lock %s: %w", tmp, err)
	}
	boot, size := bootID(), queueHead
	if boot != "" {
		size = queueBytes(blockSize, blocks)
	}
	if err = f.Truncate(int64(size)); err != nil {
		return q, nil, err
	}
	if boot != "" {
		if err = q.allocate(0, int64(queueHead+ringEntries*entryBytes+firstBlocks*blockSize)); err != nil {
			return q, nil, fmt.Errorf("make room for %s: %w", tmp, err)
		}
	}
	if _, err = f.WriteAt(encodeQueueHead(h, boot, blockSize, blocks), 0); err != nil {
		return q, nil, err
	}
	if boot != "" {
		mem, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
		if err != nil {
			return q, nil, fmt.Errorf("map %s: %w", tmp, err)
		}
		// Otherwise the first access reads ahead zeros, for 3 ms.
		adviseRandom(mem)
	}
	err = os.Rename(tmp, path)
	return q, mem, err
}

// remove removes the file. The memory stays mapped. q may be nil.
func (q *queueFile) remove() {
	if q != nil {
		os.Remove(q.path)
		q.f.Close()
	}
}

// unlock releases the lock of a file. Closing a mapped file does not: the
// mapping keeps it open, and with it the lock.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// unlinked reports whether the open file was removed.
func unlinked(f *os.File) bool {
	var st syscall.Stat_t
	return syscall.Fstat(int(f.Fd()), &st) == nil && st.Nlink == 0
}

// drop closes a removed file and unmaps its memory.
func (q *queueFile) drop(mem []byte) {
	q.f.Close()
	_ = syscall.Munmap(mem)
}

// lockDead opens the queue at path for draining. It returns nil and no error if there is
// none, and ErrLive if a running tap or another program that drains it has locked it.
func lockDead(path string) (*os.File, error) {
	if !regular(path) {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	// Another program may only be testing whether the tap is alive.
	for i := 0; i < 5 && errors.Is(err, syscall.EWOULDBLOCK); i++ {
		time.Sleep(2 * time.Millisecond)
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLive
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// Another program may have drained and removed it between the open and the lock.
	if now, err := os.Stat(path); err != nil || !sameFile(f, now) {
		f.Close()
		return nil, nil
	}
	markDraining(f)
	return f, nil
}

// held reports whether a process has the queue's file at path.
func held(path string) bool {
	if !regular(path) {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
