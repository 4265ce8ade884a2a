package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"sort"
)

// Readers do not use bbolt. bbolt maps the file and trusts it: on
// a damaged file it panics, also in goroutines of its own, or recurses
// until the stack overflows, or faults, and a caller cannot prevent it. It
// also locks the file, so every reader would delay the tap. The part of the format that a reader needs is
// small, was frozen in 2014, and is all in this file: two meta
// pages, branch pages, leaf pages. They are read with pread and every number in
// them is checked before it is used.
//
// Readers take no lock. A bbolt transaction writes only to pages that the
// previous state does not use, then syncs, then writes its meta page. So data
// read under meta page N is consistent if N is still the newest afterwards: see
// [Recording.view].
const (
	metaMagic   = 0xED0CDAED
	metaVersion = 2
	metaBytes   = 64 // size of a meta without its page header
	metaSummed  = 56 // number of its bytes that the checksum covers

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

// errPage is wrapped by every error about the structure of a file. Callers of the package
// see ErrDamaged.
var errPage = errors.New("damaged page")

// errForeign means that the file is a database of another program.
var errForeign = errors.New("a database of another program")

// errNoMeta means that neither meta page is one of bbolt's.
var errNoMeta = fmt.Errorf("%w: no valid meta page", errPage)

// A meta is one state of the file.
type meta struct {
	root     uint64
	freelist uint64
	end      uint64 // the first unused page number
	txid     uint64
}

// pages reads the pages of one state of a file.
type pages struct {
	meta
	r    io.ReaderAt
	size int64  // of the file
	seen []bool // the pages visited by load, nil except in check
	// tries is the number of times that the file changed during this read. Long reads
	// should then read less.
	tries int
}

// openPages reads the newest meta of a file, and then its size: the file may grow with the
// next commit, and a meta may need pages beyond an older size.
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

// readMeta returns the newer of the two metas.
func readMeta(r io.ReaderAt) (m meta, err error) {
	var buf [pageSize + pageHeader + metaBytes]byte
	n, err := r.ReadAt(buf[:], 0)
	if err != nil && err != io.EOF {
		return m, err
	}
	err = errNoMeta
	for _, b := range [][]byte{buf[:n], buf[min(n, pageSize):n]} {
		switch found, size := parseMeta(b); {
		case size == 0:
		case size != pageSize:
			return m, errForeign
		case err != nil || found.txid > m.txid:
			m, err = found, nil
		}
	}
	return m, err
}

// parseMeta reads a meta page. size is the page size that it names, 0 if it is not whole.
func parseMeta(b []byte) (m meta, size uint32) {
	if len(b) < pageHeader+metaBytes {
		return m, 0
	}
	b = b[pageHeader:]
	sum := fnv.New64a()
	sum.Write(b[:metaSummed])
	if binary.LittleEndian.Uint32(b) != metaMagic || binary.LittleEndian.Uint32(b[4:]) != metaVersion ||
		binary.LittleEndian.Uint64(b[metaSummed:]) != sum.Sum64() {
		return m, 0
	}
	return meta{
		root:     binary.LittleEndian.Uint64(b[16:]),
		freelist: binary.LittleEndian.Uint64(b[32:]),
		end:      binary.LittleEndian.Uint64(b[40:]),
		txid:     binary.LittleEndian.Uint64(b[48:]),
	}, binary.LittleEndian.Uint32(b[8:])
}

// A node is one branch or leaf page, checked: every element lies within it and
// the keys ascend.
type node struct {
	leaf  bool
	elems []elem
	pages uint64 // number of pages
}

// An elem is one element of a node.
type elem struct {
	key    []byte
	child  uint64 // page of the child, in a branch
	bucket bool   // the value is a bucket, in a leaf
	val    int64  // offset of the value in the file, in a leaf
	length int64
}

// A run is the location of a page in the file, with its overflow pages.
type run struct {
	id     uint64
	off    int64
	length int64
	flags  uint16
	count  int
	head   []byte // its first bytes, at most a page
}

// run reads the header of a page.
func (p *pages) run(id uint64) (run, error) {
	if id < 2 || id >= p.end || id >= uint64(p.size)/pageSize {
		return run{}, fmt.Errorf("%w: page %d is outside the file", errPage, id)
	}
	r := run{id: id, off: int64(id) * pageSize, head: make([]byte, pageSize)}
	if _, err := p.r.ReadAt(r.head, r.off); err != nil {
		return run{}, pageError(err, "page %d", id)
	}
	self := binary.LittleEndian.Uint64(r.head)
	r.flags = binary.LittleEndian.Uint16(r.head[8:])
	r.count = int(binary.LittleEndian.Uint16(r.head[10:]))
	more := uint64(binary.LittleEndian.Uint32(r.head[12:]))
	r.length = int64(more+1) * pageSize
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

// inline reads the page inside the value of a bucket.
func (p *pages) inline(e *elem) (*node, error) {
	if e.length > pageSize || e.length < bucketBytes+pageHeader {
		return nil, fmt.Errorf("%w: an inline bucket of %d bytes", errPage, e.length)
	}
	buf, err := p.read(e.val, e.length)
	if err != nil {
		return nil, err
	}
	buf = buf[bucketBytes:]
	r := run{
		off: e.val + bucketBytes, length: int64(len(buf)), head: buf,
		flags: binary.LittleEndian.Uint16(buf[8:]),
		count: int(binary.LittleEndian.Uint16(buf[10:])),
	}
	if r.flags != flagLeaf {
		return nil, fmt.Errorf("%w: an inline bucket that is not a leaf", errPage)
	}
	return p.parse(&r)
}

// parse checks and reads the elements of a page.
func (p *pages) parse(r *run) (*node, error) {
	if r.flags != flagBranch && r.flags != flagLeaf {
		return nil, fmt.Errorf("%w: page %d is neither branch nor leaf", errPage, r.id)
	}
	n := &node{leaf: r.flags == flagLeaf, pages: uint64(r.length / pageSize)}
	table := int64(pageHeader + r.count*elemBytes)
	if table > r.length {
		return nil, fmt.Errorf("%w: page %d has %d elements, which do not fit", errPage, r.id, r.count)
	}
	if table > int64(len(r.head)) {
		// The elements exceed the first page: it has many keys, and bbolt has
		// not split it. They take at most 1 MiB, as there are at most 65,535.
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

// maxKey is the maximum length of a key. Ours have eight bytes or a short name.
const maxKey = 64

// read returns n bytes of the file. The caller has checked n.
func (p *pages) read(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > p.size-n {
		return nil, fmt.Errorf("%w: %d bytes at %d are outside the file", errPage, n, off)
	}
	b := make([]byte, n)
	_, err := p.r.ReadAt(b, off)
	return b, pageError(err, "%d bytes at %d", n, off)
}

// pageError replaces the unexpected end of a file that was truncated during the read by
// errPage.
func pageError(err error, format string, args ...any) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: the file ends before "+format, append([]any{errPage}, args...)...)
	}
	return err
}

// maxDepth is the maximum depth of a tree. A branch page of 4 KiB has room for 100
// children, so five levels are more than any disk holds.
const maxDepth = 12

// A tree is one bucket.
type tree struct {
	p    *pages
	root uint64
	flat *node // an inline bucket, instead of root
}

// top returns the root bucket of the file.
func (p *pages) top() *tree { return &tree{p: p, root: p.root} }

// open returns the bucket that a leaf's element holds.
func (p *pages) open(e *elem) (*tree, error) {
	if !e.bucket || e.length < bucketBytes {
		return nil, fmt.Errorf("%w: a value where a bucket was expected", errPage)
	}
	head, err := p.read(e.val, bucketBytes)
	if err != nil {
		return nil, err
	}
	t := &tree{p: p, root: binary.LittleEndian.Uint64(head)}
	if t.root == 0 {
		t.flat, err = p.inline(e)
	}
	return t, err
}

// load reads a node and checks that its keys are in [lo, hi); nil means no bound.
// The key of a branch's element is the first of its page: bbolt keeps that so
// unless keys are deleted, and we delete none. So every step of a walk brings
// new keys, and a page that refers to itself is an error.
func (t *tree) load(id uint64, depth int, lo, hi []byte) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: page %d is nested too deep", errPage, id)
	}
	n, err := t.p.node(id)
	if err == nil {
		err = t.p.claim(id, n.pages)
	}
	if err != nil {
		return nil, err
	}
	if len(n.elems) == 0 {
		if depth == 0 && n.leaf {
			return n, nil // an empty bucket
		}
		return nil, fmt.Errorf("%w: page %d is empty", errPage, id)
	}
	if lo != nil && string(n.elems[0].key) != string(lo) ||
		hi != nil && string(n.elems[len(n.elems)-1].key) >= string(hi) {
		return nil, fmt.Errorf("%w: page %d is not where its keys belong", errPage, id)
	}
	return n, nil
}

