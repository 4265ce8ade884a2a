package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

const (
	// maxMetaValue bounds one value of the meta bucket: an argv can have
	// megabytes, no more.
	maxMetaValue = 64 << 20
	// maxStored bounds a segment as stored: maxSegment when it does not
	// compress, with room to spare.
	maxStored = maxSegment + maxSegment/8
	// viewLimit is how long a read is tried again because the file changed
	// under it.
	viewLimit = 10 * time.Second
)

// A snap is one state of a recording's file, open for reading.
type snap struct {
	p *pages
	// tries counts how often the file has changed under this read. A reader of
	// much should then try with less.
	tries int
}

// viewFile opens the file, lets fn read it, and closes it. fn may be called
// several times: again when a commit may have overwritten pages under it. What
// fn returns is only believed when the state that it read was the newest before
// and after; then an error of structure is damage, not a race.
func viewFile(path string, fn func(*snap) error) error {
	began := time.Now()
	for tries := 0; ; tries++ {
		again, err := viewOnce(path, tries, fn)
		if !again {
			return err
		}
		if time.Since(began) > viewLimit {
			return fmt.Errorf("%s changed each time that it was read, for %v; try again when less is being recorded", path, viewLimit)
		}
		time.Sleep(time.Millisecond)
	}
}

// openRegular opens a file that may be a recording. Opening a FIFO would wait for its
// other end, and a device may do anything.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, notRecording(path, "it is not a regular file")
	}
	return os.Open(path)
}

func viewOnce(path string, tries int, fn func(*snap) error) (again bool, err error) {
	f, err := openRegular(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	p, err := openPages(f)
	if err != nil {
		return false, explain(f, path, err)
	}
	err = fn(&snap{p: p, tries: tries})
	if now, merr := readMeta(f); merr == nil && now.txid != p.txid {
		return true, nil
	}
	return false, explain(f, path, err)
}

// explain turns an error of structure into one that a person can act on.
func explain(f *os.File, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNoMeta) && !smellsLikeRecording(f):
		return notRecording(path, contentOf(f))
	case errors.Is(err, errPage), errors.Is(err, errSegment):
		return damaged(path, err)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) && pe.Op == "read" { // a directory, or a failing disk
		return fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return err
}

// contentOf says what a file is that is no recording.
func contentOf(f *os.File) string {
	var head [4]byte
	if _, err := f.ReadAt(head[:], 0); err == nil && string(head[:]) == "PK\x03\x04" {
		return "it is a zip archive, such as a bundle, which `mcptap open` shows"
	}
	return "its content is something else"
}

// smellsLikeRecording reports whether a file without a valid meta page was a
// recording once: it has what is left of a meta, or a segment.
func smellsLikeRecording(f *os.File) bool {
	buf := make([]byte, 1<<20)
	n, _ := f.ReadAt(buf, 0)
	buf = buf[:n]
	for off := 0; off+pageHeader+metaBytes <= len(buf) && off <= pageSize; off += pageSize {
		if binary.LittleEndian.Uint32(buf[off+pageHeader:]) == metaMagic {
			return true
		}
	}
	return indexSegment(buf) >= 0
}

func notRecording(path, why string) error {
	return fmt.Errorf("%s: %w (%s)", path, ErrNotRecording, why)
}

func damaged(path string, err error) error {
	return fmt.Errorf("%s: %w (%v); `mcptap export --salvage` gets out what can still be read", path, ErrDamaged, err)
}

// bucket opens one of the file's buckets. It is nil if there is none.
func (s *snap) bucket(name []byte) (*tree, error) {
	e, err := s.p.top().get(name)
	if err != nil || e == nil {
		return nil, err
	}
	return s.p.open(e)
}

// metaValue reads one value of the meta bucket, nil if there is none.
func (s *snap) metaValue(meta *tree, k []byte) ([]byte, error) {
	e, err := meta.get(k)
	if err != nil || e == nil {
		return nil, err
	}
	if e.bucket || e.length > maxMetaValue {
		return nil, fmt.Errorf("%w: meta value %s has %d bytes", errPage, k, e.length)
	}
	v, err := s.p.read(e.val, e.length)
	if err != nil || bytes.Equal(k, keyFormat) {
		return v, err
	}
	return unseal(k, v)
}

// errForeign means that the file is a database, but not ours.
var errForeign = errors.New("a database of another program")

// version reads the format version.
func (s *snap) version() (int, *tree, error) {
	meta, err := s.bucket(bucketMeta)
	if err != nil {
		return 0, nil, err
	}
	if meta == nil {
		return 0, nil, errForeign
	}
	text, err := s.metaValue(meta, keyFormat)
	if err != nil {
		return 0, nil, err
	}
	v, err := strconv.Atoi(string(text))
	if err != nil || v < 0 {
		frames, err := s.bucket(bucketFrames)
		if err == nil && frames == nil {
			return 0, nil, errForeign
		}
		return 0, nil, fmt.Errorf("%w: its format is %.20q", errPage, text)
	}
	return v, meta, nil
}

// A summary is the meta bucket, decoded.
type summary struct {
	header tap.Header
	tally  session.Tally
	state  State
	end    *End
}

// summary reads the meta bucket, or of it only what is asked for. Whoever reads
// frames needs two small values of it.
func (s *snap) summary(only ...[]byte) (summary, error) {
	var sum summary
	_, meta, err := s.version()
	if err != nil {
		return sum, err
	}
	keys := [][]byte{keyHeader, keyTally, keyState, keyEnd}
	if len(only) > 0 {
		keys = only
	}
	values := make(map[string][]byte)
	for _, k := range keys {
		v, err := s.metaValue(meta, k)
		if err != nil {
			return sum, err
		}
		if v == nil && !bytes.Equal(k, keyEnd) {
			v = []byte{} // it is missing, which is an error
		}
		if v != nil {
			values[string(k)] = v
		}
	}
	return decodeSummary(values)
}

func decodeSummary(values map[string][]byte) (sum summary, err error) {
	parse := func(k []byte, into any) {
		if values[string(k)] == nil {
			return
		}
		if uerr := json.Unmarshal(values[string(k)], into); uerr != nil && err == nil {
			err = fmt.Errorf("%w: meta value %s: %v", errPage, k, uerr)
		}
	}
	parse(keyHeader, &sum.header)
	parse(keyTally, &sum.tally)
	parse(keyState, &sum.state)
	if values[string(keyEnd)] != nil {
		sum.end = new(End)
	}
	parse(keyEnd, sum.end)
	if err == nil && !sum.state.sound() {
		err = fmt.Errorf("%w: meta value state makes no sense", errPage)
	}
	if err == nil && sum.end != nil && sum.end.At < 0 {
		err = fmt.Errorf("%w: meta value end makes no sense", errPage)
	}
	return sum, err
}
