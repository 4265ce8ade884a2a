package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
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
	r, err := text.NewReader(in)
	if err != nil && strings.EqualFold(filepath.Ext(name), ".har") {
		return withHint(fmt.Errorf("import %s: an HTTP Archive cannot be imported", name), "export the recording as .ndjson or .txtar to import it elsewhere")
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

// copyFrames makes a recording at path of frames; head is asked after the last one
// how it ended. When anything goes wrong, none is left.
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
