package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

const importLong = `Makes a recording of what ` + "`mcptap export`" + ` wrote, or of a transcript that was
edited or written by hand, and prints its id. - reads stdin; NDJSON and txtar are
told apart by their content.

The recording keeps its id, so that a link to it stays good. When one of that id
is in the data directory already, --new-id gives it another one.`

type importOptions struct {
	newID bool
	label string
}

func newImport(a *app) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:     "import FILE|- [flags]",
		Short:   "Make a recording of an exported file",
		Long:    importLong,
		Example: "  mcptap import session.ndjson\n  mcptap export @last --format txtar | sed 's/secret/xxx/' | mcptap import - --new-id",
		Args:    takes(1, 1, "a file, or - for stdin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), a, args[0])
		},
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd)
	return cmd
}

func (o *importOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.newID, "new-id", false, "give the recording a new id")
	f.StringVar(&o.label, "label", "", "give the recording another `name`")
}

// A source is what a file tells before its first frame.
type source struct {
	header tap.Header
	gaps   []tap.Range
}

// A sourceEnd is what it tells after the last one.
type sourceEnd struct {
	at  time.Duration
	cut bool
}

// A frameReader yields the frames of a file, and at the end how it ended.
type frameReader interface {
	frame() (tap.Frame, *sourceEnd, error)
}

func (o *importOptions) run(ctx context.Context, a *app, name string) error {
	in := a.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	} else {
		name = "stdin"
	}
	dir, err := a.dataDir()
	if err != nil {
		return err
	}
	frames, src, err := readSource(in)
	if err != nil {
		return fmt.Errorf("import %s: %w", name, err)
	}
	if err := o.complete(a, &src.header, name); err != nil {
		return fmt.Errorf("import %s: %w", name, err)
	}
	if err := taken(dir, src.header.ID); err != nil {
		return fmt.Errorf("import %s: %w", name, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := copyFrames(ctx, filepath.Join(dir, store.FileName(src.header)), src.header, frames); err != nil {
		return fmt.Errorf("import %s: %w", name, err)
	}
	_, err = fmt.Fprintln(a.stdout, src.header.ID)
	return err
}

// readSource finds out the format and reads up to the first frame.
func readSource(in io.Reader) (frameReader, source, error) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		c, err := r.Peek(1)
		if err == io.EOF {
			return nil, source{}, fmt.Errorf("it is empty")
		}
		if err != nil {
			return nil, source{}, err
		}
		if strings.IndexByte(" \t\r\n", c[0]) < 0 {
			break
		}
		_, _ = r.Discard(1)
	}
	if c, _ := r.Peek(1); c[0] == '{' {
		n, src, err := newNDJSON(r)
		return n, src, err
	}
	data, err := io.ReadAll(textReader{r})
	if err != nil {
		return nil, source{}, err
	}
	t, src, err := newTranscript(data)
	return t, src, err
}

// A textReader ends with an error where a NUL comes, which is in no transcript:
// what it reads may be of any size, or a device.
type textReader struct{ io.Reader }

func (t textReader) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if bytes.IndexByte(p[:n], 0) >= 0 {
		err = withHint(errors.New("neither NDJSON nor a transcript"), "a .mcptap file needs no import: name it as it is, `mcptap show FILE`")
	}
	return n, err
}

// complete gives a header what it lacks, and checks what becomes a file's name.
func (o *importOptions) complete(a *app, h *tap.Header, name string) error {
	if o.newID || h.ID == "" {
		h.ID = store.NewID()
	}
	if len(h.ID) != 8 || strings.Trim(h.ID, "0123456789abcdef") != "" {
		return withHint(fmt.Errorf("the id %s is not eight hex digits", quote(h.ID)), "--new-id gives it another one")
	}
	if h.Start.IsZero() {
		h.Start = a.now()
	}
	h.Start = h.Start.UTC()
	if h.Transport == "" {
		h.Transport = "stdio"
	}
	switch {
	case o.label != "":
		h.Label = o.label
	case h.Label == "" && len(h.Command) > 0:
		h.Label = labelFor(h.Command)
	case h.Label == "":
		h.Label = tidyName(strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)))
	}
	return nil
}

// taken reports an id that a recording in the directory has.
func taken(dir, id string) error {
	names, err := filepath.Glob(filepath.Join(globEscape(dir), "*-"+id+store.Ext))
	if err != nil || len(names) == 0 {
		return err
	}
	return withHint(fmt.Errorf("there is a recording %s already: %s", id, filepath.Base(names[0])), "with --new-id the imported one gets an id of its own")
}

// globEscape makes a directory's name match itself.
func globEscape(dir string) string {
	if os.PathSeparator == '\\' {
		return dir // no escapes there, and no brackets to speak of
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// copyFrames makes the recording. When anything goes wrong, none is left.
func copyFrames(ctx context.Context, path string, h tap.Header, from frameReader) error {
	w, err := store.NewWriter(path, h)
	if err != nil {
		return err
	}
	defer w.Abort()
	last := time.Duration(0)
	for {
		f, end, err := from.frame()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if end != nil {
			return w.Close(store.End{At: max(end.at, last), Cut: end.cut})
		}
		last = f.At
		if err := w.Add(f); err != nil {
			return err
		}
	}
}