// floor returns the index of the last element whose key is at most k, or 0.
func (n *node) floor(k []byte) int {
	after := sort.Search(len(n.elems), func(i int) bool { return string(n.elems[i].key) > string(k) })
	return max(after-1, 0)
}

// get returns the element with this key, or nil.
func (t *tree) get(k []byte) (*elem, error) {
	var found *elem
	err := t.ascend(k, func(e *elem) error {
		if string(e.key) == string(k) {
			found = e
		}
		return errStop
	})
	if err == errStop {
		err = nil
	}
	return found, err
}

// errStop ends a walk without being an error.
var errStop = errors.New("stop")

// ascend calls each for the last element whose key is at most k, or the first of all, and
// for every later one.
func (t *tree) ascend(k []byte, each func(*elem) error) error {
	n := t.flat
	if n == nil {
		var err error
		if n, err = t.load(t.root, 0, nil, nil); err != nil {
			return err
		}
	}
	return t.ascendNode(n, 0, k, nil, each)
}

func (t *tree) ascendNode(n *node, depth int, k, hi []byte, each func(*elem) error) error {
	for i := n.floor(k); i < len(n.elems); i++ {
		if n.leaf {
			if err := each(&n.elems[i]); err != nil {
				return err
			}
			continue
		}
		end := hi
		if i+1 < len(n.elems) {
			end = n.elems[i+1].key
		}
		child, err := t.load(n.elems[i].child, depth+1, n.elems[i].key, end)
		if err != nil {
			return err
		}
		if err := t.ascendNode(child, depth+1, k, end, each); err != nil {
			return err
		}
	}
	return nil
}

