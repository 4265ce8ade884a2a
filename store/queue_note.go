package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// end enters that a lane is over.
func (q *queue) end(lane tap.Lane) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := &q.lanes[lane]; !l.ended {
		l.ended = true
		q.small(lane, entryEnd, nil)
	}
}

// note enters a life frame.
func (q *queue) note(payload []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(payload) > minRoom { // an argv of megabytes: what was run is in the header too
		payload = payload[:minRoom]
	}
	if !q.settle() || !q.small(tap.Life, entryNote, payload) {
		q.lose(tap.Life, append(payload, '\n'))
	}
}

// small enters a payload of at most minRoom bytes in the life lane's block. It
// waits for room as a pump does, and reports false when there is none.
func (q *queue) small(lane tap.Lane, kind uint8, payload []byte) bool {
	l := &q.lanes[tap.Life]
	for q.next-q.drained >= ringEntries-ringReserve/2 || !q.place(l) {
		if q.failing || q.closed {
			return false
		}
		q.waitSpace()
	}
	copy(q.blocks[l.block*q.blockSize+l.off:], payload)
	q.enter(lane, kind, l.block, l.off, len(payload))
	l.off += len(payload)
	return true
}

// lose accounts for bytes that cross unrecorded.
func (q *queue) lose(lane tap.Lane, p []byte) {
	if len(p) == 0 {
		return
	}
	lost := &q.lost[lane]
	lost.Bytes += uint64(len(p))
	lost.Frames += uint64(bytes.Count(p, []byte{'\n'}))
	lost.Mid = p[len(p)-1] != '\n'
	q.missed = true
	q.keepLost()
}

// keepLost writes the account of what was lost to the queue's header, so that
// it survives the process.
func (q *queue) keepLost() {
	for lane := range q.lost {
		l, b := &q.lost[lane], q.mem[headLost+lane*lostBytes:]
		binary.LittleEndian.PutUint64(b, l.Bytes)
		binary.LittleEndian.PutUint64(b[8:], l.Frames)
		b[16] = 0
		if l.Mid {
			b[16] = 1
		}
	}
}

// settle enters the account of what was lost, before anything that comes after.
// It reports false when there is no room for it yet.
func (q *queue) settle() bool {
	if !q.missed {
		return true
	}
	payload, err := json.Marshal(q.lost)
	if err != nil {
		panic(err) // numbers only
	}
	if !q.small(tap.Life, entryGap, payload) {
		return false
	}
	q.lost, q.missed = [tap.Lanes]lostLane{}, false
	q.keepLost()
	return true
}

// settleLast settles before the end. It reports whether that made an entry.
func (q *queue) settleLast() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.missed && q.settle()
}

// pull hands the writer the next entries, until their bytes reach limit. more
// says that some were left.
func (q *queue) pull(into []entry, limit int) (entries []entry, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	entries = into[:0]
	for ; q.taken < q.next && limit > 0; q.taken++ {
		e := q.ring[q.taken%ringEntries]
		entries = append(entries, e)
		limit -= int(e.N) + entryBytes
	}
	return entries, q.taken != q.next
}

// bytes returns the chunk of an entry.
func (q *queue) bytes(e *entry) []byte { return q.blocks[e.Pos : e.Pos+uint64(e.N)] }

// commit says that the store has these entries, so their memory is free again.
func (q *queue) commit(entries []entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range entries {
		b := int(entries[i].Pos) / q.blockSize
		q.state[b].done += int(entries[i].N)
		if b := &q.state[b]; b.done == b.used && !b.open && entries[i].N > 0 {
			q.free = append(q.free, int(entries[i].Pos)/q.blockSize)
		}
	}
	q.drained += uint64(len(entries))
	binary.LittleEndian.PutUint64(q.mem[headDrained:], q.drained)
	q.progress = time.Now()
	if q.failing {
		q.failing = false
	}
	q.space.Broadcast()
}

// fail says that the store cannot take anything for now.
func (q *queue) fail() {
	q.mu.Lock()
	q.failing = true
	q.space.Broadcast()
	q.mu.Unlock()
}

// sleep reports whether the queue is empty, and if so has the next entry wake
// the writer.
func (q *queue) sleep() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.taken != q.next || q.closed {
		return false
	}
	q.sleeping = true
	return true
}
