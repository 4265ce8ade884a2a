package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

var (
	// errBusy means that another program holds the file.
	errBusy = errors.New("another program holds the file")
	// errRemoved means that the file was removed while the tap ran.
	errRemoved = errors.New("the file was removed")
)

// A dbfile is the file of a recording, as the writer uses it.
type dbfile struct {
	path string
	// keep holds the file open and locked from the first update to close or the first
	// error. Readers do not lock it. Without keep the file is open only within update.
	keep bool
	db   *bolt.DB // nil: not open
	file *os.File // bbolt's

	made *os.File // the file made by create, if keep is set: it may be renamed
}

// create makes the file, with its header, under a temporary name and renames it, so that no
// reader sees an incomplete one.
func (d *dbfile) create(h tap.Header) error {
	if _, err := os.Lstat(d.path); err == nil {
		return fmt.Errorf("%s already exists", d.path)
	}
	half := dbfile{path: d.path + newExt}
	os.Remove(half.path) // from a failed attempt
	if err := half.transact(os.O_RDWR|os.O_CREATE|os.O_EXCL, func(tx *bolt.Tx) error { return layOut(tx, h) }); err != nil {
		os.Remove(half.path)
		return err
	}
	if err := os.Rename(half.path, d.path); err != nil || !d.keep {
		return err
	}
	if d.made != nil {
		d.made.Close()
	}
	var err error
	d.made, err = os.Open(d.path)
	return err
}

// layOut makes the buckets of an empty recording.
func layOut(tx *bolt.Tx, h tap.Header) error {
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
	values := []struct{ k, v []byte }{
		{keyFormat, []byte(strconv.Itoa(FormatVersion))},
		{keyHeader, seal(mustJSON(&h))},
		{keyTally, seal(mustJSON(&session.Tally{}))},
		{keyState, seal(mustJSON(&st))},
		// bbolt does not split a page with four keys: the header, whose argv may have a megabyte,
		// would be rewritten with the state at each commit.
		{keyFifth, nil},
	}
	for _, kv := range values {
		if err := meta.Put(kv.k, kv.v); err != nil {
			return err
		}
	}
	return nil
}

// beforeCommit can be replaced by tests, to fail or wait.
var beforeCommit = func() error { return nil }

// update runs one transaction on the file. If the file is no longer the recording, it
// returns errRemoved, or another error if another file has its name. A file that stays
// locked is errBusy.
func (d *dbfile) update(fn func(tx *bolt.Tx) error) error {
	if err := d.check(); err != nil {
		return err
	}
	return d.transact(os.O_RDWR, fn)
}

// check compares the created file with the one that has its name. A renamed file is still
// the recording, unless its directory was renamed, which may be undone.
func (d *dbfile) check() error {
	if d.made == nil {
		return nil
	}
	now, err := os.Stat(d.path)
	switch {
	case err == nil && sameFile(d.made, now):
		return nil
	case err == nil:
		return fmt.Errorf("%s was replaced by another file", d.path)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if _, dirErr := os.Stat(filepath.Dir(d.path)); dirErr != nil {
		return err
	}
	if unlinked(d.made) {
		return fmt.Errorf("%s: %w", d.path, errRemoved)
	}
	if d.db == nil { // its new name is unknown
		return err
	}
	return nil
}

func (d *dbfile) transact(flags int, fn func(tx *bolt.Tx) error) (err error) {
	// The file is mapped: if another program truncates it, reading it faults. That
	// is a failed store, not the end of the tap.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			// The panic's own text does not help a user. bbolt's Close would wait for a
			// lock that is still held.
			err = fmt.Errorf("%s: %w: it was truncated or changed by another program", d.path, ErrDamaged)
			d.db = nil
			if d.file != nil {
				unlock(d.file)
				d.file.Close()
			}
		}
		if err != nil || !d.keep {
			err = errors.Join(err, d.closeDB())
		}
	}()
	if d.db == nil {
		if err := d.open(flags); err != nil {
			return err
		}
	}
	if err := beforeCommit(); err != nil {
		return err
	}
	d.db.AllocSize = d.growth()
	return d.db.Update(fn)
}

func (d *dbfile) open(flags int) error {
	d.file = nil
	wait := 10 * time.Second
	if d.keep { // one attempt: the writer must not wait
		wait = time.Nanosecond
	}
	db, err := bolt.Open(d.path, 0o600, &bolt.Options{
		Timeout:      wait,
		FreelistType: bolt.FreelistMapType,
		PageSize:     pageSize,
		NoStatistics: true,
		// bbolt would create a new file in place of a removed one.
		OpenFile: func(name string, _ int, mode fs.FileMode) (_ *os.File, err error) {
			d.file, err = os.OpenFile(name, flags, mode)
			return d.file, err
		},
	})
	if errors.Is(err, berrors.ErrTimeout) {
		return errBusy
	}
	var named *fs.PathError
	if err != nil && d.file != nil && !errors.As(err, &named) {
		err = fmt.Errorf("%s: %w", d.path, err)
	}
	if err == nil {
		d.db = db
	}
	return err
}

// closeDB closes the file. The next update reopens it.
func (d *dbfile) closeDB() error {
	if d.db == nil {
		return nil
	}
	err := d.db.Close()
	d.db = nil
	return err
}

// close closes the file permanently.
func (d *dbfile) close() {
	_ = d.closeDB() // each commit has been synced
	if d.made != nil {
		d.made.Close()
	}
}

// growth returns the number of bytes by which the file grows: an eighth of its size, so
// that it is not synced at every commit, nor much larger than its content.
func (d *dbfile) growth() int {
	info, err := d.file.Stat()
	if err != nil {
		return 1 << 20
	}
	return int(min(max(info.Size()/8, 64<<10), 16<<20))
}

// write writes a batch in a transaction.
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
	if err := meta.Put(keyTally, seal(b.tally)); err != nil || b.end == nil {
		return err
	}
	return writeEnd(tx, *b.end)
}

// writeEnd marks the recording as finished.
func writeEnd(tx *bolt.Tx, e End) error {
	return tx.Bucket(bucketMeta).Put(keyEnd, seal(mustJSON(&e)))
}

// trim frees the space after the last used page, which bbolt allocates in advance. Errors
// are ignored. Nothing may be written afterwards.
func (d *dbfile) trim() {
	_ = d.transact(os.O_RDWR, func(tx *bolt.Tx) error {
		used := tx.Size()
		if info, err := d.file.Stat(); err == nil && info.Size() > used {
			_ = d.file.Truncate(used)
		}
		return errStop // nothing to commit
	})
}
