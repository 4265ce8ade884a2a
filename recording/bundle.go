package recording

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcptap/mcptap/bundle"
	"github.com/mcptap/mcptap/export"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/view"
)

// maxUnpacked limits the unpacked size of a bundle that [Opener.Open] opens, in bytes.
const maxUnpacked = 1 << 30

// fromBundle makes a temporary recording from a bundle.
func (o *Opener) fromBundle(ctx context.Context, name string) (path string, err error) {
	dir, err := o.Temp()
	if err == nil {
		path, err = o.ImportBundle(ctx, dir, name, maxUnpacked)
	}
	return path, named(name, err)
}

// ImportBundle makes a recording in a directory from the one in a bundle, unless the
// directory has it, and returns its path. Bundles are untrusted: only the recording is
// unpacked, and each of its frames is read and written.
func (o *Opener) ImportBundle(ctx context.Context, dir, name string, limit int64) (path string, err error) {
	tmp, err := os.MkdirTemp("", "mcptap-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	unpacked := filepath.Join(tmp, bundle.Recording)
	defer func() { err = Packed(err, unpacked) }()
	if err := unpack(name, unpacked, limit); err != nil {
		return "", err
	}
	rec, err := store.Open(unpacked)
	if err != nil {
		return "", err
	}
	rec.SetMaxRaw(limit)
	info, err := rec.Info()
	if err != nil {
		return "", err
	}
	h := info.Header
	o.complete(&h, name)
	if path, _, err := store.Resolve(dir, h.ID); err == nil {
		if same, err := sameContent(ctx, path, rec); same || err != nil {
			return path, err
		}
		h.ID = store.NewID()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(dir, store.FileName(h))
	room := limit // recordings are compressed, so the size of the file is not a bound
	return path, Copy(ctx, path, h, rec, func(f *tap.Frame) error {
		if room -= f.Size; room < 0 {
			return fmt.Errorf("%s: %w: its frames exceed %s", bundle.Recording, bundle.ErrTooLarge, view.Size(limit))
		}
		return nil
	})
}

// unpack writes the recording of a bundle to a file.
func unpack(name, to string, limit int64) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	b, err := bundle.Open(f, info.Size())
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(b.Unpack(out, bundle.Recording, limit), out.Close())
}

// Packed replaces the name of a temporary file in an error by the name of the recording in
// the bundle.
func Packed(err error, unpacked string) error {
	if err == nil {
		return nil
	}
	return packedError{err, strings.ReplaceAll(err.Error(), unpacked, bundle.Recording)}
}

// A packedError is an error with another text.
type packedError struct {
	error
	text string
}

func (e packedError) Error() string { return e.text }
func (e packedError) Unwrap() error { return e.error }

// sameContent reports whether two recordings are equal. Unreadable ones are not.
func sameContent(ctx context.Context, path string, other *store.Recording) (bool, error) {
	rec, err := store.Open(path)
	if err != nil {
		return false, nil
	}
	a, b := sha256.New(), sha256.New()
	if err := Export(ctx, a, export.NDJSON, rec, ""); err != nil {
		return false, ctx.Err()
	}
	if err := Export(ctx, b, export.NDJSON, other, ""); err != nil {
		return false, err
	}
	return string(a.Sum(nil)) == string(b.Sum(nil)), nil
}
