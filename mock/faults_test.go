package mock

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file of faults may be formatted freely, and errors name the line.
func TestReadFaults(t *testing.T) {
	for _, c := range []struct {
		text, err string
		faults    int
		cut       int
	}{
		{text: "# two\ndrop tools/call\n\n  delay=2s\n", faults: 2},
		{text: "\ufeffdrop\r\n# as Windows writes it\r\nduplicate\r\n", faults: 2},
		{text: "drop", faults: 1},
		{text: "drop\ncut=2\n", faults: 1, cut: 2},
		{text: ""},
		{text: "cut=none", err: "line 1: cut needs a positive number of events"},
		{text: "cut=2 tools/list", err: "line 1: cut=2 takes no method, n, every or p"},
		{text: "explode", err: "disconnect, status or cut)"},
		{text: "drop\n\ndelay=soon\n", err: "line 3: delay"},
		{text: "drop\n\x1b[31m\n", err: `line 2: unknown fault "\x1b[31m"`},
		{text: "\n" + strings.Repeat("x", 100_000), err: "line 2: a line of 100000 bytes is too long for a fault"},
	} {
		name := filepath.Join(t.TempDir(), "faults")
		if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, cut, err := ReadFaults([]string{"reorder", "@" + name})
		switch {
		case c.err == "" && (err != nil || len(got) != c.faults+1 || cut != c.cut):
			t.Errorf("%.40q: %d faults, cut=%d, %v", c.text, len(got), cut, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), name)):
			t.Errorf("%.40q: %v, want %s", c.text, err, c.err)
		}
	}
}
