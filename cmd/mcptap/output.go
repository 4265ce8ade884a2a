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

// checkOutput returns an error if the output file of a flag exists, unless force is set.
// Pipes and devices may exist.
func checkOutput(flag, name string, force bool) error {
	if info, err := os.Stat(name); name == "" || name == "-" || force || err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return withHint(fmt.Errorf("%s: %s already exists", flag, quote(name)), "use --force to overwrite it")
}

// writeFile writes a whole file or nothing. It keeps the mode of an existing file, and
// writes through a symbolic link.
func writeFile(name string, write func(io.Writer) error) error {
	if strings.HasSuffix(name, store.Ext) {
		return withHint(fmt.Errorf("%s: an export is text, but the extension is that of a recording", quote(name)),
			"choose another name, such as session.ndjson")
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

// writeRecording is like writeFile for a recording: write receives the name to use.
func writeRecording(name string, write func(name string) error) error {
	if store.IsLive(name) {
		return fmt.Errorf("%s is still being recorded", quote(name))
	}
	work, err := scratchDir(name)
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

// scratchDir makes a temporary directory next to the file to replace.
func scratchDir(name string) (string, error) {
	return os.MkdirTemp(filepath.Dir(linkTarget(name)), ".mcptap-*")
}

// replaceBy moves the file made to name, with the mode of a file it replaces. If name is
// a link, it replaces the target.
func replaceBy(made, name string) error {
	target := linkTarget(name)
	if info, err := os.Stat(target); err == nil {
		if err := os.Chmod(made, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return os.Rename(made, target)
}

// linkTarget returns the target of a link, which may not exist.
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
