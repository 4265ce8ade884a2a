package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// The error for a file that is truncated while it is written is meant for users: it
// names the file, and contains no text of the runtime or of bbolt.
func TestFileCutShortWhileWritten(t *testing.T) {
	for name, c := range map[string]struct {
		size   int64
		within bool // a transaction
		damage bool
	}{
		"before":           {0, false, true}, // bbolt makes a new one, without our buckets
		"before, a bit":    {100, false, false},
		"before, one page": {4096, false, false},
		"before, more":     {3 * 4096, false, true},
		"within":           {0, true, true},
		"within, metas":    {2 * 4096, true, true},
	} {
		path := filepath.Join(t.TempDir(), "cut"+Ext)
		d := dbfile{path: path}
		if err := d.create(sampleHeader("abcd0001")); err != nil {
			t.Fatal(err)
		}
		fill := func(tx *bolt.Tx) error {
			if c.within {
				if err := os.Truncate(path, c.size); err != nil {
					t.Fatal(err)
				}
			}
			meta := tx.Bucket(bucketMeta)
			return meta.ForEach(func(_, v []byte) error { return meta.Put([]byte("x"), append([]byte(nil), v...)) })
		}
		if !c.within {
			if err := os.Truncate(path, c.size); err != nil {
				t.Fatal(err)
			}
		}
		err := d.update(fill)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if !strings.HasPrefix(err.Error(), path+": ") || errors.Is(err, ErrDamaged) != c.damage {
			t.Errorf("%s: %v", name, err)
		}
		for _, word := range []string{"runtime", "pointer", "fault", "assertion", "goroutine"} {
			if strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v: not a message for users", name, err)
			}
		}
	}
}
