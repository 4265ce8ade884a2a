package store

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// ready waits for room for one entry of n bytes, and enters what was lost before it.
// It reports false when there is no room to be had. What is left of a block when
// something was lost is left, so that there is not a gap for every other chunk.
func (q *queue) ready(n int) bool {
	for q.missed && q.room(minRoom) {
		q.settle()
	}
	return !q.missed && q.room(n) && (!q.missed || q.ready(n))
}

// room waits for n bytes in the current block, and a place in the ring.
func (q *queue) room(n int) bool {
	for !q.dead {
		if q.next-q.drained < ringEntries && q.block(n) {
			return true
		}
		if q.failing || q.closed {
			return false
		}
		q.waitSpace()
	}
	return false
}

// block makes sure that the current block has n bytes left, if one can be had.
func (q *queue) block(n int) bool {
	if q.cur >= 0 && q.blockSize-q.off >= n {
		return true
	}
	if k := len(q.free); k > 0 {
		q.cur, q.off, q.free = q.free[k-1], 0, q.free[:k-1]
		return true
	}
	if q.fresh >= q.usable {
		return false
	}
	if i := q.fresh; q.file != nil && i >= firstBlocks {
		// Touching a page of a sparse mapping on a full disk would be fatal, so
		// the file gets its space first.
		if err := q.file.allocate(int64(queueBytes(q.blockSize, i)), int64(q.blockSize)); err != nil {
			q.usable = q.fresh
			return false
		}
		populate(q.blocks[i*q.blockSize : (i+1)*q.blockSize]) // all of it is about to be written
	}
	q.cur, q.off = q.fresh, 0
	q.fresh++
	return true
}

// waitSpace waits for space.Broadcast, and notices a store that does not move.
func (q *queue) waitSpace() {
	if time.Since(q.moved) > stallLimit {
		q.failing = true
		if f := q.stalled; f != nil {
			q.mu.Unlock()
			f()
			q.mu.Lock()
		}
		return
	}
	q.wakeWriter()
	timer := time.AfterFunc(stallLimit/16, q.space.Broadcast)
	q.space.Wait()
	timer.Stop()
}

// losePiece accounts for bytes of a frame that cross unrecorded. One of which the ring
// has nothing keeps its number.
func (q *queue) losePiece(s stream, p []byte, end bool) {
	l := &q.lost[tap.Lifecycle]
	l.Bytes += uint64(len(p))
	switch begun, open := q.open[s]; {
	case !end:
		q.open[s] = open && begun
	case begun:
		q.cut = append(q.cut, s)
		delete(q.open, s)
	default:
		l.Frames++
		delete(q.open, s)
	}
	q.lose()
}

// lose notes that something was lost.
func (q *queue) lose() {
	if q.missed = true; !q.dead {
		q.keepLost()
	}
}

// settle enters one entry of what was lost, for which there is room: the end of a frame
// that the ring has the beginning of, or at last the account.
func (q *queue) settle() {
	if n := len(q.cut); n > 0 {
		s := q.cut[n-1]
		t := tag{Lane: uint8(s.lane), Kind: entryPiece, Flags: pieceEnd}
		if q.lost != [tap.Lanes]lostLane{} {
			t.Flags |= pieceTorn
		}
		q.put(t, numbered(s.exchange), nil)
		q.cut = q.cut[:n-1]
		return
	}
	if q.lost != [tap.Lanes]lostLane{} {
		q.put(tag{Kind: entryGap}, nil, mustJSON(q.lost))
	}
	q.loss = loss{}
	q.keepLost()
}

// keepLost writes the account of what was lost to the queue's header, so that
// it survives the process.
func (q *queue) keepLost() {
	for lane := range q.lost {
		l, b := &q.lost[lane], q.mem[headLost+lane*lostBytes:]
		binary.LittleEndian.PutUint64(b, l.Bytes)
		binary.LittleEndian.PutUint64(b[8:], l.Frames)
	}
}

// add counts bytes of a lane of stdio.
func (l *lostLane) add(p []byte) {
	l.join(lostLane{uint64(len(p)), uint64(bytes.Count(p, []byte{'\n'}))})
}

// join counts what another account has.
func (l *lostLane) join(other lostLane) {
	l.Bytes, l.Frames = l.Bytes+other.Bytes, l.Frames+other.Frames
}

// take waits for entries and appends the next ones to those that it is given, until
// their bytes reach limit. more says that some were left. It returns none at the end:
// when the queue is closed and empty, or dead.
func (q *queue) take(entries []entry, limit int) (_ []entry, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.taken == q.next && !q.closed && !q.dead {
		q.waiting = true
		q.mu.Unlock()
		<-q.wake
		q.mu.Lock()
	}
	if q.missed && q.taken == q.next {
		q.ready(0) // the store has all else, so there is room
	}
	for ; q.taken < q.next && limit > 0 && !q.dead; q.taken++ {
		e := q.ring[q.taken%ringEntries]
		entries = append(entries, e)
		limit -= int(e.N) + entryBytes
	}
	return entries, q.taken != q.next
}

// bytes returns the chunk of an entry.
func (q *queue) bytes(e *entry) []byte { return q.blocks[e.Pos : e.Pos+uint64(e.N)] }

// release says that the store has these entries, so their memory is free again.
func (q *queue) release(entries []entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range entries {
		b, n := int(entries[i].Pos)/q.blockSize, int(entries[i].N)
		if q.used[b] -= n; q.used[b] > 0 || n == 0 {
			continue
		}
		if b == q.cur {
			q.off = 0 // begin it anew
		} else {
			q.free = append(q.free, b)
		}
	}
	q.drained += uint64(len(entries))
	binary.LittleEndian.PutUint64(q.mem[headDrained:], q.drained)
	q.moved = time.Now()
	q.failing = q.dead
	q.space.Broadcast()
}

// fail says that the store cannot take anything for now.
func (q *queue) fail() {
	q.mu.Lock()
	q.failing = true
	q.space.Broadcast()
	q.mu.Unlock()
}

// close says that nothing more will be entered.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.wakeWriter()
	q.space.Broadcast()
	q.mu.Unlock()
}

// markLeft says in the header that the tap has seen all of its traffic. Where that
// fails, the recording is taken for cut off.
func (q *queue) markLeft() {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.file == nil:
	case q.outlives && !q.dead:
		q.mem[headLeft] = 1
	default:
		_, _ = q.file.f.WriteAt([]byte{1}, headLeft)
	}
}

// remake makes the queue's file again where it was removed, with what is not in the
// recording yet.
func (q *queue) remake(h tap.Header) error {
	if q.file == nil || !unlinked(q.file.f) {
		return nil
	}
	f, mem, err := createQueueFile(q.file.path, h, q.blockSize, len(q.used))
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if mem != nil {
		if err := f.allocate(0, int64(queueBytes(q.blockSize, max(q.fresh, firstBlocks)))); err != nil {
			f.remove()
			f.drop(mem)
			return err
		}
		copy(mem[headDrained:headBoot], q.mem[headDrained:])
		copy(mem[headLost:headHeader], q.mem[headLost:])
		copy(mem[queueHead:queueBytes(q.blockSize, 0)], q.mem[queueHead:])
		for i, n := range q.used {
			if at := queueBytes(q.blockSize, i); n > 0 {
				copy(mem[at:at+q.blockSize], q.mem[at:])
			}
		}
		old := q.mem
		q.lay(mem)
		q.file.drop(old)
	}
	q.file = f
	return nil
}
