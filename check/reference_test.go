package check

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// The example messages of documents that people use to write clients and servers. Each document is
// one session, with the rules that each message violates. A document that uses the same id for
// several examples, or shows fragments, violates rules for that reason alone.
func TestReferenceDocuments(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("..", "tap", "jsonrpc", "testdata", "reference", "*.txt"))
	if err != nil || len(names) != 5 {
		t.Fatal(names, err)
	}
	var b strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var titles []string
		violated := map[uint64][]string{}
		c := New(Rules())
		c.Each(func(r *Rule, frame uint64) {
			if !slices.Contains(violated[frame], r.ID) {
				violated[frame] = append(violated[frame], r.ID)
			}
		})
		var tracker session.Tracker
		var messages [][]byte
		for _, block := range strings.Split(strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n")), "\n\n")[1:] {
			lines := strings.Split(block, "\n")
			lane := map[byte]tap.Lane{'>': tap.ToServer, '<': tap.ToClient}[lines[2][0]]
			if lane == tap.Lifecycle {
				continue // a fragment
			}
			titles, messages = append(titles, lines[0]), append(messages, []byte(lines[2]))
			raw := []byte(lines[2][2:] + "\n")
			c.Add(tracker.Add(&tap.Frame{Seq: uint64(len(titles)), Lane: lane, Raw: raw, Size: int64(len(raw))}))
		}
		c.Report(tracker.Open())
		for i, title := range titles {
			rules := violated[uint64(i+1)]
			slices.Sort(rules)
			fmt.Fprintf(&b, "%s\n%.300s\n  %s\n", title, messages[i], strings.Join(rules, " "))
		}
	}
	golden(t, filepath.Join("testdata", "reference.golden"), b.String())
}
