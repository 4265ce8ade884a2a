//go:build gitleaks

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitleaks exports redacted copies of the planted corpus and of every session in testdata, and runs
// the gitleaks program on the output. It must find nothing but pseudonyms. Its findings without
// redaction show that it looks in the right places.
func TestGitleaks(t *testing.T) {
	before, after, copies := t.TempDir(), t.TempDir(), 0
	add := func(t *testing.T, path string) {
		copied := filepath.Join(t.TempDir(), "copy.mcptap")
		a, output := testApp(nil)
		if code := a.run([]string{"redact", path, "-o", copied}); code != 0 {
			t.Fatalf("redact: exit %d: %s", code, output)
		}
		copies++
		for _, format := range []string{"ndjson", "txtar", "har"} {
			name := fmt.Sprintf("%d.%s", copies, format)
			for dir, of := range map[string]string{before: path, after: copied} {
				if err := os.WriteFile(filepath.Join(dir, name), export(t, of, format), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	planted, _ := plantedCorpus(t)
	add(t, planted)
	recordings(t, add)
	unredacted, real := gitleaks(t, before), 0
	for _, f := range gitleaks(t, after) {
		if !strings.Contains(f.Match, "redacted-") {
			real++
			t.Errorf("%s in %s, line %d: %s", f.RuleID, filepath.Base(f.File), f.StartLine, f.Match)
		}
	}
	t.Logf("%d recordings: %d findings before redaction, %d real ones after it", copies, len(unredacted), real)
	if len(unredacted) < 5 {
		t.Errorf("before redaction: %d findings, want 5 or more", len(unredacted))
	}
}

// A leak is a finding of gitleaks.
type leak struct {
	RuleID, Match, File string
	StartLine           int
}

func gitleaks(t *testing.T, dir string) (found []leak) {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report.json")
	out, err := exec.Command("gitleaks", "dir", dir, "--no-banner", "--exit-code", "0", "--report-format", "json", "--report-path", report).CombinedOutput()
	if err != nil {
		t.Fatalf("gitleaks: %v\n%s", err, out)
	}
	b, err := os.ReadFile(report)
	if err == nil {
		err = json.Unmarshal(b, &found)
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}
