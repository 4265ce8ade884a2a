package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/labels"
	"github.com/mcptap/mcptap/internal/settings"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
)

// opener returns what opens recordings, and converts exports and bundles to them.
func (a *app) opener() *recording.Opener {
	return &recording.Opener{Dir: a.dataDir, Temp: a.tempDir, Now: a.now, Label: labelOf}
}

// open opens the recording that an argument names.
func (a *app) open(ctx context.Context, arg string) (*recording.File, error) {
	file, err := a.opener().Open(ctx, arg)
	if err == nil {
		a.noteLabel(arg, file.Path())
	}
	return file, err
}

// findSession returns the file of the recording that an argument names, and the number
// of the session, 0 for all.
func (a *app) findSession(arg string) (path string, session int, err error) {
	path, session, err = a.opener().Path(a.ctx, arg)
	a.noteLabel(arg, path)
	return path, session, err
}

// tempDir makes a directory that is removed when the command ends.
func (a *app) tempDir() (string, error) {
	dir, err := os.MkdirTemp("", "mcptap-")
	a.temp = append(a.temp, dir)
	return dir, err
}

// removeTemp removes what tempDir made.
func (a *app) removeTemp() {
	for _, dir := range a.temp {
		_ = os.RemoveAll(dir)
	}
}

// labelOf returns a label for a recording without one.
func labelOf(command []string, file string) string {
	if len(command) > 0 {
		return labels.For(command)
	}
	return labels.Tidy(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
}

// errWhole is for commands that cannot take part of a recording.
var errWhole = errors.New("takes a whole recording, not a session of one")

// find returns the file of an argument that must name a whole recording, not an export, a
// bundle or a session.
func (a *app) find(arg string) (string, error) {
	path, err := a.findFile(arg)
	a.noteLabel(arg, path)
	return path, err
}

// findFile is find without the report on a label that several recordings share.
func (a *app) findFile(arg string) (string, error) {
	dir, err := a.dataDir()
	if err != nil {
		return "", err
	}
	path, session, err := store.Resolve(dir, arg)
	if err == nil && session > 0 {
		err = fmt.Errorf("%s: this %w", term.Quote(arg), errWhole)
	}
	return path, err
}

// sameLabel returns the recordings with a label, newest first, if arg is the label by
// which the recording at path was found.
func (a *app) sameLabel(arg, path string) (label string, same []store.Info) {
	label, _, _ = store.CutSession(arg)
	if dir, err := a.dataDir(); err == nil {
		same = store.Labelled(dir, label)
	}
	if len(same) > 0 && same[0].Path == path {
		return label, same
	}
	return label, nil
}

// noteLabel reports, once per argument, that several recordings have the label arg, or
// that several are live if arg is @live; path is the newest.
func (a *app) noteLabel(arg, path string) {
	if slices.Contains(a.noted, arg) {
		return
	}
	a.noted = append(a.noted, arg)
	if name, _, _ := store.CutSession(arg); name == "@live" && path != "" {
		a.hintLive(path)
	}
	if label, same := a.sameLabel(arg, path); len(same) > 1 {
		a.say(fmt.Sprintf("label %s: %d recordings have it, using the newest, %s", term.Quote(label), len(same), same[0].Header.ID))
	}
}

// hintLive prints which of several live recordings @live selects.
func (a *app) hintLive(path string) {
	if n := len(store.LivePaths(filepath.Dir(path))); n > 1 {
		a.say(fmt.Sprintf("hint: %d recordings are live; @live is the newest, %s; `mcptap ls is:live` lists them, `mcptap show -f @live` follows all", n,
			filepath.Base(path)))
	}
}

// completeRecording offers the ids of recordings to the shell.
func (a *app) completeRecording(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	dir, err := a.dataDir()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return store.Completions(dir, prefix), cobra.ShellCompDirectiveDefault
}

// warnVariables reports environment variables that are probably misspelled settings.
func (a *app) warnVariables() {
	var wrong []string
	names, near := settings.Unknown(a.environ)
	for i, name := range names {
		if near[i] != "" {
			wrong = append(wrong, name+" is ignored (did you mean "+near[i]+"?)")
		}
	}
	if len(wrong) > 0 {
		a.say("warning: " + strings.Join(wrong, ", "))
	}
}

// dirArg returns the --dir flag for a suggested command, "" if none was given.
func (a *app) dirArg() string {
	if a.dirFlag == "" {
		return ""
	}
	return " --dir " + term.ShellQuote(a.dirFlag)
}

// dataDir returns the directory of the recordings: --dir, MCPTAP_DIR, or the
// directory of the operating system for such data. It need not exist.
func (a *app) dataDir() (string, error) {
	return settings.DataDir(a.dirFlag, runtime.GOOS, a.env, os.UserHomeDir)
}
