package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/bundle"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
)

const importLong = `Makes a recording from a file that ` + "`" + `mcptap export` + "`" + ` or ` + "`" + `mcptap bundle` + "`" + ` wrote, or from a
transcript written by hand, or copies a recording from another place, and prints its id.
- reads stdin. Commands that read recordings also take such files directly.

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
		Short:   "Make a recording from an exported file, a bundle or another recording",
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
	isBundle, isRecording := recording.IsBundle(name), recording.IsRecording(name)
	limit, err := term.ParseSize(o.limit)
	switch {
	case err == nil && limit > bundle.MaxSize:
		err = fmt.Errorf("%s is more than the limit of 4 GiB", term.Quote(o.limit))
		fallthrough
	case err != nil:
		return fmt.Errorf("--max-size: %w", err)
	case isBundle && (o.newID || o.label != ""):
		return errors.New("--new-id and --label cannot be used with a bundle")
	}
	in := a.stdin
	if name == "-" {
		name = "stdin"
	} else if !isBundle && !isRecording {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	dir, err := a.dataDir()
	if err != nil {
		return err
	}
	var path string
	opt := recording.ImportOptions{NewID: o.newID, Label: o.label}
	switch {
	case isBundle:
		path, err = a.opener().ImportBundle(ctx, dir, name, limit)
	case isRecording:
		path, err = a.opener().ImportRecording(ctx, dir, name, opt)
	default:
		path, err = a.opener().Import(ctx, dir, in, name, opt)
	}
	if err != nil {
		err = fmt.Errorf("import %s: %w", name, err)
		if errors.Is(err, bundle.ErrTooLarge) {
			err = hint.With(err, "if you trust it, raise --max-size")
		}
		return err
	}
	_, err = fmt.Fprintln(a.stdout, store.Stat(path).Header.ID)
	return err
}
