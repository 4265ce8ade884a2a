package store

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// checkFile walks every page of the file at path before bbolt is trusted to
// write to it: bbolt believes what it maps, and would overwrite pages that a
// broken freelist calls free. It reads headers and keys, no values. Nobody may
// write the file meanwhile.
func checkFile(path string) error {
	f, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := openPages(f)
	if err == nil && p.pageSize != pageSize {
		err = fmt.Errorf("%w: pages of %d bytes", errPage, p.pageSize)
	}
	if err == nil {
		err = p.check()
	}
	return explain(f, path, err)
}

// check walks all pages of the state.
func (p *pages) check() error {
	if p.end > uint64(p.size)/uint64(p.pageSize) {
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
	c := checker{p: p, used: make([]uint64, p.end/64+1)}
	if err := c.tree(p.top(), 0); err != nil {
		return err
	}
	return c.freelist()
}

// A checker remembers which pages it has met.
type checker struct {
	p    *pages
	used []uint64 // a bit a page
}

// claim marks n pages as used, which they may be once.
func (c *checker) claim(id, n uint64) error {
	if id < 2 || n > c.p.end || id > c.p.end-n {
		return fmt.Errorf("%w: page %d is outside the file", errPage, id)
	}
	for i := id; i < id+n; i++ {
		bit := uint64(1) << (i % 64)
		if c.used[i/64]&bit != 0 {
			return fmt.Errorf("%w: page %d is used twice", errPage, i)
		}
		c.used[i/64] |= bit
	}
	return nil
}

// tree checks a bucket with all buckets in it.
func (c *checker) tree(t *tree, nest int) error {
	if nest > 3 { // the root, frames, a commit: ours go no deeper
		return fmt.Errorf("%w: buckets are nested too deep", errPage)
	}
	n, err := t.rootNode()
	if err != nil {
		return err
	}
	if t.flat == nil {
		if err := c.claim(n.id, n.pages); err != nil {
			return err
		}
	}
	return c.node(t, n, 0, nest, nil)
}

func (c *checker) node(t *tree, n *node, depth, nest int, hi []byte) error {
	for i := range n.elems {
		e := &n.elems[i]
		if n.leaf {
			if !e.bucket {
				continue
			}
			inner, err := c.p.open(e)
			if err == nil {
				err = c.tree(inner, nest+1)
			}
			if err != nil {
				return err
			}
			continue
		}
		lo, end := n.bounds(i, hi)
		child, err := t.load(e.child, depth+1, lo, end)
		if err != nil {
			return err
		}
		if err := c.claim(child.id, child.pages); err != nil {
			return err
		}
		if err := c.node(t, child, depth+1, nest, end); err != nil {
			return err
		}
	}
	return nil
}

// freelist checks that what is called free is not in use, and in the file.
func (c *checker) freelist() error {
	if c.p.meta.freelist == noFreelist {
		return errors.New("the list of free pages is missing, so no page is known to be free")
	}
	r, err := c.p.run(c.p.meta.freelist)
	if err != nil {
		return err
	}
	if err := c.claim(r.id, uint64(r.length/c.p.pageSize)); err != nil {
		return err
	}
	if r.flags != flagFreelist {
		return fmt.Errorf("%w: page %d is no list of free pages", errPage, r.id)
	}
	from, count := int64(pageHeader), int64(r.count)
	if r.count == 0xffff { // then the first number is the count
		count = int64(binary.LittleEndian.Uint64(r.head[pageHeader:]))
		from += 8
	}
	if count < 0 || count > (r.length-from)/8 {
		return fmt.Errorf("%w: %d free pages do not fit their list", errPage, count)
	}
	list, err := c.p.read(r.off+from, count*8)
	if err != nil {
		return err
	}
	for ; len(list) > 0; list = list[8:] {
		if err := c.claim(binary.LittleEndian.Uint64(list), 1); err != nil {
			return err
		}
	}
	return nil
}
