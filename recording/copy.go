package recording

import (
	"context"
	"iter"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// Copy makes a recording at path, where nothing may exist, of the frames of src, which
// src must load whole. Each frame is passed to edit before it is written; edit may be
// nil. After an error no file is left.
func Copy(ctx context.Context, path string, h tap.Header, src Source, edit func(*tap.Frame) error) error {
	info, err := src.Info() // before the frames: a live recording that ends meanwhile may have more
	if err != nil {
		return err
	}
	return Make(ctx, path, h, src.Frames(0), edit, func() store.End {
		return store.End{At: info.Duration, Cut: info.Status != store.Ended}
	})
}

// Make is like [Copy] for frames that come from elsewhere. It calls end after the last
// frame; a recording does not end before its last frame.
func Make(ctx context.Context, path string, h tap.Header, frames iter.Seq2[tap.Frame, error],
	edit func(*tap.Frame) error, end func() store.End,
) error {
	w, err := store.NewWriter(path, h)
	if err != nil {
		return err
	}
	defer w.Abort()
	last := time.Duration(0)
	for f, err := range frames {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && edit != nil {
			err = edit(&f)
		}
		if err == nil {
			err = w.Add(f)
		}
		if err != nil {
			return err
		}
		last = f.At
	}
	e := end()
	e.At = max(e.At, last)
	return w.Close(e)
}
