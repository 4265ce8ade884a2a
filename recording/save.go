package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/export"
	"github.com/mcptap/mcptap/internal/wholefile"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

// SaveText writes a recording to a file as text: as NDJSON if the file is NDJSON or does
// not exist, else, and if its extension is .txtar, as a transcript. Comment lines that a
// user wrote above an old transcript are kept.
func SaveText(ctx context.Context, name string, src Source) error {
	old, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	old = bytes.TrimSpace(old)
	if filepath.Ext(name) != ".txtar" && (len(old) == 0 || old[0] == '{') {
		return WriteFile(name, func(w io.Writer) error { return Export(ctx, w, export.NDJSON, src, "") })
	}
	var transcript bytes.Buffer
	if err := Export(ctx, &transcript, export.Txtar, src, ""); err != nil {
		return err
	}
	return WriteFile(name, func(w io.Writer) error {
		_, err := io.WriteString(w, keptComments(string(old), transcript.String())+transcript.String())
		return err
	})
}

// keptComments returns the comment lines at the beginning of a transcript that the new
// one does not have.
func keptComments(old, made string) string {
	var kept strings.Builder
	for line := range strings.Lines(old) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		if !strings.Contains(made, line) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// Save replaces or makes the recording at name. make is called with the path of the
// recording to make.
func Save(name string, make func(path string) error) error {
	if store.IsLive(name) {
		return fmt.Errorf("%q is still being recorded", name)
	}
	work, err := wholefile.TempDir(name)
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	made := filepath.Join(work, "new"+store.Ext)
	if err := make(made); err != nil {
		return err
	}
	return wholefile.Move(made, name)
}

// WriteFile writes the whole file or nothing. A name with the extension of a recording is
// an error.
func WriteFile(name string, write func(io.Writer) error) error {
	if strings.HasSuffix(name, store.Ext) {
		return &text.Error{
			Problem: strconv.Quote(name) + ": an export is text, but the extension is that of a recording",
			Hint:    "choose another name, such as session.ndjson",
		}
	}
	return wholefile.Write(name, write)
}

// Export writes a recording in a format of package export; version is the version of mcptap,
// which some of them name.
func Export(ctx context.Context, w io.Writer, format string, src Source, version string) error {
	info, err := src.Info()
	if err != nil {
		return err
	}
	return export.Write(ctx, w, format, export.About{
		Header: info.Header, Status: info.Status.String(), Duration: info.Duration, Gaps: info.Gaps,
		Facts: info.Tally.Facts, Program: "mcptap", Version: version, Raw: src.WriteRaw,
	}, src.Frames(0))
}

// Copy makes a recording at path, which must not exist, from the frames of src, which
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

// Make is like [Copy] for frames of any other source. It calls end after the last
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
	for f, err := range until(ctx, frames) {
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
