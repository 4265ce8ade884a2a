package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcptap/mcptap/demo"
	"github.com/mcptap/mcptap/store"
)

// TestDiffDemo: the demo's two sessions do the same in both eras, so that whatever
// differs is expected by the revision, whichever comes first.
func TestDiffDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: it takes some seconds")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mcptap := filepath.Join(t.TempDir(), "mcptap")
	if err := os.Symlink(self, mcptap); err != nil {
		t.Skip("SKIPPED: ", err) // testscript tells the program by its name
	}
	var made []string
	for _, revision := range []string{demo.Handshake, demo.Stateless} {
		dir := t.TempDir()
		if err := demo.Drive(t.Context(), revision, []string{mcptap, "stdio", "--dir", dir, "--", mcptap, "demo", "serve"}, nil); err != nil {
			t.Fatal(revision, err)
		}
		infos, err := store.List(dir)
		if err != nil || len(infos) != 1 {
			t.Fatal(infos, err)
		}
		made = append(made, infos[0].Path)
	}
	for _, args := range [][]string{{made[0], made[1]}, {made[1], made[0]}} {
		args = append([]string{"diff", "--dir", t.TempDir(), "--slower", "1h"}, args...)
		if out, err := exec.Command(mcptap, args...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		var exit *exec.ExitError
		if out, err := exec.Command(mcptap, append(args, "--fail-on", "expected")...).CombinedOutput(); !errors.As(err, &exit) || exit.ExitCode() != exitNo {
			t.Errorf("nothing differs: %v\n%s", err, out)
		}
	}
}
