package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcptap/mcptap/demo"
)

// The demo's client uses the official SDK and each feature of its server once, and checks the responses
// and their order. It cannot distinguish the mock from the recorded server, at any pace, and nothing
// that it does deviates.
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
		// The client also expects the server's output on stderr, which the mock does not print.
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
