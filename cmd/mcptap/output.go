package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/store"
)

func addForce(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "force", false, "overwrite the file if it exists")
}

// checkOutput refuses the file of a flag if it exists, unless force. A pipe or a device
// may exist.
func checkOutput(flag, name string, force bool) error {
	if info, err := os.Stat(name); name == "" || name == "-" || force || err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return withHint(fmt.Errorf("%s: %s already exists", flag, quote(name)), "use --force to overwrite it")
}

// writeFile writes a file in full or not at all. One that exists keeps its mode, and a
// link stays: the file that it leads to is replaced.
func writeFile(name string, write func(io.Writer) error) error {
	if strings.HasSuffix(name, store.Ext) {
		return withHint(fmt.Errorf("%s: an export is text, but the extension is that of a recording", quote(name)), "choose another name, such as session.ndjson")
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0) // a pipe or a device
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	target := linkTarget(name)
	f, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	err = errors.Join(write(f), f.Close())
	if err == nil {
		err = replaceBy(f.Name(), target)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// writeRecording writes a recording as writeFile writes a file: write gets the name to use.
func writeRecording(name string, write func(name string) error) error {
	if store.IsLive(name) {
		return fmt.Errorf("%s is still being recorded", quote(name))
	}
	work, err := scratchBeside(name)
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	made := filepath.Join(work, "new"+store.Ext)
	if err := write(made); err != nil {
		return err
	}
	return replaceBy(made, name)
}

// scratchBeside makes a directory beside the file that is to be replaced.
func scratchBeside(name string) (string, error) {
	return os.MkdirTemp(filepath.Dir(linkTarget(name)), ".mcptap-*")
}

// replaceBy moves a file to the place of another one, which may not exist.
func replaceBy(made, name string) error {
	target := linkTarget(name)
	if info, err := os.Stat(target); err == nil {
		if err := os.Chmod(made, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return os.Rename(made, target)
}

// linkTarget returns the file that a link leads to, which may not exist.
func linkTarget(name string) string {
	for range 40 { // as many as Linux follows
		to, err := os.Readlink(name)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		name = to
	}
	return name
}
