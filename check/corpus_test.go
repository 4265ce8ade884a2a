package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap/session"
	transcript "github.com/mcptap/mcptap/tap/text"
)

// The findings in the sessions of the corpus were reviewed one by one. Some of the sessions are broken
// on purpose; their comments explain how.
func TestCorpus(t *testing.T) {
	var names []string
	for _, pattern := range []string{"*.txtar", "streams/*.txtar", "../http/*.txtar"} {
		found, err := filepath.Glob(filepath.Join("..", "testdata", "sessions", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	if len(names) < 20 {
		t.Fatalf("only %d sessions", len(names))
	}
	var b strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, all, err := transcript.Parse(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var tracker session.Tracker
		c := New(Rules())
		for i := range all {
			c.Add(tracker.Add(&all[i]))
		}
		r := c.Report(tracker.Open())
		if r.Judged() == 0 {
			t.Errorf("%s: nothing was judged", name)
		}
		fmt.Fprintf(&b, "%s\n", filepath.ToSlash(strings.TrimSuffix(name, ".txtar")))
		for _, f := range r.Findings {
			undeclared := (f.Rule.ID == "cap-05" || f.Rule.ID == "flow-11") && strings.Contains(name, "2025-11-25-") // two of them announce changes that they did not declare
			if strings.Contains(name, "healthy") && f.Class >= Must && !undeclared {
				t.Errorf("%s: a healthy session violates %s", name, f.Rule.ID)
			}
			fmt.Fprintf(&b, "  %s %s %d× %v %s %s: %s\n", f.Class, f.Rule.ID, f.Count, f.Frames, f.Subject, f.Path, f.Text)
		}
	}
	golden(t, filepath.Join("testdata", "corpus.golden"), b.String())
}
