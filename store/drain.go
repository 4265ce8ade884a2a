package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"

	bolt "go.etcd.io/bbolt"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// drainDead finishes the recording at path if its tap is gone without having finished it:
// it appends the rest of the queue, ends the incomplete frames, and marks the recording as
// cut, unless the tap had ended and only the disk had failed. It does nothing to a finished
// recording, and several processes may call it concurrently. ErrLive means that the tap is
// alive or that another process is finishing the recording.
func drainDead(path string) error {
	f, err := lockDead(path + QueueExt)
	if f == nil || err != nil {
		return err
	}
	defer f.Close()
	d, err := readDead(f)
	if _, statErr := os.Stat(path); err != nil && statErr == nil && !errors.Is(err, ErrNewer) {
		// The machine stopped before the queue was on disk. Frames that
		// the recording has begun still have to be ended.
		d, err = &deadQueue{f: f}, nil
	}
	if err == nil {
		err = d.appendTo(path)
	}
	if err != nil {
		return fmt.Errorf("recover %s: %w", path, err)
	}
	if removeDead(path+QueueExt) != nil { // Windows does not remove open files
		f.Close()
		_ = removeDead(path + QueueExt) // if it remains, it is harmless: all of it is in the recording
	}
	return nil
}

// removeDead can be replaced by tests.
var removeDead = os.Remove

// A deadQueue is the queue of a tap that is gone.
type deadQueue struct {
	queueHeader
	f    *os.File
	live bool // its memory can be trusted
}

func readDead(f *os.File) (*deadQueue, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	head := make([]byte, queueHead)
	if _, err := io.ReadFull(f, head); err != nil {
		return nil, fmt.Errorf("read queue header: %w", err)
	}
	d := &deadQueue{f: f}
	if d.queueHeader, err = decodeQueueHead(head); err != nil {
		return nil, err
	}
	whole := info.Size() >= int64(queueBytes(d.blockSize, d.blocks)) // otherwise it is only a lock, or truncated
	d.live = whole && d.boot != "" && d.boot == bootID()
	return d, nil
}

// appendTo appends the rest of the queue to the recording.
func (d *deadQueue) appendTo(path string) error {
	db := dbfile{path: path}
	if unborn(path) {
		os.Remove(path)
		if d.header.ID == "" { // it cannot be read
			d.header = headerFromName(path)
		}
		if err := db.create(d.header); err != nil {
			return err
		}
	} else if err := checkFile(path); err != nil {
		return err
	}
	return db.update(d.finish)
}

