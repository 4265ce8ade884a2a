package store

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
)

const (
	// newExt is the extension of a queue or a recording that is being
	// created.
	newExt = ".new"
	// newLimit is the maximum time that creating one takes.
	newLimit = time.Minute
)

// removeUnborn removes the file of a tap that was killed while creating its queue or
// recording. path ends in newExt.
func removeUnborn(path string) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > newLimit && !held(path) {
		os.Remove(path)
	}
}

// writeZeros writes an unused range, which allocates its disk space if the system cannot
// reserve it.
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

// leave unlocks and closes the file without removing it.
func (q *queueFile) leave() {
	unlock(q.f)
	q.f.Close()
}

// sameFile reports whether info describes the open file.
func sameFile(f *os.File, info os.FileInfo) bool {
	mine, err := f.Stat()
	return err == nil && os.SameFile(mine, info)
}

// regular reports whether path is a regular file. Opening
// a link, pipe or device could block, or lead to another file.
func regular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// markDraining marks a locked queue as one whose tap is gone.
func markDraining(f *os.File) {
	_, _ = f.WriteAt([]byte{1}, headDraining) // on failure, others consider it live
}

// beingDrained reports whether a locked queue is being appended by another program.
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

// The header of a queue's file, little-endian:
//
//	   0   8  magic "mtapque1"
//	   8   4  block size
//	  12   4  blocks
//	  16   4  length of the tap.Header, JSON
//	  20   1  not 0: the tap is gone, and another program appends the rest
//	  21   1  not 0: the tap has ended, and could not append the rest
//	  24   8  tickets below are in the recording, and their memory may be reused
//	  32  64  boot id of the machine, zero-padded
//	 128  96  unrecorded traffic, 24 bytes per lane: bytes, frames, 8 unused
//	 256      older taps: which incomplete frames lack bytes. If bytes are
//	          missing, all of them do
//	4096      the tap.Header
const (
	headDraining = 20
	headLeft     = 21
	headDrained  = 24
	headBoot     = 32
	bootBytes    = 64
	headLost     = 128
	lostBytes    = 24
	headHeader   = 4096
	// maxLost is the maximum number of lost frames, so that frame numbers do not overflow.
	maxLost = 1 << 40
)

// A queueHeader is the header of a queue's file, decoded.
type queueHeader struct {
	blockSize, blocks int
	drained           uint64
	boot              string
	lost              [tap.Lanes]lostLane
	left              bool // the tap had seen its traffic to the end
	header            tap.Header
}

// encodeQueueHead returns the header of a new queue, which is followed by zeros.
func encodeQueueHead(h tap.Header, boot string, blockSize, blocks int) []byte {
	doc := mustJSON(&h)
	for _, shorter := range []tap.Header{ // of a very long command, only the first word
		{ID: h.ID, Label: h.Label, Start: h.Start, Transport: h.Transport, Command: h.Command[:min(1, len(h.Command))],
			Upstream: h.Upstream, Dir: h.Dir, Program: h.Program, Platform: h.Platform},
		{ID: h.ID, Label: h.Label, Start: h.Start, Transport: h.Transport, Program: h.Program, Platform: h.Platform},
		{ID: h.ID, Start: h.Start},
	} {
		if len(doc) > queueHead-headHeader {
			doc = mustJSON(&shorter)
		}
	}
	b := make([]byte, headHeader+len(doc))
	copy(b, queueMagic)
	binary.LittleEndian.PutUint32(b[8:], uint32(blockSize))
	binary.LittleEndian.PutUint32(b[12:], uint32(blocks))
	binary.LittleEndian.PutUint32(b[16:], uint32(len(doc)))
	copy(b[headBoot:headBoot+bootBytes], boot)
	copy(b[headHeader:], doc)
	return b
}

// decodeQueueHead reads the header of a queue file from its first queueHead bytes.
func decodeQueueHead(b []byte) (queueHeader, error) {
	var q queueHeader
	switch {
	case string(b[:8]) == queueMagic:
	case string(b[:7]) == queueMagic[:7]:
		return q, fmt.Errorf("its queue is %.8q: %w", b, ErrNewer)
	default:
		return q, fmt.Errorf("no queue header")
	}
	q.blockSize = int(binary.LittleEndian.Uint32(b[8:]))
	q.blocks = int(binary.LittleEndian.Uint32(b[12:]))
	doc := int(binary.LittleEndian.Uint32(b[16:]))
	if q.blockSize <= 0 || q.blockSize > maxBlock || q.blocks <= 0 || q.blocks > 1<<20 || doc > queueHead-headHeader {
		return q, fmt.Errorf("queue header does not fit its file")
	}
	q.left = b[headLeft] != 0
	q.drained = binary.LittleEndian.Uint64(b[headDrained:])
	q.boot = strings.TrimRight(string(b[headBoot:headBoot+bootBytes]), "\x00")
	for lane := range q.lost {
		l := b[headLost+lane*lostBytes:]
		q.lost[lane] = lostLane{
			Bytes: binary.LittleEndian.Uint64(l), Frames: min(binary.LittleEndian.Uint64(l[8:]), maxLost),
		}
	}
	if err := json.Unmarshal(b[headHeader:headHeader+doc], &q.header); err != nil {
		return q, fmt.Errorf("queue header: %v", err)
	}
	return q, nil
}

// parseLost reads the payload of an entryGap.
func parseLost(p []byte) (lost [tap.Lanes]lostLane) {
	_ = json.Unmarshal(p, &lost) // from a damaged queue, as much as can be read
	for lane := range lost {
		lost[lane].Frames = min(lost[lane].Frames, maxLost)
	}
	return lost
}
