package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mcptap/mcptap/demo"
)

// demoProgram returns a path under which this test binary is mcptap: testscript goes by the name.
func demoProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mcptap := filepath.Join(t.TempDir(), "mcptap")
	switch err := os.Symlink(self, mcptap); {
	case err != nil && runtime.GOOS == "windows":
		t.Skip("SKIPPED: this user may not create links: ", err)
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
