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

// markDraining notes in a queue whose lock we have that its tap is gone.
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

// The header of a queue's file, little-endian:
//
//	   0   8  magic "mtapque1"
//	   8   4  block size
//	  12   4  blocks
//	  16   4  length of the tap.Header, JSON
//	  20   1  not 0: the tap is gone, and another program appends what it left
//	  21   1  not 0: the tap has ended, and could not bring the rest into the recording
//	  24   8  tickets below are in the recording, and their memory may be reused
//	  32  64  boot id of the machine, zero-padded
//	 128  96  what crossed unrecorded, 24 bytes a lane: bytes, frames, 8 without a meaning
//	 256      of older taps: which frames that have begun miss bytes. Now: if bytes are
//	          missing at all, then in each of them
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
	// maxLost bounds the frames of an account, so that frame numbers do not overflow.
	maxLost = 1 << 40
)

// A queueHeader is the header of a queue's file, decoded.
type queueHeader struct {
	blockSize, blocks int
	drained           uint64
	boot              string
	lost              [tap.Lanes]lostLane
	left              bool // by a tap that had seen its traffic to the end
	header            tap.Header
}

// encodeQueueHead returns the header of a new queue, which zeros follow.
func encodeQueueHead(h tap.Header, boot string, blockSize, blocks int) []byte {
	doc := mustJSON(&h)
	for _, shorter := range []tap.Header{ // an argv of many pages: its first word will do
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

// decodeQueueHead reads the header of a queue's file of the given size, of which b
// are the first queueHead bytes, and checks that they fit its size.
func decodeQueueHead(b []byte, size int64) (queueHeader, error) {
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
	if q.blockSize <= 0 || q.blockSize > maxBlock || q.blocks <= 0 || q.blocks > 1<<20 ||
		doc > queueHead-headHeader || int64(queueBytes(q.blockSize, q.blocks)) > size {
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
	_ = json.Unmarshal(p, &lost) // of a damaged queue, whatever could be read
	for lane := range lost {
		lost[lane].Frames = min(lost[lane].Frames, maxLost)
	}
	return lost
}
