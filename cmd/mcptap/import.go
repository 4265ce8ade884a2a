package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/bundle"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

const importLong = `Makes a recording from a file that ` + "`" + `mcptap export` + "`" + ` or ` + "`" + `mcptap bundle` + "`" + ` wrote, or from a
transcript written by hand, and prints its id. - reads stdin. Commands that read
recordings also take such files directly.

Bundles are treated as hostile: only the recording is unpacked, and a bundle with other
files, paths or links, or more than --max-size, is refused. A bundle that was imported
before is not imported again.

The recording keeps its id, so that links to it stay valid. If a recording with that id
exists, use --new-id.`

type importOptions struct {
	newID        bool
	label, limit string
}

func newImport(a *app) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:     "import FILE|- [flags]",
		Short:   "Make a recording from an exported file or a bundle",
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
	f.StringVar(&o.limit, "max-size", "1GiB", "unpack at most this `size` of a bundle")
}

func (o *importOptions) run(ctx context.Context, a *app, name string) error {
	in := a.stdin
	if isBundle(name) {
		return o.bundle(ctx, a, name)
	}
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
	r, err := text.NewReader(in)
	if err != nil && strings.EqualFold(filepath.Ext(name), ".har") {
		return withHint(fmt.Errorf("import %s: HTTP Archives cannot be imported", name), "to import a recording elsewhere, export it as .ndjson or .txtar")
	}
	if err != nil {
		return fmt.Errorf("import %s: %w", name, err)
	}
	header := r.Head().Header
	if err := o.complete(a, &header, name); err != nil {
		return fmt.Errorf("import %s: %w", name, err)
	}
	if err := taken(dir, header.ID); err != nil {
		return fmt.Errorf("import %s: %w", name, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := copyFrames(ctx, filepath.Join(dir, store.FileName(header)), header, text.Frames(r), r.Head); err != nil {
		return fmt.Errorf("import %s: %w", name, err)
	}
	_, err = fmt.Fprintln(a.stdout, header.ID)
	return err
}

// bundle imports the recording of a bundle.
func (o *importOptions) bundle(ctx context.Context, a *app, name string) error {
	limit, err := parseSize(o.limit)
	switch {
	case err == nil && limit > bundle.MaxSize:
		err = fmt.Errorf("%s is more than the limit of 4 GiB", quote(o.limit))
		fallthrough
	case err != nil:
		return fmt.Errorf("--max-size: %w", err)
	case o.newID || o.label != "":
		return errors.New("--new-id and --label cannot be used with a bundle")
	}
	dir, err := a.dataDir()
	if err != nil {
		return err
	}
	path, err := importBundle(ctx, a, dir, name, limit)
	if err != nil {
		err = fmt.Errorf("import %s: %w", name, err)
		if errors.Is(err, bundle.ErrTooLarge) {
			return withHint(err, "if you trust it, raise --max-size")
		}
		return err
	}
	_, err = fmt.Fprintln(a.stdout, store.Stat(path).Header.ID)
	return err
}

// isBundle reports whether a name is that of a zip archive, which bundles are.
func isBundle(name string) bool {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4)
	_, err = io.ReadFull(f, head)
	return err == nil && (string(head) == "PK\x03\x04" || string(head) == "PK\x05\x06")
}

// readText makes a recording in a directory from a text.
func (a *app) readText(ctx context.Context, dir, name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	r, err := text.NewReader(f)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	h := r.Head().Header
	if !isPlainID(h.ID) {
		h.ID = ""
	}
	if err := (&importOptions{}).complete(a, &h, name); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	path := filepath.Join(dir, store.FileName(h))
	if err := copyFrames(ctx, path, h, text.Frames(r), r.Head); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return path, nil
}

// complete fills in the missing fields of a header, and checks those that become part of
// the file name.
func (o *importOptions) complete(a *app, h *tap.Header, name string) error {
	if o.newID || h.ID == "" {
		h.ID = store.NewID()
	}
	if len(h.ID) != 8 || strings.Trim(h.ID, "0123456789abcdef") != "" {
		return withHint(fmt.Errorf("invalid id %s: want eight hex digits", quote(h.ID)), "use --new-id")
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

// taken returns an error if a recording in the directory has the id.
func taken(dir, id string) error {
	names, err := filepath.Glob(filepath.Join(globEscape(dir), "*-"+id+store.Ext))
	if err != nil || len(names) == 0 {
		return err
	}
	return withHint(fmt.Errorf("recording %s already exists: %s", id, filepath.Base(names[0])), "use --new-id to import it under another id")
}

// globEscape escapes a directory name for use in a pattern.
func globEscape(dir string) string {
	if os.PathSeparator == '\\' {
		return dir // no escapes there, and no brackets to speak of
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// copyFrames makes a recording at path from frames. It calls head after the last frame,
// for how the recording ended. On error it removes the file.
func copyFrames(ctx context.Context, path string, h tap.Header, frames iter.Seq2[tap.Frame, error], head func() text.Head) error {
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
		if err == nil {
			err = w.Add(f)
		}
		if err != nil {
			return err
		}
		last = f.At
	}
	end := head()
	return w.Close(store.End{At: max(end.End, last), Cut: end.Status != "" && end.Status != "ended"})
}

// unpackMost is the default limit of the unpacked size of a bundle.
const unpackMost = 1 << 30

// importBundle makes a recording in dir from the one in a bundle, unless dir already has
// it, and returns its path. Bundles are untrusted: it unpacks only the recording, and
// reads and writes each frame.
func importBundle(ctx context.Context, a *app, dir, name string, limit int64) (string, error) {
	tmp, err := os.MkdirTemp("", "mcptap-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	unpacked := filepath.Join(tmp, bundle.Recording)
	if err := unpack(name, unpacked, limit); err != nil {
		return "", err
	}
	rec, err := store.Open(unpacked)
	if err != nil {
		return "", packedError(err, unpacked)
	}
	rec.SetMaxRaw(limit)
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
	return path, packedError(copyRecording(ctx, rec, path, h, atMost(limit)), unpacked)
}

// unpack writes the recording of a bundle to a file.
func unpack(name, to string, limit int64) error {
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
	return errors.Join(b.Unpack(out, bundle.Recording, limit), out.Close())
}

// unwrapPath returns the cause of a path error whose file is already named.
func unwrapPath(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// packedError replaces the name of the unpacked file in an error by that of the
// recording in the bundle.
func packedError(err error, unpacked string) error {
	if err == nil {
		return nil
	}
	return replaced{err, strings.ReplaceAll(err.Error(), unpacked, bundle.Recording)}
}

// A replaced error has another text.
type replaced struct {
	error
	words string
}

func (r replaced) Error() string { return r.words }

func (r replaced) Unwrap() error { return r.error }

// atMost returns a function that fails once the frames exceed a total size. Recordings
// are compressed, so the file size is no bound.
func atMost(limit int64) func(*tap.Frame) error {
	room := limit
	return func(f *tap.Frame) error {
		if room -= f.Size; room < 0 {
			return fmt.Errorf("%s: %w: its frames exceed %s", bundle.Recording, bundle.ErrTooLarge, formatSize(limit))
		}
		return nil
	}
}

// sameContent reports whether two recordings are equal. Unreadable ones are not.
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
