package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcptap/mcptap/demo"
	"github.com/mcptap/mcptap/store"
)

// The demo's client is of the official SDK, uses each feature of its server once,
// and checks what comes back and in which order. It cannot tell the mock from the
// server that was recorded, at any pace, and nothing that it does deviates.
func TestMockDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: it takes some seconds")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("SKIPPED: there is no shell")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mcptap := filepath.Join(t.TempDir(), "mcptap")
	if err := os.Symlink(self, mcptap); err != nil {
		t.Skip(err) // testscript tells the program by its name
	}
	for _, revision := range []string{demo.Handshake, demo.Stateless} {
		dir := t.TempDir()
		drive := func(command ...string) {
			t.Helper()
			if err := demo.Drive(t.Context(), revision, command, nil); err != nil {
				t.Errorf("%s, %q: %v", revision, command[1:], err)
			}
		}
		drive(mcptap, "stdio", "--dir", dir, "--", mcptap, "demo", "serve")
		infos, err := store.List(dir)
		if err != nil || len(infos) != 1 {
			t.Fatal(infos, err)
		}
		text := filepath.Join(dir, "session.txtar")
		if out, err := exec.Command(mcptap, "export", infos[0].Path, "-o", text).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		report := filepath.Join(dir, "report.ndjson")
		// The client wants the server's words on stderr too, which the mock does
		// not say.
		const both = `"$0" show "$1" --raw --lane stderr >&2; shift; exec "$0" mock "$@"`
		for _, args := range [][]string{
			{infos[0].Path}, {infos[0].Path, "--pace", "instant"}, {infos[0].Path, "--pace", "recorded"}, {text},
		} {
			drive(append([]string{"sh", "-c", both, mcptap, infos[0].Path, "--strict", "--report", report}, args...)...)
		}
		b, err := os.ReadFile(report)
		if err != nil || !bytes.Contains(b, []byte(`"passed":true`)) || bytes.Count(b, []byte("\n")) > 3 {
			t.Errorf("%v\n%s", err, b)
		}
	}
}
