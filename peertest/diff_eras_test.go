package peertest

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"
)

// TestDiffEras: the same client and server of the Go SDK are recorded in both eras. All differences are
// of class expected, or among a few that depend on timing.
func TestDiffEras(t *testing.T) {
	needLong(t)
	tapBinary(t)
	old, now := recordedChange(t, "go-2025-06-18"), recordedChange(t, "go-auto")
	for _, pair := range [][2]string{{old, now}, {now, old}} {
		var out, printed bytes.Buffer
		cmd := exec.Command(tapBinary(t), "diff", pair[0], pair[1], "--dir", t.TempDir(), "--fail-on", "never", "--json", "--slower", "1h")
		cmd.Stdout, cmd.Stderr = &out, &printed
		if err := cmd.Run(); err != nil || printed.Len() > 0 {
			t.Fatalf("%v\n%s", err, printed.String())
		}
		expected := 0
		for line := range bytes.Lines(out.Bytes()) {
			var l replayLine
			if err := json.Unmarshal(line, &l); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			switch {
			case l.Type != "difference" || l.Class == "cosmetic":
			case l.Class == "expected":
				expected++
			case !l.byLuck(nil):
				t.Errorf("%s", line)
			}
		}
		if expected == 0 {
			t.Error("nothing differs between the eras")
		}
	}
}
