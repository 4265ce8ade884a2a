package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"

	bolt "go.etcd.io/bbolt"

	berrors "go.etcd.io/bbolt/errors"
)

// errBusy means that somebody else holds the file for the moment.
var errBusy = errors.New("another program holds the file")

// A dbfile is the writing side's view of a recording's file. It is open only
// within update.
type dbfile struct {
	path string
	id   os.FileInfo // the file that we made; nil before create
}

// create makes the file, with its header, at its final name.
func (d *dbfile) create(h tap.Header) error {
	if _, err := os.Lstat(d.path); err == nil {
		return fmt.Errorf("%s exists already", d.path)
	}
	err := d.transact(os.O_RDWR|os.O_CREATE|os.O_EXCL, func(tx *bolt.Tx) error {
		meta, err := tx.CreateBucket(bucketMeta)
		if err != nil {
			return err
		}
		for _, name := range [][]byte{bucketFrames, bucketParts} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		st := newState()
		for _, kv := range []struct{ k, v []byte }{
			{keyFormat, []byte(strconv.Itoa(FormatVersion))},
			{keyHeader, seal(mustJSON(&h))},
			{keyTally, seal(mustJSON(&session.Tally{}))},
			{keyState, seal(mustJSON(&st))},
		} {
			if err := meta.Put(kv.k, kv.v); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		if d.id == nil {
			return err
		}
		os.Remove(d.path) // half made: the next attempt begins anew
		d.id = nil
	}
	return err
}

// update runs one transaction on the file and closes it again. A file that is
// not the one we made, or that is gone, is an error; one that is locked is
// errBusy.
func (d *dbfile) update(fn func(tx *bolt.Tx) error) error {
	return d.transact(os.O_RDWR, fn)
}

func (d *dbfile) transact(flags int, fn func(tx *bolt.Tx) error) error {
	return d.open(flags, func(db *bolt.DB) error {
		db.AllocSize = d.growth()
		return db.Update(fn)
	})
}

func (d *dbfile) open(flags int, fn func(db *bolt.DB) error) (err error) {
	// The file is mapped: where somebody cuts it short under us, reading it
	// faults. That is a failed store, not the end of the tap.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var file *os.File
	defer func() {
		if p := recover(); p != nil {
			file.Close() // bbolt does not, and its lock would stay
			// What bbolt or the runtime say of it helps nobody.
			err = fmt.Errorf("%s: %w: it was cut short or changed by another program", d.path, ErrDamaged)
		}
	}()
	db, err := bolt.Open(d.path, 0o600, &bolt.Options{
		Timeout:      time.Nanosecond, // one attempt: bbolt itself would wait 50 ms between two
		FreelistType: bolt.FreelistMapType,
		PageSize:     pageSize,
		NoStatistics: true,
		OpenFile: func(name string, _ int, mode fs.FileMode) (_ *os.File, err error) {
			file, err = d.openFile(name, flags, mode)
			return file, err
		},
	})
	if errors.Is(err, berrors.ErrTimeout) {
		return errBusy
	}
	var named *fs.PathError
	if err != nil && file != nil && !errors.As(err, &named) {
		err = fmt.Errorf("%s: %w", d.path, err)
	}
	if err != nil {
		return err
	}
	if err := fn(db); err != nil {
		return errors.Join(err, db.Close())
	}
	return db.Close()
}

// openFile opens the file for bbolt, which must not make a new one in the place
// of one that was removed.
func (d *dbfile) openFile(name string, flags int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(name, flags, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && d.id != nil && !os.SameFile(info, d.id) {
		err = fmt.Errorf("%s was replaced by another file", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	d.id = info
	return f, nil
}

// growth is by how much the file grows when it must: an eighth of its size, so
// that it is neither synced at every commit nor much larger than its content.
func (d *dbfile) growth() int {
	info, err := os.Stat(d.path)
	if err != nil {
		return 1 << 20
	}
	return int(min(max(info.Size()/8, 64<<10), 16<<20))
}

// write puts a batch into the file, in the transaction of the caller.
func (b *batch) write(tx *bolt.Tx) error {
	for i := range b.values {
		v := &b.values[i]
		root := bucketFrames
		if v.part {
			root = bucketParts
		}
		bucket, err := tx.Bucket(root).CreateBucketIfNotExists(key(v.bucket))
		if err != nil {
			return err
		}
		if err := bucket.Put(key(v.key), b.buf[v.from:v.to]); err != nil {
			return err
		}
	}
	meta := tx.Bucket(bucketMeta)
	if err := meta.Put(keyState, seal(b.state)); err != nil {
		return err
	}
	return meta.Put(keyTally, seal(b.tally))
}

// writeEnd marks the recording as finished.
func writeEnd(tx *bolt.Tx, e End) error {
	return tx.Bucket(bucketMeta).Put(keyEnd, seal(mustJSON(&e)))
}

// trim gives back the space behind the last page that bbolt uses, which it
// takes in advance. It is a courtesy: failing changes nothing.
func (d *dbfile) trim() {
	var used int64
	err := d.open(os.O_RDWR, func(db *bolt.DB) error {
		return db.View(func(tx *bolt.Tx) error {
			used = tx.Size()
			return nil
		})
	})
	// Nobody else writes the file, and readers stay below its last page.
	if info, statErr := os.Stat(d.path); err == nil && statErr == nil && info.Size() > used {
		_ = os.Truncate(d.path, used)
	}
}
