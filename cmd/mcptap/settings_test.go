package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/settings"
)

// The table in docs/settings.md has exactly one row per setting, in order.
func TestSettingsInDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows, want []string
	for _, m := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)[^`]*` \\| `(MCPTAP_[A-Z_]+)(=1)?` \\| (`http`: )?").FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, strings.Join(m[1:], " "))
	}
	a, _ := testApp(nil)
	http := newHTTP(a).Flags()
	for i := range settings.All {
		s := &settings.All[i]
		one, only := "", ""
		if f := http.Lookup(s.Flag); f != nil && f.Value.Type() == "bool" {
			one = "=1"
		}
		if s.In == "http" {
			only = "`http`: "
		}
		want = append(want, strings.Join([]string{s.Flag, s.Variable(), one, only}, " "))
	}
	if !slices.Equal(rows, want) {
		t.Errorf("docs/settings.md has\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

// Each setting is a flag of the commands that have it.
func TestSettingsAreFlags(t *testing.T) {
	a, _ := testApp(nil)
	for _, c := range newRoot(a).Commands() {
		for i := range settings.All {
			s := &settings.All[i]
			f := c.Flag(s.Flag)
			if slices.Contains(strings.Fields(s.In), c.Name()) && (f == nil || !strings.Contains(f.Usage, s.Variable())) {
				t.Errorf("mcptap %s --%s: no such flag, or %s is not in its usage", c.Name(), s.Flag, s.Variable())
			}
		}
	}
}
