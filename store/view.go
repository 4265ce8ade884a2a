package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

const (
	// maxMetaValue is the maximum size of a value of the meta bucket. A command can have
	// megabytes.
	maxMetaValue = 64 << 20
	// maxStored is the maximum stored size of a segment: maxSegment if it does not
	// compress, plus overhead.
	maxStored = maxSegment + maxSegment/8
	// viewLimit is the maximum time for which a read is repeated because the file changed
	// during it.
	viewLimit = 10 * time.Second
)

// viewFile opens the file, calls fn to read it, and closes it. fn may be called
// several times if a commit may have overwritten pages that it read. The result
// of fn is used only if the state that it read was the newest before
// and after. Then an error in the structure is damage, not a race.
func viewFile(path string, fn func(*pages) error) error {
	began := time.Now()
	for tries := 0; ; tries++ {
		retry, err := viewOnce(path, tries, fn)
		if !retry {
			return err
		}
		if time.Since(began) > viewLimit {
			return fmt.Errorf("%s changed during every read for %v; retry when less is being recorded", path, viewLimit)
		}
		time.Sleep(time.Millisecond)
	}
}

// openRegular opens a regular file. Opening a FIFO would wait for its
// other end, and opening a device may have any effect.
func openRegular(path string) (*os.File, error) {
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return nil, notRecording(path, "it is a directory")
	case err == nil && !info.Mode().IsRegular():
		return nil, notRecording(path, "it is not a regular file")
	}
	return os.Open(path)
}

func viewOnce(path string, tries int, fn func(*pages) error) (retry bool, err error) {
	f, err := openRegular(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	p, err := openPages(f)
	if err != nil {
		return false, explain(f, path, err)
	}
	p.tries = tries
	err = fn(p)
	if now, merr := readMeta(f); merr == nil && now.txid != p.txid {
		return true, nil
	}
	return false, explain(f, path, err)
}

// explain turns an error in the structure into one that users can act on.
func explain(f *os.File, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNewer):
		return fmt.Errorf("%s: %w", path, err)
	case errors.Is(err, errForeign):
		return notRecording(path, "it is "+errForeign.Error())
	case errors.Is(err, errNoMeta) && !looksLikeRecording(f):
		return notRecording(path, contentOf(f))
	case errors.Is(err, errPage), errors.Is(err, errSegment):
		return damaged(path, err)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) && pe.Op == "read" { // a failing disk
		return fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return err
}

// contentOf describes a file that is not a recording.
func contentOf(f *os.File) string {
	var head [4]byte
	switch n, _ := f.ReadAt(head[:], 0); {
	case n == 0:
		return "it is empty"
	case string(head[:]) == "PK\x03\x04":
		return "it is a zip archive, such as a bundle, which `mcptap show` and `mcptap web` accept"
	}
	return "its content is not recognized"
}

// looksLikeRecording reports whether a file without a valid meta page may be a damaged
// recording: it has part of a meta, or a segment.
func looksLikeRecording(f *os.File) bool {
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
	return fmt.Errorf("%s: %w (%v); `mcptap export --salvage` recovers what can still be read", path, ErrDamaged, err)
}

// bucket opens one of the file's buckets. It is nil if there is none.
func (p *pages) bucket(name []byte) (*tree, error) {
	e, err := p.top().get(name)
	if err != nil || e == nil {
		return nil, err
	}
	return p.open(e)
}

// metaValue reads one value of the meta bucket, nil if there is none.
func (p *pages) metaValue(meta *tree, k []byte) ([]byte, error) {
	e, err := meta.get(k)
	if err != nil || e == nil {
		return nil, err
	}
	if e.bucket || e.length > maxMetaValue {
		return nil, fmt.Errorf("%w: meta value %s has %d bytes", errPage, k, e.length)
	}
	v, err := p.read(e.val, e.length)
	if err != nil || bytes.Equal(k, keyFormat) {
		return v, err
	}
	return unseal(k, v)
}

// metaBucket returns the meta bucket of a version of the format that this program reads.
func (p *pages) metaBucket() (*tree, error) {
	meta, err := p.bucket(bucketMeta)
	if err == nil && meta == nil {
		err = errForeign
	}
	if err != nil {
		return nil, err
	}
	text, err := p.metaValue(meta, keyFormat)
	if err != nil {
		return nil, err
	}
	v, err := strconv.Atoi(string(text))
	switch {
	case err == nil && v > FormatVersion:
		return nil, fmt.Errorf("%w (its format is %d, this program knows up to %d): update mcptap to read it", ErrNewer, v, FormatVersion)
	case err == nil && v > 0:
		return meta, nil
	}
	if frames, err := p.bucket(bucketFrames); err == nil && frames == nil {
		return nil, errForeign
	}
	return nil, fmt.Errorf("%w: its format is %.20q", errPage, text)
}

