package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/check/load"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
)

const pinLong = `Writes what the server of a recording offers, as JSON meant to be reviewed and
committed: its name, instructions and capabilities, and the definitions of its tools,
prompts, resources and resource templates, of all lists that were requested. If a
tool was offered in several versions, the last is pinned, and a warning names it. What
was not requested is not pinned.

` + "`mcptap check REC --lock FILE`" + ` reports what has changed, with the meaning of the
change; --locked also fails for what is not pinned, and --update-lock writes the file.`

type pinOptions struct {
	output string
	force  bool
}

func newPin(a *app) *cobra.Command {
	var o pinOptions
	cmd := &cobra.Command{
		Use:                   "pin REC [flags]",
		Short:                 "Write what a server offers, to be compared later",
		Long:                  pinLong,
		Example:               "  mcptap pin @last -o mcptap.lock\n  mcptap check @last --lock mcptap.lock --locked",
		Args:                  takes(1, 1, "a recording"),
		ValidArgsFunction:     a.completeRecording,
		RunE:                  func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args[0]) },
		DisableFlagsInUseLine: true,
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "", "write to `file` (default stdout)")
	addForce(cmd, &o.force)
	return cmd
}

func (o *pinOptions) run(ctx context.Context, a *app, arg string) error {
	if err := checkOutput("-o", o.output, o.force); err != nil {
		return err
	}
	var c checkOptions
	if _, _, err := c.check(ctx, a, arg); err != nil {
		return err
	}
	lock, err := load.NewLock(c.last, a.say)
	if err != nil {
		return fmt.Errorf("pin %s: %w", term.Quote(arg), err)
	}
	if lock.Empty() {
		return hint.With(fmt.Errorf("pin %s: the server offers nothing in this recording", term.Quote(arg)), "record a session in which the client requests tools/list")
	}
	if lock.Tools == nil && lock.Prompts == nil && lock.Resources == nil && lock.Templates == nil {
		a.say("warning: the recording has no list of tools, prompts or resources: only the server's name, instructions and capabilities are pinned")
	} else if missing := lock.Missing(); len(missing) > 0 {
		a.say(fmt.Sprintf("warning: the recording does not have all of %s: what is missing is not pinned", strings.Join(missing, ", ")))
	}
	if o.output == "" || o.output == "-" {
		data, err := lock.Encode()
		if err == nil {
			_, err = a.stdout.Write(data)
		}
		return err
	}
	if _, err := load.ReadLock(o.output); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return hint.With(fmt.Errorf("-o: %w", err), "it is not overwritten; choose another file")
	}
	return load.WriteLock(o.output, lock)
}
