package store

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// maxDepth bounds how deep a tree may be. A branch page of 4 KiB has room for
// 100 children, so five levels are more than any disk holds.
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

// load reads a node and checks that its keys lie in [lo, hi); nil is no bound.
// Where a branch says that a key begins a page, it does: bbolt keeps that so
// unless keys are deleted, and we delete none. With it every step of a walk
// brings new keys, so that a page that refers to itself ends in an error.
func (t *tree) load(id uint64, depth int, lo, hi []byte) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: page %d is nested too deep", errPage, id)
	}
	n, err := t.p.node(id)
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

func (t *tree) rootNode() (*node, error) {
	if t.flat != nil {
		return t.flat, nil
	}
	return t.load(t.root, 0, nil, nil)
}

// floor returns the index of the last element whose key is at most k, or 0.
func (n *node) floor(k []byte) int {
	lo, hi := 0, len(n.elems)
	for lo < hi {
		mid := (lo + hi) / 2
		if string(n.elems[mid].key) <= string(k) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return max(lo-1, 0)
}

// bounds returns the range of keys that child i of a branch may hold.
func (n *node) bounds(i int, hi []byte) (lo, end []byte) {
	if i+1 < len(n.elems) {
		hi = n.elems[i+1].key
	}
	return n.elems[i].key, hi
}

// get returns the element with this key, or nil.
func (t *tree) get(k []byte) (*elem, error) {
	n, err := t.rootNode()
	var hi []byte
	for depth := 1; err == nil; depth++ {
		if len(n.elems) == 0 {
			return nil, nil
		}
		i := n.floor(k)
		if n.leaf {
			if string(n.elems[i].key) != string(k) {
				return nil, nil
			}
			return &n.elems[i], nil
		}
		var lo []byte
		id := n.elems[i].child
		lo, hi = n.bounds(i, hi)
		n, err = t.load(id, depth, lo, hi)
	}
	return nil, err
}

// errStop ends a walk without being an error.
var errStop = errors.New("stop")

// ascend calls each for the last element whose key is at most k, or the first
// of all, and for every one after it.
func (t *tree) ascend(k []byte, each func(*elem) error) error {
	n, err := t.rootNode()
	if err != nil {
		return err
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
		lo, end := n.bounds(i, hi)
		child, err := t.load(n.elems[i].child, depth+1, lo, end)
		if err != nil {
			return err
		}
		if err := t.ascendNode(child, depth+1, k, end, each); err != nil {
			return err
		}
	}
	return nil
}