// readVersion returns an error if the file is not a recording that this program reads.
func readVersion(path string) error {
	return viewFile(path, func(p *pages) error {
		_, err := p.metaBucket()
		return err
	})
}

// readSummary reads the summary of the recording at path.
func readSummary(path string) (sum summary, err error) {
	err = viewFile(path, func(p *pages) error {
		sum, err = p.summary()
		return err
	})
	return sum, err
}

// A summary is the meta bucket, decoded.
type summary struct {
	header tap.Header
	tally  session.Tally
	state  state
	end    *End
	short  bool // the file ends before its last page
}

// summary reads the meta bucket, or only the given keys. Reading frames needs
// two small values.
func (p *pages) summary(only ...[]byte) (sum summary, err error) {
	meta, err := p.metaBucket()
	if err != nil {
		return sum, err
	}
	sum.short = uint64(p.size)/pageSize < p.end
	for _, value := range []struct {
		k    []byte
		into any
	}{{keyHeader, &sum.header}, {keyTally, &sum.tally}, {keyState, &sum.state}, {keyEnd, &sum.end}} {
		is := func(k []byte) bool { return bytes.Equal(k, value.k) }
		if len(only) > 0 && !slices.ContainsFunc(only, is) {
			continue
		}
		v, err := p.metaValue(meta, value.k)
		if err == nil && (v != nil || !is(keyEnd)) {
			if err = json.Unmarshal(v, value.into); err != nil {
				err = fmt.Errorf("%w: meta value %s: %v", errPage, value.k, err)
			}
		}
		if err != nil {
			return sum, err
		}
	}
	if !sum.state.sound() {
		return sum, fmt.Errorf("%w: meta value state is inconsistent", errPage)
	}
	if sum.end != nil && sum.end.At < 0 {
		return sum, fmt.Errorf("%w: meta value end is invalid", errPage)
	}
	return sum, nil
}

// A batchOf is some consecutive segments, copied from the file.
type batchOf struct {
	segs []stored
	size int  // of the segments
	last bool // there are no further segments
	sum  summary
	// least is the minimum number of further segments after the first, whatever the budget.
	least int
}

// A stored is one segment as stored in the file.
type stored struct {
	key  uint64
	data []byte
}

func (b *batchOf) reset() { b.segs, b.size, b.last = b.segs[:0], 0, false }

// add copies a segment from a file, or returns errStop if that exceeds the budget.
func (b *batchOf) add(r io.ReaderAt, n uint64, off, length int64, budget int) error {
	if length < segmentHeader || length > maxStored {
		return fmt.Errorf("%w: segment %d has %d bytes", errPage, n, length)
	}
	if len(b.segs) > b.least && b.size+int(length) > budget {
		return errStop
	}
	data := make([]byte, length)
	if _, err := r.ReadAt(data, off); err != nil {
		return pageError(err, "segment %d", n)
	}
	b.segs = append(b.segs, stored{n, data})
	b.size += len(data)
	return nil
}

// number decodes a key that is a number.
func number(e *elem) (uint64, error) {
	if len(e.key) != 8 {
		return 0, fmt.Errorf("%w: a key of %d bytes where a number was expected", errPage, len(e.key))
	}
	return binary.BigEndian.Uint64(e.key), nil
}

// segments copies the segments of a bucket of buckets, up to a budget.
// A read that failed because of a commit is repeated with a smaller budget, so that a
// reader makes progress however busy the tap is.
func (p *pages) segments(b *batchOf, name []byte, from, end uint64, budget int) error {
	budget >>= min(p.tries, 16)
	outer, err := p.bucket(name)
	if err != nil {
		return err
	}
	if outer == nil {
		return fmt.Errorf("%w: bucket %s is missing", errPage, name)
	}
	k := key(from)
	err = outer.ascend(k, func(e *elem) error {
		first, err := number(e)
		if err != nil {
			return err
		}
		if first >= end {
			return errStop
		}
		inner, err := p.open(e)
		if err != nil {
			return err
		}
		return inner.ascend(k, func(e *elem) error {
			n, err := number(e)
			if err != nil {
				return err
			}
			if n < first {
				return fmt.Errorf("%w: segment %d in bucket %d", errPage, n, first)
			}
			if n >= end {
				return errStop
			}
			if e.bucket {
				return fmt.Errorf("%w: a bucket where segment %d was expected", errPage, n)
			}
			return b.add(p.r, n, e.val, e.length, budget)
		})
	})
	b.last = err == nil
	if err == errStop {
		err = nil
	}
	return err
}
