package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

// ImportOptions change the header of an imported recording.
type ImportOptions struct {
	NewID bool
	Label string // "" to keep it
}

// Import makes a recording in a directory from a text, and returns its path. name is
// that of the text, for messages and the label.
func (o *Opener) Import(ctx context.Context, dir string, in io.Reader, name string, opt ImportOptions) (string, error) {
	r, err := newTextReader(in, name)
	if err != nil {
		return "", err
	}
	h := r.Head().Header
	if err := o.change(&h, dir, name, opt); err != nil {
		return "", err
	}
	return writeText(ctx, dir, h, r)
}

// ImportRecording copies a recording to a directory, and returns its path there.
func (o *Opener) ImportRecording(ctx context.Context, dir, name string, opt ImportOptions) (string, error) {
	rec, err := store.Open(name)
	if err != nil {
		return "", err
	}
	rec.SetMaxRaw(math.MaxInt64)
	info, err := rec.Info()
	if err != nil {
		return "", err
	}
	h := info.Header
	if err := o.change(&h, dir, name, opt); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, store.FileName(h))
	return path, Copy(ctx, path, h, rec, nil)
}

// change changes the header of a recording that is imported into a directory.
func (o *Opener) change(h *tap.Header, dir, name string, opt ImportOptions) error {
	if opt.NewID {
		h.ID = ""
	}
	if opt.Label != "" {
		h.Label = opt.Label
	}
	if h.ID != "" && !store.IsID(h.ID) {
		return &text.Error{Problem: fmt.Sprintf("invalid id %.200q: want eight hex digits", h.ID), Hint: "use --new-id"}
	}
	o.complete(h, name)
	return checkFree(dir, h.ID)
}

// fromText makes a temporary recording from a text, and sets its head.
func (o *Opener) fromText(ctx context.Context, file *File) (path string, err error) {
	dir, err := o.Temp()
	if err != nil {
		return "", err
	}
	in, r, err := openText(file.Name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	h := r.Head().Header
	o.complete(&h, file.Name)
	path, err = writeText(ctx, dir, h, r)
	head := r.Head()
	file.Text = &head
	return path, named(file.Name, err)
}

// writeText makes a recording in a directory from the frames of a text.
func writeText(ctx context.Context, dir string, h tap.Header, r text.Reader) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(dir, store.FileName(h))
	return path, Make(ctx, path, h, text.Frames(r), nil, func() store.End {
		head := r.Head() // NDJSON has the end of the recording in its last line
		return store.End{At: head.End, Cut: head.Status != "" && head.Status != "ended"}
	})
}

// Frames yields the frames of the file at path, each whole: a recording, or a text, which
// is read directly. An error or the end of ctx ends the iteration. The error names the
// file.
func Frames(ctx context.Context, path string) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		if !IsText(path) {
			rec, err := store.Open(path)
			if err != nil {
				yield(tap.Frame{}, err)
				return
			}
			rec.SetMaxRaw(math.MaxInt64)
			until(ctx, rec.Frames(0))(yield)
			return
		}
		in, r, err := openText(path)
		if err != nil {
			yield(tap.Frame{}, err)
			return
		}
		defer in.Close()
		for f, err := range until(ctx, text.Frames(r)) {
			if !yield(f, named(path, err)) { // package store names the file itself
				return
			}
		}
	}
}

// openText opens a text.
func openText(name string) (*os.File, text.Reader, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	r, err := newTextReader(f, name)
	if err != nil {
		return nil, nil, errors.Join(named(name, err), f.Close())
	}
	return f, r, nil
}

// newTextReader reads the head of a text; name is for messages.
func newTextReader(in io.Reader, name string) (text.Reader, error) {
	r, err := text.NewReader(in)
	what := map[string]string{".har": "HTTP Archives", ".otlp": "OpenTelemetry traces"}[strings.ToLower(filepath.Ext(name))]
	if err != nil && what != "" {
		err = &text.Error{Problem: what + " cannot be read", Hint: text.ExportHint}
	}
	return r, err
}

// named adds the name of a file to an error.
func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// complete fills in the missing fields of a header. An id that may not become part of a
// file name is replaced.
func (o *Opener) complete(h *tap.Header, name string) {
	if !store.IsID(h.ID) {
		h.ID = store.NewID()
	}
	if h.Start.IsZero() {
		h.Start = o.Now()
	}
	h.Start = h.Start.UTC()
	h.Transport = cmp.Or(h.Transport, "stdio")
	if h.Label == "" {
		h.Label = o.Label(h.Command, name)
	}
}

// checkFree returns an error if a recording in the directory has the id.
func checkFree(dir, id string) error {
	names, err := fs.Glob(os.DirFS(dir), "*-"+id+store.Ext)
	if err != nil || len(names) == 0 {
		return err
	}
	return &text.Error{
		Problem: fmt.Sprintf("recording %s already exists: %s", id, names[0]),
		Hint:    "use --new-id to import it under another id",
	}
}
