package store

import (
	"encoding/binary"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// end enters that a lane is over.
func (q *queue) end(lane tap.Lane) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := &q.lanes[lane]; !l.ended && !q.dead {
		l.ended = true
		if q.ready() {
			q.put(tag{Lane: uint8(lane), Kind: entryEnd}, nil)
		}
	}
}

// note enters a life frame of at most maxNote bytes, of an exchange or of the
// run.
func (q *queue) note(exchange uint64, payload []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.dead:
	case !q.ready():
		q.lose(tap.Lifecycle, append(payload, '\n'))
	case exchange == 0:
		q.put(tag{Kind: entryNote}, payload)
	default:
		q.putNumbered(tag{Kind: entryEvent}, exchange, payload)
	}
}

// ready waits for room for one entry that is copied, and enters the account of
// what was lost before it. It reports false when there is no room to be had.
func (q *queue) ready() bool {
	for q.spot() {
		if !q.missed {
			return true
		}
		q.account()
	}
	return false
}

// spot waits, as a pump does, for room for one entry of minRoom bytes: in the
// life lane's block, which is that of all that is copied. It reports false when
// there is none to be had.
func (q *queue) spot() bool {
	for q.next-q.drained >= ringEntries-ringReserve/2 || !q.place(&q.lanes[tap.Lifecycle]) {
		if q.failing || q.closed {
			return false
		}
		q.waitSpace()
	}
	return true
}

// put copies an entry to the spot that there is.
func (q *queue) put(t tag, payload []byte) {
	l := &q.lanes[tap.Lifecycle]
	copy(q.blocks[l.block*q.blockSize+l.off:], payload)
	q.enter(t, l.block, l.off, len(payload))
	l.off += len(payload)
}

// lose accounts for bytes that cross unrecorded.
func (q *queue) lose(lane tap.Lane, p []byte) {
	if len(p) == 0 {
		return
	}
	q.lost[lane].add(p)
	q.missed = true
	q.keepLost()
}

// settle enters the account of what was lost, before anything that comes after.
// It reports false when there is no room for it yet.
func (q *queue) settle() bool { return !q.missed || q.ready() }

// account enters one entry of the account, for which there is a spot.
func (q *queue) account() {
	if q.accountStream() {
		return
	}
	if q.lost != [tap.Lanes]lostLane{} {
		q.put(tag{Kind: entryGap}, mustJSON(q.lost))
	}
	q.lost, q.missed = [tap.Lanes]lostLane{}, false
	q.keepLost()
	q.forgetTorn()
}

// settleLast settles before the end, when the store has all else.
func (q *queue) settleLast() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.settle()
}

// unsettled reports whether there is an account that was not entered.
func (q *queue) unsettled() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.missed
}

// pull appends the next entries to those that the writer has, until their bytes
// reach limit. more says that some were left.
func (q *queue) pull(entries []entry, limit int) (_ []entry, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for ; q.taken < q.next && limit > 0; q.taken++ {
		e := q.ring[q.taken%ringEntries]
		entries = append(entries, e)
		limit -= int(e.N) + entryBytes
	}
	return entries, q.taken != q.next
}

// filling reports whether so much of the queue is in use that it grows with the
// traffic: more than an eighth, and more than the lanes need.
func (q *queue) filling() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.fresh-len(q.free) > max(q.usable/8, int(tap.Lanes)+1) || q.next-q.drained > ringEntries/2
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
