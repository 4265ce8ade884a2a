package mcptap_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/check"
)

// docs/check.md lists every rule.
func TestCheckDocs(t *testing.T) {
	const name, mark = "docs/check.md", "-update -->\n\n"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, old, ok := strings.Cut(string(data), mark)
	if !ok {
		t.Fatalf("%s: no line that ends in %q", name, strings.TrimSpace(mark))
	}
	var b strings.Builder
	b.WriteString("| rule | class | binds | requirement |\n|---|---|---|---|\n")
	for _, r := range check.Rules() {
		side := r.Side
		if r.Transport != "any" {
			side += ", " + r.Transport
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, r.ClassText(), side, strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(r.Text))
	}
	if *update {
		if err := os.WriteFile(name, []byte(head+mark+b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != b.String() {
		t.Errorf("%s is out of date: run go test . -run TestCheckDocs -update", name)
	}
}
