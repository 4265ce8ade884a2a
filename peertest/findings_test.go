package peertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// knownFindings are the findings of the classes must and client-breaking in the recordings of real
// peers. Each was verified against the specification. A line has the rule, the subject, the path and,
// if it applies to only one test, the test, each followed by a tab; and after # the violated sentence
// and the peer that violates it. A * stands for every subject or path.
var knownFindings = sync.OnceValue(func() map[string]bool {
	known := map[string]bool{}
	data, err := os.ReadFile("known_findings.tsv")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		if fields := strings.Split(line, "\t"); len(fields) > 3 { // the path may be empty
			known[strings.Join(fields[:4], "\t")] = true
		}
	}
	return known
})

// connectOnly are the tests in which a recording may have no message, and so nothing to check: in the
// conformance suite a client may never connect to the server.
var connectOnly = []string{"TestConformanceOfClient"}

// mayBeUnjudged reports whether a recording (as NDJSON) of a test may have nothing to check.
func mayBeUnjudged(test string, exported []byte) bool {
	return slices.Contains(connectOnly, test) && !bytes.Contains(exported, []byte(`"lane":"to_`))
}

func TestMayBeUnjudged(t *testing.T) {
	const start, message = `{"v":1,"type":"frame","seq":1,"lane":"lifecycle"}`, `{"v":1,"type":"frame","seq":2,"lane":"to_server"}`
	for _, c := range []struct {
		test, exported string
		want           bool
	}{{connectOnly[0], start, true}, {connectOnly[0], start + "\n" + message, false}, {"TestPairs/go-auto/memory", start, false}} {
		if mayBeUnjudged(c.test, []byte(c.exported)) != c.want {
			t.Errorf("%s: %s: want %v", c.test, c.exported, c.want)
		}
	}
}

// checkFindings runs `mcptap check` on a recording of real peers: every violation that it reports must
// be a known one.
func checkFindings(t *testing.T, file string) {
	t.Helper()
	cmd := exec.Command(tapBinary(t), "check", file, "--json", "--fail-on", "none")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if strings.Contains(stderr.String(), "no rule could be judged") && mayBeUnjudged(t.Name(), output(t, "export", file)) {
			return
		}
		t.Errorf("check %s: %v, stderr: %s", file, err, &stderr)
		return
	}
	for line := range bytes.Lines(out) {
		var f struct {
			Type, Rule, Class, Subject, Path, Text string
			Frames                                 []uint64
		}
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if f.Type != "finding" || f.Class != "must" && f.Class != "client-breaking" {
			continue
		}
		known, test := false, strings.SplitN(t.Name(), "/", 2)[0]
		for _, subject := range []string{f.Subject, "*"} {
			for _, path := range []string{f.Path, "*"} {
				for _, test := range []string{test, ""} {
					known = known || knownFindings()[strings.Join([]string{f.Rule, subject, path, test}, "\t")]
				}
			}
		}
		if !known {
			t.Errorf("%s: unknown finding, is it a violation? %s", file, fmt.Sprintf("%s\t%s\t%s\t# %s %v: %s", f.Rule, f.Subject, f.Path, f.Class, f.Frames, f.Text))
		}
	}
}
