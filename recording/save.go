package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/export"
	"github.com/mcptap/mcptap/internal/wholefile"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/text"
)

// SaveText writes a recording to a file as text: as NDJSON if the file is NDJSON or does
// not exist, else, and if its extension is .txtar, as a transcript. The lines above an
// old transcript that a person wrote are kept.
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

// WriteFile writes a whole file or nothing. A name with the extension of a recording is
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

// Export writes a recording in a format of package export; version is that of mcptap,
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
