package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
)

// The reading side does not use bbolt. bbolt maps the file and believes it: on
// a damaged one it panics, some of it in goroutines of its own, or recurses
// until the stack is gone, or faults, and a reader that wants to know what a
// stranger's file holds can prevent none of that. It also has to lock the file,
// so that every reader delays the tap. What a reader needs of the format is
// small, was frozen in 2014, and is all in this file and in tree.go: two meta
// pages, branch pages, leaf pages. They are read with pread and every number in
// them is checked before it is used.
//
// No lock is taken either. A bbolt transaction writes only to pages that the
// state before it does not use, then syncs, then writes its meta page. So what
// was read under meta page N is sound if N is still the newest afterwards: see
// [Recording.view].
const (
	metaMagic   = 0xED0CDAED
	metaVersion = 2
	metaBytes   = 64 // a meta without its page header
	metaSummed  = 56 // how much of it the checksum covers

	pageHeader  = 16
	elemBytes   = 16
	bucketBytes = 16 // root page and sequence, at the start of a bucket's value

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagMeta     = 0x04
	flagFreelist = 0x10
	flagBucket   = 0x01 // of a leaf element

	noFreelist = ^uint64(0)
)

// errPage is wrapped by every error about the structure of a file. Callers
// outside see ErrDamaged.
var errPage = errors.New("damaged page")

// errNoMeta means that neither meta page is one of bbolt's.
var errNoMeta = fmt.Errorf("%w: no valid meta page", errPage)

// A meta is one state of the file.
type meta struct {
	pageSize int64
	root     uint64
	freelist uint64
	end      uint64 // the first page number not in use
	txid     uint64
}

// pages reads the pages of one state of a file.
type pages struct {
	meta
	r    io.ReaderAt
	size int64 // of the file
}

// openPages reads the newest meta of a file, and its size after that: the file may
// grow with the next commit, and a meta may need pages that an older size lacks.
func openPages(f interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}) (*pages, error) {
	m, err := readMeta(f)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return &pages{meta: m, r: f, size: info.Size()}, nil
}

func newPages(r io.ReaderAt, size int64) (*pages, error) {
	m, err := readMeta(r)
	if err != nil {
		return nil, err
	}
	return &pages{meta: m, r: r, size: size}, nil
}

// readMeta returns the newer of the two metas. The page size is not known
// before one of them was found, so the second is looked for at every size that
// bbolt may have used, ours first.
func readMeta(r io.ReaderAt) (meta, error) {
	var buf [pageSize + pageHeader + metaBytes]byte
	n, err := r.ReadAt(buf[:], 0)
	if err != nil && err != io.EOF {
		return meta{}, err
	}
	m0, ok0 := parseMeta(buf[:n])
	if ok0 && m0.pageSize == pageSize {
		if m1, ok := parseMeta(buf[min(n, pageSize):n]); ok && m1.pageSize == pageSize && m1.txid > m0.txid {
			return m1, nil
		}
		return m0, nil
	}
	for size := int64(1 << 10); size <= 64<<10; size *= 2 {
		if ok0 && m0.pageSize != size {
			continue
		}
		n, err := r.ReadAt(buf[:pageHeader+metaBytes], size)
		if err != nil && err != io.EOF {
			return meta{}, err
		}
		m1, ok1 := parseMeta(buf[:n])
		if ok1 && m1.pageSize == size && (!ok0 || m1.txid > m0.txid) {
			return m1, nil
		}
	}
	if ok0 {
		return m0, nil
	}
	return meta{}, errNoMeta
}

// parseMeta reads a meta page and reports whether it is whole.
func parseMeta(b []byte) (meta, bool) {
	if len(b) < pageHeader+metaBytes {
		return meta{}, false
	}
	b = b[pageHeader:]
	m := meta{
		pageSize: int64(binary.LittleEndian.Uint32(b[8:])),
		root:     binary.LittleEndian.Uint64(b[16:]),
		freelist: binary.LittleEndian.Uint64(b[32:]),
		end:      binary.LittleEndian.Uint64(b[40:]),
		txid:     binary.LittleEndian.Uint64(b[48:]),
	}
	sum := fnv.New64a()
	sum.Write(b[:metaSummed])
	ok := binary.LittleEndian.Uint32(b) == metaMagic &&
		binary.LittleEndian.Uint32(b[4:]) == metaVersion &&
		binary.LittleEndian.Uint64(b[metaSummed:]) == sum.Sum64() &&
		m.pageSize >= 1<<10 && m.pageSize <= 64<<10 && m.pageSize&(m.pageSize-1) == 0
	return m, ok
}

// A node is one branch or leaf page, checked: every element lies within it and
// the keys ascend.
type node struct {
	leaf  bool
	elems []elem
	id    uint64
	pages uint64 // how many pages it takes
}

// An elem is one element of a node.
type elem struct {
	key    []byte
	child  uint64 // of a branch: the page
	bucket bool   // of a leaf: the value is a bucket
	val    int64  // of a leaf: where the value lies in the file
	length int64
}

// A run is where one page lies in the file, with those that follow it.
type run struct {
	id     uint64
	off    int64
	length int64
	flags  uint16
	count  int
	head   []byte // its first bytes: a page, or less
}

