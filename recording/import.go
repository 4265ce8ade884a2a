package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

// ImportOptions change the header of an imported recording.
type ImportOptions struct {
	NewID bool
	Label string // "" to keep it
}

// Import makes a recording in a directory from a text, and returns its path. The name is
// that of the text, for messages and the label.
func (o *Opener) Import(ctx context.Context, dir string, in io.Reader, name string, opt ImportOptions) (path string, err error) {
	r, err := text.NewReader(in)
	if err != nil {
		if strings.EqualFold(filepath.Ext(name), ".har") {
			err = &text.Error{Problem: "HTTP Archives cannot be imported", Hint: "to import a recording elsewhere, export it as .ndjson or .txtar"}
		}
		return "", err
	}
	h := r.Head().Header
	if opt.NewID {
		h.ID = ""
	}
	if opt.Label != "" {
		h.Label = opt.Label
	}
	if h.ID != "" && !IsID(h.ID) {
		return "", &text.Error{Problem: fmt.Sprintf("invalid id %.200q: want eight hex digits", h.ID), Hint: "use --new-id"}
	}
	o.complete(&h, name)
	if err := checkFree(dir, h.ID); err != nil {
		return "", err
	}
	return writeText(ctx, dir, h, r)
}

// parsed makes a temporary recording of a text.
func (o *Opener) parsed(ctx context.Context, file *File) (path string, err error) {
	dir, err := o.Temp()
	if err != nil {
		return "", err
	}
	in, err := os.Open(file.Name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	r, err := text.NewReader(in)
	if err == nil {
		h := r.Head().Header
		o.complete(&h, file.Name)
		path, err = writeText(ctx, dir, h, r)
		head := r.Head()
		file.Text = &head
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", file.Name, err)
	}
	return path, nil
}

// writeText makes a recording in a directory from the frames of a text.
func writeText(ctx context.Context, dir string, h tap.Header, r text.Reader) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(dir, store.FileName(h))
	return path, write(ctx, path, h, text.Frames(r), nil, func(last time.Duration) store.End {
		head := r.Head() // how a recording ended stands at the end of NDJSON
		return store.End{At: max(head.End, last), Cut: head.Status != "" && head.Status != "ended"}
	})
}

// complete fills in the missing fields of a header. An id that may not become part of a
// file name is replaced.
func (o *Opener) complete(h *tap.Header, name string) {
	if !IsID(h.ID) {
		h.ID = store.NewID()
	}
	if h.Start.IsZero() {
		h.Start = o.Now()
	}
	h.Start = h.Start.UTC()
	if h.Transport == "" {
		h.Transport = "stdio"
	}
	if h.Label == "" {
		h.Label = o.Label(h.Command, name)
	}
}

// IsID reports whether an id is one that this program makes.
func IsID(id string) bool { return len(id) == 8 && strings.Trim(id, "0123456789abcdef") == "" }

// checkFree returns an error if a recording in the directory has the id.
func checkFree(dir, id string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "-"+id+store.Ext) {
			return &text.Error{
				Problem: fmt.Sprintf("recording %s already exists: %s", id, e.Name()),
				Hint:    "use --new-id to import it under another id",
			}
		}
	}
	return err
}
