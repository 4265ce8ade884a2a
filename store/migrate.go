package store

import "fmt"

// An upgrade reads a recording of one format version as if it were of the next.
// Files are never rewritten: a recording can be on a read-only disk, or be read
// by an older program too. What an upgrade cannot change is the frame of it
// all, a bbolt file with the buckets of doc.go.
//
// A nil function changes nothing.
type migration struct {
	// meta rewrites the values of the meta bucket, by key.
	meta func(values map[string][]byte) error
	// segment rewrites one segment. What it gets is untrusted and unchecked,
	// and may not be changed in place.
	segment func(b []byte) ([]byte, error)
}

// migrations has, for each format version that ever shipped but the current
// one, the way to the next.
var migrations = map[int]migration{
	1: {}, // version 2 knows the frames of HTTP too: nothing has changed for others
}

// An upgrade is the way from one format version to the current one. nil is the
// way from the current one.
type upgrade struct{ steps []migration }

// upgradeFrom returns the upgrade from version v.
func upgradeFrom(v int) (*upgrade, error) {
	if v > FormatVersion {
		return nil, fmt.Errorf("%w (its format is %d, this program knows up to %d): update mcptap to read it",
			ErrNewer, v, FormatVersion)
	}
	up := &upgrade{}
	for ; v < FormatVersion; v++ {
		m, ok := migrations[v]
		if !ok {
			return nil, fmt.Errorf("%w: its format %d never was one", errPage, v)
		}
		if m.meta != nil || m.segment != nil {
			up.steps = append(up.steps, m)
		}
	}
	return up, nil
}

// none reports whether there is nothing to do.
func (u *upgrade) none() bool { return u == nil || len(u.steps) == 0 }

func (u *upgrade) meta(values map[string][]byte) error {
	if u == nil {
		return nil
	}
	for _, m := range u.steps {
		if m.meta == nil {
			continue
		}
		if err := m.meta(values); err != nil {
			return err
		}
	}
	return nil
}

func (u *upgrade) segment(b []byte) ([]byte, error) {
	if u == nil {
		return b, nil
	}
	for _, m := range u.steps {
		if m.segment == nil {
			continue
		}
		var err error
		if b, err = m.segment(b); err != nil {
			return nil, fmt.Errorf("%w: %v", errSegment, err)
		}
	}
	return b, nil
}