// run reads the header of a page.
func (p *pages) run(id uint64) (run, error) {
	if id < 2 || id >= p.end || id >= uint64(p.size)/uint64(p.pageSize) {
		return run{}, fmt.Errorf("%w: page %d is outside the file", errPage, id)
	}
	r := run{id: id, off: int64(id) * p.pageSize, head: make([]byte, p.pageSize)}
	if _, err := p.r.ReadAt(r.head, r.off); err != nil {
		return run{}, pageError(err, "page %d", id)
	}
	self := binary.LittleEndian.Uint64(r.head)
	r.flags = binary.LittleEndian.Uint16(r.head[8:])
	r.count = int(binary.LittleEndian.Uint16(r.head[10:]))
	more := uint64(binary.LittleEndian.Uint32(r.head[12:]))
	r.length = int64(more+1) * p.pageSize
	if self != id || id+more >= p.end || r.length > p.size-r.off {
		return run{}, fmt.Errorf("%w: page %d has a broken header", errPage, id)
	}
	return r, nil
}

// node reads a branch or leaf page.
func (p *pages) node(id uint64) (*node, error) {
	r, err := p.run(id)
	if err != nil {
		return nil, err
	}
	return p.parse(&r)
}

// inline reads the page within a bucket's value, after the bucket's header.
func (p *pages) inline(e *elem) (*node, error) {
	if e.length > p.pageSize {
		return nil, fmt.Errorf("%w: an inline bucket of %d bytes", errPage, e.length)
	}
	buf, err := p.read(e.val, e.length)
	if err != nil {
		return nil, err
	}
	if len(buf) < bucketBytes+pageHeader {
		return nil, fmt.Errorf("%w: an inline bucket of %d bytes", errPage, len(buf))
	}
	buf = buf[bucketBytes:]
	r := run{
		off: e.val + bucketBytes, length: int64(len(buf)), head: buf,
		flags: binary.LittleEndian.Uint16(buf[8:]),
		count: int(binary.LittleEndian.Uint16(buf[10:])),
	}
	if r.flags != flagLeaf {
		return nil, fmt.Errorf("%w: an inline bucket that is no leaf", errPage)
	}
	return p.parse(&r)
}

// parse checks and reads the elements of a page.
func (p *pages) parse(r *run) (*node, error) {
	if r.flags != flagBranch && r.flags != flagLeaf {
		return nil, fmt.Errorf("%w: page %d is neither branch nor leaf", errPage, r.id)
	}
	n := &node{leaf: r.flags == flagLeaf, id: r.id, pages: uint64(r.length / p.pageSize)}
	table := int64(pageHeader + r.count*elemBytes)
	if table > r.length {
		return nil, fmt.Errorf("%w: page %d has %d elements, which do not fit", errPage, r.id, r.count)
	}
	if table > int64(len(r.head)) {
		// Elements beyond the first page: one with many keys that bbolt has
		// not split. At most a MiB, for there are at most 65,535.
		head, err := p.read(r.off, table)
		if err != nil {
			return nil, err
		}
		r.head = head
	}
	n.elems = make([]elem, r.count)
	for i := range n.elems {
		if err := p.element(r, n, i); err != nil {
			return nil, err
		}
		if i > 0 && string(n.elems[i-1].key) >= string(n.elems[i].key) {
			return nil, fmt.Errorf("%w: the keys of page %d do not ascend", errPage, r.id)
		}
	}
	return n, nil
}

// element reads element i of a page into n.
func (p *pages) element(r *run, n *node, i int) error {
	at := pageHeader + i*elemBytes
	b := r.head[at : at+elemBytes]
	e := &n.elems[i]
	var pos, klen int64
	if n.leaf {
		e.bucket = binary.LittleEndian.Uint32(b)&flagBucket != 0
		pos, klen = int64(binary.LittleEndian.Uint32(b[4:])), int64(binary.LittleEndian.Uint32(b[8:]))
		e.length = int64(binary.LittleEndian.Uint32(b[12:]))
	} else {
		pos, klen = int64(binary.LittleEndian.Uint32(b)), int64(binary.LittleEndian.Uint32(b[4:]))
		e.child = binary.LittleEndian.Uint64(b[8:])
	}
	from := int64(at) + pos
	if klen == 0 || klen > maxKey || pos < int64((r.count-i)*elemBytes) || from+klen+e.length > r.length {
		return fmt.Errorf("%w: element %d of page %d does not fit", errPage, i, r.id)
	}
	e.val = r.off + from + klen
	if from+klen <= int64(len(r.head)) {
		e.key = r.head[from : from+klen]
		return nil
	}
	var err error
	e.key, err = p.read(r.off+from, klen)
	return err
}

// maxKey bounds the length of a key. Ours have eight bytes or a short name.
const maxKey = 64

// read returns n bytes of the file. The caller has checked that n is sane.
func (p *pages) read(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > p.size-n {
		return nil, fmt.Errorf("%w: %d bytes at %d are outside the file", errPage, n, off)
	}
	b := make([]byte, n)
	_, err := p.r.ReadAt(b, off)
	return b, pageError(err, "%d bytes at %d", n, off)
}

// pageError turns the end of a file that was cut under us into errPage.
func pageError(err error, format string, args ...any) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: the file ends before "+format, append([]any{errPage}, args...)...)
	}
	return err
}
