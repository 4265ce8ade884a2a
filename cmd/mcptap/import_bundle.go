package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcptap/mcptap/bundle"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// unpackMost is how much of a bundle is unpacked if nothing is said.
const unpackMost = 1 << 30

// importBundle makes a recording in dir of the one in a bundle, unless the same is
// there already, and returns its path. A bundle may come from anybody: only its recording
// is unpacked, and each frame is read and written anew.
func importBundle(ctx context.Context, a *app, dir, name string, most int64) (string, error) {
	tmp, err := os.MkdirTemp("", "mcptap-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	unpacked := filepath.Join(tmp, bundle.Recording)
	if err := unpack(name, unpacked, most); err != nil {
		return "", err
	}
	rec, err := store.Open(unpacked)
	if err != nil {
		return "", packedError(err, unpacked)
	}
	rec.SetMaxRaw(most)
	info, err := rec.Info()
	if err != nil {
		return "", packedError(err, unpacked)
	}
	h := info.Header
	if !isPlainID(h.ID) {
		h.ID = ""
	}
	if err := (&importOptions{}).complete(a, &h, name); err != nil {
		return "", err
	}
	if path, _, err := store.Resolve(dir, h.ID); err == nil {
		same, err := sameContent(ctx, path, rec)
		if same || err != nil {
			return path, packedError(err, unpacked)
		}
		h.ID = store.NewID()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, store.FileName(h))
	return path, packedError(copyRecording(ctx, rec, path, h, atMost(most)), unpacked)
}

// unpack writes the recording of a bundle to a file.
func unpack(name, to string, most int64) error {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return unwrapPath(err)
	}
	f, err := os.Open(name)
	if err != nil {
		return unwrapPath(err)
	}
	defer f.Close()
	b, err := bundle.Open(f, info.Size())
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(b.Unpack(out, bundle.Recording, most), out.Close())
}

// unwrapPath is what is wrong with a file whose name is said already.
func unwrapPath(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// packedError names the recording in the bundle instead of the file that it was
// unpacked to.
func packedError(err error, unpacked string) error {
	if err == nil {
		return nil
	}
	return replaced{err, strings.ReplaceAll(err.Error(), unpacked, bundle.Recording)}
}

// A replaced error has other words.
type replaced struct {
	error
	words string
}

func (r replaced) Error() string { return r.words }

func (r replaced) Unwrap() error { return r.error }

// atMost refuses frames that are larger together than they may be: a recording is
// compressed, too.
func atMost(most int64) func(*tap.Frame) error {
	room := most
	return func(f *tap.Frame) error {
		if room -= f.Size; room < 0 {
			return fmt.Errorf("%s: %w: its frames have more than %s", bundle.Recording, bundle.ErrTooLarge, formatSize(most))
		}
		return nil
	}
}

// sameContent reports whether a recording is the same as another one. One that
// cannot be read is not.
func sameContent(ctx context.Context, path string, other *store.Recording) (bool, error) {
	rec, err := store.Open(path)
	if err != nil {
		return false, nil
	}
	a, b := sha256.New(), sha256.New()
	if err := exportTo(ctx, a, "ndjson", rec); err != nil {
		return false, ctx.Err()
	}
	if err := exportTo(ctx, b, "ndjson", other); err != nil {
		return false, err
	}
	return string(a.Sum(nil)) == string(b.Sum(nil)), nil
}
