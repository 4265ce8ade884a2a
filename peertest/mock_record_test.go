package peertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A session is recorded and half of the recording is removed. With --record new the rest comes from the
// real server and is added to the recording. The client observes the same each time.
func TestMockRecords(t *testing.T) {
	needLong(t)
	needPeers(t)
	tapBinary(t)
	for _, c := range clients() {
		if !contains([]string{"v1-legacy", "v2-legacy", "go-2025-06-18", "go-auto"}, c.name) {
			continue
		}
		for _, s := range servers() {
			if s.name != "gosdk" { // the responses of the others depend on earlier requests
				continue
			}
			t.Run(c.name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				testMockRecords(t, c, s)
			})
		}
	}
}

func testMockRecords(t *testing.T, c clientUnderTest, s serverUnderTest) {
	tmp, file := t.TempDir(), filepath.Join(t.TempDir(), "session.ndjson")
	run := func(flags ...string) transcript {
		t.Helper()
		return playIn(t, tmp, c, s, func(argv []string) []string {
			return append(append([]string{tapBinary(t), "mock", file}, flags...), argv...)
		})
	}
	live := run("--record", "once", "--")
	for _, half := range []string{"new", "again"} {
		if half == "new" {
			halve(t, file)
		}
		compareSession(t, live, run("--record", "new", "--repeat", "error", "--"))
	}
	report := filepath.Join(t.TempDir(), "report.ndjson")
	alone := playIn(t, tmp, c, s, func([]string) []string {
		return []string{tapBinary(t), "mock", file, "--verify", "--report", report, "--force"}
	})
	compareSession(t, live, alone)
	passed(t, report)
}

// halve keeps the first half of a recording, or slightly less, so that no call is open at its end.
func halve(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(bytes.TrimSpace(b), []byte("\n"))
	open, frames := map[string]bool{}, 0
	for i, line := range lines[1 : len(lines)/2] {
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(f.bytes(), &m) == nil && m.ID != nil {
			if other := map[string]string{"to_server": "to_client", "to_client": "to_server"}[f.Lane]; m.Method != "" {
				open[f.Lane+string(m.ID)] = true
			} else {
				delete(open, other+string(m.ID))
			}
		}
		if len(open) == 0 {
			frames = i + 1
		}
	}
	half := append(bytes.Join(lines[:1+frames], nil), fmt.Sprintf(`{"v":1,"type":"end","at_ns":0,"status":"cut","frames":%d}`+"\n", frames)...)
	if err := os.WriteFile(file, half, 0o600); err != nil {
		t.Fatal(err)
	}
}
