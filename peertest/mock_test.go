package peertest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A client that plays a scenario with `mcptap mock` observes the same as with the recorded server. Each
// session is recorded through the tap, and the mock is compared with the client's transcript of the same
// run.

// unplayed are the kinds that belong to the process, not to the session: a mock writes nothing to
// stderr, and exits when its input ends.
var unplayed = []string{"exit", "stderr"}

func TestMockPairs(t *testing.T) {
	needPeers(t)
	tapBinary(t)
	sample := sampled(t)
	for _, c := range clients() {
		for _, s := range servers() {
			if sample && !smoke[c.name+"/"+s.name] {
				continue
			}
			t.Run(c.name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				testMockPair(t, c, s)
			})
		}
	}
}

func testMockPair(t *testing.T, c clientUnderTest, s serverUnderTest) {
	recs, tmp := t.TempDir(), t.TempDir()
	live := playIn(t, tmp, c, s, func(argv []string) []string {
		return append([]string{tapBinary(t), "stdio", "--dir", recs, "--label", c.name + "-" + s.name, "--"}, argv...)
	})
	file := longest(t, recs)
	report := filepath.Join(t.TempDir(), "report.ndjson")
	mocked := playIn(t, tmp, c, s, func([]string) []string {
		argv := []string{tapBinary(t), "mock", file}
		if !c.probes { // if it probes, there are two mocks
			argv = append(argv, "--strict", "--verify", "--report", report, "--force")
		}
		return argv
	})
	kinds := unplayed
	if c.probes && s.modern { // the server's description of itself is in the recording of the probe
		kinds = append(slices.Clone(kinds), "connected")
	}
	for _, kind := range kinds {
		delete(live, kind)
		delete(mocked, kind)
	}
	compare(t, live, mocked)
	if !c.probes {
		passed(t, report)
	}
}

// longest returns the recording with the most frames in a directory: a client that probes leaves an
// additional one.
func longest(t *testing.T, dir string) (file string) {
	t.Helper()
	all := recordings(t, dir)
	if len(all) == 0 {
		t.Fatal("no recording")
	}
	return slices.MaxFunc(all, func(a, b *recording) int { return len(a.frames) - len(b.frames) }).file
}

// passed reads the report of a mock, which must have no failures.
func passed(t *testing.T, report string) {
	t.Helper()
	b, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	var summary struct {
		Passed bool `json:"passed"`
	}
	if err := json.Unmarshal(lines[len(lines)-1], &summary); err != nil || !summary.Passed {
		t.Errorf("%v, the mock's report:\n%s", err, b)
	}
}
