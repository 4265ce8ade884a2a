package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcptap/mcptap/demo"
)

// The demo's client is of the official SDK, uses each feature of its server once,
// and checks what comes back and in which order. It cannot tell the mock from the
// server that was recorded, at any pace, and nothing that it does deviates.
func TestMockDemo(t *testing.T) {
	t.Parallel()
	mcptap := demoProgram(t)
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("SKIPPED: there is no shell")
	}
	for _, revision := range []string{demo.Handshake, demo.Stateless} {
		dir := t.TempDir()
		drive := func(command ...string) {
			t.Helper()
			if err := demo.Drive(t.Context(), revision, command, nil); err != nil {
				t.Errorf("%s, %q: %v", revision, command[1:], err)
			}
		}
		session := recordDemo(t, mcptap, revision)
		text := filepath.Join(dir, "session.txtar")
		if out, err := exec.Command(mcptap, "export", session, "-o", text).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		report := filepath.Join(dir, "report.ndjson")
		// The client wants the server's words on stderr too, which the mock does
		// not say.
		const both = `"$0" show "$1" --raw --lane stderr >&2; shift; exec "$0" mock "$@"`
		for _, args := range [][]string{
			{session}, {session, "--pace", "instant"}, {session, "--pace", "recorded"}, {text},
		} {
			drive(append([]string{"sh", "-c", both, mcptap, session, "--strict", "--report", report, "--force"}, args...)...)
		}
		b, err := os.ReadFile(report)
		if err != nil || !bytes.Contains(b, []byte(`"passed":true`)) || bytes.Count(b, []byte("\n")) > 3 {
			t.Errorf("%v\n%s", err, b)
		}
	}
}