// unborn reports whether the tap was killed before it made its file: the file is missing,
// empty, or only initialized by bbolt.
func unborn(path string) bool {
	f, err := openRegular(path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer f.Close()
	p, err := openPages(f)
	if err == nil {
		return p.txid <= bornTxid
	}
	info, statErr := f.Stat()
	head := make([]byte, pageHeader+metaBytes)
	n, _ := f.ReadAt(head, 0)
	return errors.Is(err, errNoMeta) && statErr == nil && info.Size() <= 4*pageSize && allZero(head[:n])
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// bornTxid is the number of the commit with which bbolt initializes a file. Its pages
// need not have reached the disk when the machine stopped, as bbolt syncs only once
// for all of them.
const bornTxid = 1

// finish appends everything in one transaction.
func (d *deadQueue) finish(tx *bolt.Tx) error {
	asm, sum, err := resume(tx.DB().Path())
	switch {
	case err != nil:
		return err
	case d.header.ID != "" && sum.header.ID != d.header.ID:
		// The files of two recordings can be swapped by renaming.
		return fmt.Errorf("its queue belongs to another recording, %.40q, and is left unchanged", d.header.ID)
	case sum.end != nil:
		return nil // everything was written, only the queue was not removed
	}
	asm.begin()
	next := asm.st.Ticket
	if d.live {
		if next, err = d.feed(asm); err != nil {
			return err
		}
		if lost := d.lost; lost != [tap.Lanes]lostLane{} {
			asm.gap(asm.seg.last, lost, "")
		}
	}
	asm.endAll()
	b := asm.commit(next)
	b.end = &End{At: asm.seg.last, Cut: !d.left || !d.live}
	return b.write(tx)
}

// resume returns an assembler that continues the recording at path. Its tally must see all
// frames. If they cannot be read, the tally stays as it was, and further frames count as a
// session of their own.
func resume(path string) (*assembler, summary, error) {
	asm := newAssembler()
	sum, err := readSummary(path)
	if err != nil {
		return nil, sum, err
	}
	asm.st, asm.tally, asm.seg.last = sum.state, sum.tally, sum.state.LastAt
	if old := asm.st.Pending; old != nil {
		for lane, p := range old {
			if p.Parts.Count > 0 || p.Truncated {
				asm.st.Open = append(asm.st.Open, unended{Lane: tap.Lane(lane), Line: true, pending: p})
			}
		}
		asm.st.Pending = nil
	}
	r := &Recording{path: path, src: fileSource(path), maxRaw: DefaultMaxRaw}
	for _, o := range asm.st.Open {
		if o.Lane >= tap.Lanes || o.Form >= tap.Forms {
			return nil, sum, fmt.Errorf("%w: it continues with a frame of lane %d and form %d", ErrDamaged, o.Lane, o.Form)
		}
		c := &openFrame{stream: stream{o.Exchange, o.Lane, o.Line}, form: o.Form, pending: o.pending}
		_, err := r.eachPart(c.Parts, func(part []byte) error {
			asm.remember(c, part)
			return nil
		})
		if err != nil {
			return nil, sum, err
		}
		asm.begun[c.stream] = c
	}
	var tally session.Tally
	for f, err := range r.Frames(0) {
		if err != nil {
			return asm, sum, nil
		}
		tally.Add(&f)
	}
	asm.tally = tally
	return asm, sum, nil
}

// feed passes the entries that are not in the recording to the assembler.
func (d *deadQueue) feed(asm *assembler) (next uint64, err error) {
	b := make([]byte, ringEntries*entryBytes)
	if _, err := d.f.ReadAt(b, queueHead); err != nil {
		return 0, fmt.Errorf("read queue: %w", err)
	}
	ring := unsafe.Slice((*entry)(unsafe.Pointer(unsafe.SliceData(b))), ringEntries)
	size := uint64(d.blockSize) * uint64(d.blocks)
	begin := asm.st.Ticket
	if d.drained > begin {
		// The file with these was removed, or is a copy made before them. The
		// ring still has them, but their memory has been reused.
		begin = d.drained
		asm.truncate()
		asm.note(0, asm.seg.last, tap.Event{Name: tap.EventGap, Error: lostFile}.Encode())
	}
	for next = begin; ; next++ {
		e := ring[next%ringEntries]
		if e.Mark != next+1 || e.Pos > size-uint64(e.N) || e.At < int64(asm.seg.last) || next-begin == ringEntries || !d.sane(&e) {
			return next, nil
		}
		p := make([]byte, e.N)
		if _, err := d.f.ReadAt(p, int64(queueHead+ringEntries*entryBytes)+int64(e.Pos)); err != nil {
			return next, nil
		}
		feed(asm, []entry{e}, func(*entry) []byte { return p })
	}
}

// lostFile is the reason for a gap between a file and its queue.
const lostFile = "the recording's file was removed with its content, or copied before its queue"

// sane reports whether the fields of an entry are in their ranges.
func (d *deadQueue) sane(e *entry) bool {
	isNumbered := e.Kind == entryPiece || e.Kind == entryEvent
	return e.Kind < entryKinds && e.Lane < uint8(tap.Lanes) && e.Form < uint8(tap.Forms) &&
		uint64(e.N) <= uint64(d.blockSize) && (!isNumbered || e.N >= streamBytes)
}