// checkFile walks every page of the file at path before bbolt is trusted to
// write to it: bbolt trusts the file, and would overwrite pages that a
// broken freelist calls free. It reads headers and keys, no values. The file must
// not be written meanwhile.
func checkFile(path string) error {
	f, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := openPages(f)
	if err == nil {
		err = p.check()
	}
	return explain(f, path, err)
}

// check visits all pages of the state. No page may be used twice, or used and free.
func (p *pages) check() error {
	if p.end > uint64(p.size)/pageSize {
		return fmt.Errorf("%w: the file has %d bytes of %d pages", errPage, p.size, p.end)
	}
	for _, name := range [][]byte{bucketMeta, bucketFrames, bucketParts} {
		e, err := p.top().get(name)
		if err == nil && (e == nil || !e.bucket) {
			err = fmt.Errorf("%w: bucket %s is missing", errPage, name)
		}
		if err != nil {
			return err
		}
	}
	p.seen = make([]bool, p.end)
	var walk func(t *tree, nest int) error
	walk = func(t *tree, nest int) error {
		if nest > 3 { // the root, frames, a commit
			return fmt.Errorf("%w: buckets are nested too deep", errPage)
		}
		return t.ascend(nil, func(e *elem) error {
			if !e.bucket {
				return nil
			}
			inner, err := p.open(e)
			if err != nil {
				return err
			}
			return walk(inner, nest+1)
		})
	}
	if err := walk(p.top(), 0); err != nil {
		return err
	}
	return p.checkFreelist()
}

// claim marks n pages as used. A page must be used only once.
func (p *pages) claim(id, n uint64) error {
	for k := uint64(0); k < n && p.seen != nil; k++ {
		i := id + k
		if i < 2 || i >= p.end || p.seen[i] {
			return fmt.Errorf("%w: page %d is outside the file, or used twice", errPage, i)
		}
		p.seen[i] = true
	}
	return nil
}

func (p *pages) checkFreelist() error {
	if p.freelist == noFreelist {
		return errors.New("the list of free pages is missing, so no page is known to be free")
	}
	r, err := p.run(p.freelist)
	if err == nil {
		err = p.claim(r.id, uint64(r.length/pageSize))
	}
	if err != nil {
		return err
	}
	from, count := int64(pageHeader), int64(r.count)
	if r.count == 0xffff { // then the first number is the count
		count = int64(binary.LittleEndian.Uint64(r.head[pageHeader:]))
		from += 8
	}
	if r.flags != flagFreelist || count < 0 || count > (r.length-from)/8 {
		return fmt.Errorf("%w: page %d is not a list of %d free pages", errPage, r.id, count)
	}
	list, err := p.read(r.off+from, count*8)
	for ; err == nil && len(list) > 0; list = list[8:] {
		err = p.claim(binary.LittleEndian.Uint64(list), 1)
	}
	return err
}
