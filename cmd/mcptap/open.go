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

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/bundle"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

const openLong = `Imports the recording of a bundle that mcptap bundle has made, and shows it in the
viewer, as mcptap web does. It prints what it has opened, and a URL.

The recording keeps its id. When another recording has that already, it gets a new
one; when it is the same one, it is not imported again.

A bundle may come from anybody. Nothing in it is unpacked but the recording, of which
each frame is read and written anew; a bundle with other files than its own, with
paths or links, or with more than --max-size in it is refused.`

// openMost is how much is unpacked if nothing is said.
const openMost = "1GiB"

type openOptions struct {
	web  webOptions
	only bool
	most string
}

func newOpen(a *app) *cobra.Command {
	var o openOptions
	cmd := &cobra.Command{
		Use:     "open FILE [flags]",
		Short:   "Import the bundle of a bug report, and show it in a browser",
		Long:    openLong,
		Example: "  mcptap open bug.mcptap.zip --open\n  mcptap open bug.mcptap.zip --only-import",
		Args:    takes(1, 1, "a file that mcptap bundle made"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), a, args[0])
		},
		DisableFlagsInUseLine: true,
	}
	f := cmd.Flags()
	f.BoolVar(&o.only, "only-import", false, "do not show it, and print nothing but its id")
	f.StringVar(&o.most, "max-size", openMost, "unpack at most this `size`, and frames of at most as much together")
	o.web.addFlags(cmd)
	return cmd
}

func (o *openOptions) run(ctx context.Context, a *app, name string) error {
	most, err := parseSize(o.most)
	if err == nil && most > bundle.MaxSize {
		err = fmt.Errorf("%s is more than the 4 GiB that a bundle has at most", quote(o.most))
	}
	if err != nil {
		return fmt.Errorf("--max-size: %w", err)
	}
	dir, err := a.dataDir()
	if err != nil {
		return err
	}
	path, err := importBundle(ctx, a, dir, name, most)
	if err != nil {
		err = fmt.Errorf("open %s: %w", name, err)
		if errors.Is(err, bundle.ErrTooLarge) {
			return withHint(err, "--max-size allows more, if you trust it")
		}
		return err
	}
	info := store.Stat(path)
	if o.only {
		_, err := fmt.Fprintln(a.stdout, info.Header.ID)
		return err
	}
	h := &info.Header
	frames := plural(info.Tally.Frames.Total(), "frame", "frames") + " in " + formatDuration(info.Duration)
	if _, err := fmt.Fprintln(a.stdout, h.ID+"  "+escape(joinWords(", ", h.Label, h.Transport, revision(&info.Tally.Facts), frames))); err != nil {
		return err
	}
	return o.web.run(ctx, a, []string{path})
}

// importBundle makes a recording in dir of the one in a bundle, unless the same is
// there already, and returns its path.
func importBundle(ctx context.Context, a *app, dir, name string, most int64) (string, error) {
	tmp, err := os.MkdirTemp("", "mcptap-open-")
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
		err = errors.New("it is no file")
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
	if errors.Is(err, bundle.ErrNotBundle) {
		return withHint(err, "`mcptap web FILE` shows a recording, `mcptap import FILE` reads NDJSON and transcripts")
	}
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
