package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcptap/mcptap/tap"
)

// importBytes is the number of bytes that a [Writer] collects for one commit.
const importBytes = 8 << 20

// A Writer writes existing frames to a recording, as import does. The file appears under
// its name only when Close succeeds. After an error no file is left, and every
// further call returns that error.
type Writer struct {
	path  string
	db    dbfile
	asm   *assembler
	parts int // maximum size of a part, tap.PartSize except in tests
	limit int // size of a commit, importBytes except in tests
	err   error
}

// NewWriter creates a recording at path, which must not exist.
func NewWriter(path string, h tap.Header) (*Writer, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("%s already exists; remove it or choose another name", path)
	}
	// The leading dot and the other extension hide it from ls and List.
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+NewID()+".part")
	w := &Writer{path: path, db: dbfile{path: tmp}, asm: newAssembler(), parts: tap.PartSize, limit: importBytes}
	if err := w.db.create(h); err != nil {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	w.asm.begin()
	return w, nil
}

// Add appends a frame, whose Raw must be complete. Numbers must ascend. Skipped numbers are
// recorded as a gap.
func (w *Writer) Add(f tap.Frame) error {
	if w.err != nil {
		return w.err
	}
	if err := w.check(&f); err != nil {
		return w.fail(err)
	}
	if f.Seq > w.asm.st.NextSeq {
		w.asm.skip(f.Seq)
	}
	f.Size = int64(len(f.Raw))
	w.asm.tally.Add(&f)
	c, rest := openFrame{}, f.Raw
	for len(rest) > w.parts {
		w.asm.part(&c, rest[:w.parts])
		rest = rest[w.parts:]
		if err := w.flush(w.limit); err != nil {
			return err
		}
	}
	w.asm.append(&record{Frame: f, parts: c.Parts}, rest)
	return w.flush(w.limit)
}

// check refuses frames that the format cannot represent or that no tap produces.
func (w *Writer) check(f *tap.Frame) error {
	switch {
	case f.Seq >= maxFrames:
		return fmt.Errorf("frame %d: no recording has that many frames", f.Seq)
	case f.Seq < w.asm.st.NextSeq:
		return fmt.Errorf("frame %d comes after frame %d; numbers must ascend from 1", f.Seq, w.asm.st.NextSeq-1)
	case f.Lane >= tap.Lanes:
		return fmt.Errorf("frame %d is of the unknown lane %d", f.Seq, f.Lane)
	case f.Form >= tap.Forms:
		return fmt.Errorf("frame %d is of the unknown form %d", f.Seq, f.Form)
	case f.At < w.asm.seg.last:
		return fmt.Errorf("frame %d was at %v, before the frame that it follows, at %v", f.Seq, f.At, w.asm.seg.last)
	case f.Took < 0 || f.Took > f.At:
		return fmt.Errorf("frame %d took %v until %v, longer than the recording ran", f.Seq, f.Took, f.At)
	case f.Size > int64(len(f.Raw)):
		return fmt.Errorf("frame %d has %d of its %d bytes; it must be read whole first", f.Seq, len(f.Raw), f.Size)
	}
	return nil
}

// flush commits if more than limit bytes were collected.
func (w *Writer) flush(limit int) error {
	if len(w.asm.out.buf) <= limit {
		return nil
	}
	err := w.db.update(w.asm.commit(0).write)
	w.asm.begin()
	if err != nil {
		return w.fail(err)
	}
	return nil
}

// Close finishes the recording and gives it its name. Its commits are synced, so it is as
// durable as a recorded one.
func (w *Writer) Close(end End) error {
	if w.err != nil {
		return w.err
	}
	if end.At < 0 {
		return w.fail(fmt.Errorf("it ends at %v, before its start", end.At))
	}
	b := w.asm.commit(0)
	b.end = &end
	if err := w.db.update(b.write); err != nil {
		return w.fail(err)
	}
	w.db.trim()
	if err := publish(w.db.path, w.path); err != nil {
		return w.fail(err)
	}
	w.err = errors.New("the recording is already closed")
	return nil
}

// publish renames a file, but not over another one.
func publish(tmp, path string) error {
	err := os.Link(tmp, path)
	switch {
	case err == nil:
		return os.Remove(tmp)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s already exists; remove it or choose another name", path)
	}
	if _, serr := os.Lstat(path); serr == nil { // the file system has no hard links
		return fmt.Errorf("%s already exists; remove it or choose another name", path)
	}
	return os.Rename(tmp, path)
}

// Abort discards the recording. It does nothing after Close.
func (w *Writer) Abort() {
	if w.err == nil {
		_ = w.fail(errors.New("the recording was abandoned"))
	}
}

func (w *Writer) fail(err error) error {
	w.err = fmt.Errorf("write %s: %w", w.path, err)
	os.Remove(w.db.path)
	return w.err
}
