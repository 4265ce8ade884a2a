package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mcptap/mcptap/demo"
)

// demoProgram returns a path at which this test is the program: testscript tells it
// by its name.
func demoProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mcptap := filepath.Join(t.TempDir(), "mcptap")
	switch err := os.Symlink(self, mcptap); {
	case err != nil && runtime.GOOS == "windows":
		t.Skip("SKIPPED: links need a right that this user lacks: ", err)
	case err != nil:
		t.Fatal(err)
	}
	return mcptap
}

// recordDemo records one session of the demo, and returns its file.
func recordDemo(t *testing.T, mcptap, revision string) string {
	t.Helper()
	dir := t.TempDir()
	if err := demo.Drive(t.Context(), revision, []string{mcptap, "stdio", "--dir", dir, "--", mcptap, "demo", "serve"}, nil); err != nil {
		t.Fatal(revision, err)
	}
	return only(t, dir)
}
