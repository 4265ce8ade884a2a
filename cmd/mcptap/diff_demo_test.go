package main

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/mcptap/mcptap/demo"
)

// TestDiffDemo checks that the demo's two sessions do the same in both eras: all differences are
// expected from the revision, whichever session comes first.
func TestDiffDemo(t *testing.T) {
	t.Parallel()
	mcptap := demoProgram(t)
	var made []string
	for _, revision := range []string{demo.Handshake, demo.Stateless} {
		made = append(made, recordDemo(t, mcptap, revision))
	}
	for _, args := range [][]string{{made[0], made[1]}, {made[1], made[0]}} {
		args = append([]string{"diff", "--dir", t.TempDir(), "--slower", "1h"}, args...)
		if out, err := exec.Command(mcptap, args...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		var exit *exec.ExitError
		if out, err := exec.Command(mcptap, append(args, "--fail-on", "expected")...).CombinedOutput(); !errors.As(err, &exit) || exit.ExitCode() != exitNegative {
			t.Errorf("nothing differs: %v\n%s", err, out)
		}
	}
}
