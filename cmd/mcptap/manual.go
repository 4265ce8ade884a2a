//go:build manual

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// A separate program writes the manual pages and the completions of a release, so that
// mcptap does not link the code that formats them:
//
//	go run -tags manual ./cmd/mcptap DIR
//
// The date on the pages is that of SOURCE_DATE_EPOCH, if set.
func init() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run -tags manual ./cmd/mcptap DIR")
		os.Exit(exitFailure)
	}
	if err := writeManual(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailure)
	}
	os.Exit(0)
}

func writeManual(dir string) error {
	pages, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	for _, d := range []string{pages, completions} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	root := newRoot(&app{stdout: os.Stdout, stderr: os.Stderr, env: os.Getenv, now: time.Now, zone: time.UTC})
	root.DisableAutoGenTag = true
	date := time.Now()
	if n, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		date = time.Unix(n, 0).UTC()
	}
	head := &doc.GenManHeader{Title: "MCPTAP", Section: "1", Date: &date, Source: "mcptap " + programVersion(), Manual: "mcptap"}
	if err := doc.GenManTree(root, head, pages); err != nil {
		return err
	}
	return writeCompletions(root, completions)
}

// writeCompletions writes one file per shell, under the name that the shell looks for.
func writeCompletions(root *cobra.Command, dir string) error {
	for name, write := range map[string]func(string) error{
		"mcptap.bash": func(to string) error { return root.GenBashCompletionFileV2(to, true) },
		"_mcptap":     root.GenZshCompletionFile,
		"mcptap.fish": func(to string) error { return root.GenFishCompletionFile(to, true) },
		"mcptap.ps1":  root.GenPowerShellCompletionFileWithDesc,
	} {
		if err := write(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
