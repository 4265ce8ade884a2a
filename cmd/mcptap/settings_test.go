package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The table in docs/settings.md has a row for each setting, in order, and no other.
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
	for i := range settings {
		s := &settings[i]
		one, only := "", ""
		if f := http.Lookup(s.flag); f != nil && f.Value.Type() == "bool" {
			one = "=1"
		}
		if s.in == "http" {
			only = "`http`: "
		}
		want = append(want, strings.Join([]string{s.flag, s.variable(), one, only}, " "))
	}
	if !slices.Equal(rows, want) {
		t.Errorf("docs/settings.md has\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

// Each setting is a flag of the commands that have it.
func TestSettingsAreFlags(t *testing.T) {
	a, _ := testApp(nil)
	for _, c := range newRoot(a).Commands() {
		for i := range settings {
			s := &settings[i]
			f := c.Flag(s.flag)
			if slices.Contains(strings.Fields(s.in), c.Name()) && (f == nil || !strings.Contains(f.Usage, s.variable())) {
				t.Errorf("mcptap %s --%s: no such flag, or %s is not in its usage", c.Name(), s.flag, s.variable())
			}
		}
	}
}

func TestDataDir(t *testing.T) {
	home := func() (string, error) { return "/home/me", nil }
	none := func() (string, error) { return "", errors.New("no home") }
	for _, c := range []struct {
		flag, goos string
		env        map[string]string
		home       func() (string, error)
		want       string
	}{
		{"flag", "linux", map[string]string{"MCPTAP_DIR": "env", "XDG_STATE_HOME": "/xdg"}, home, "flag"},
		{"", "linux", map[string]string{"MCPTAP_DIR": "env", "XDG_STATE_HOME": "/xdg"}, home, "env"},
		{"", "linux", map[string]string{"XDG_STATE_HOME": "/xdg"}, home, "/xdg/mcptap"},
		{"", "linux", map[string]string{"XDG_STATE_HOME": "relative"}, home, "/home/me/.local/state/mcptap"},
		{"", "linux", nil, home, "/home/me/.local/state/mcptap"},
		{"", "freebsd", nil, home, "/home/me/.local/state/mcptap"},
		{"", "linux", map[string]string{"XDG_STATE_HOME": "/xdg"}, none, "/xdg/mcptap"},
		{"", "linux", nil, none, ""},
		{"", "darwin", map[string]string{"XDG_STATE_HOME": "/xdg"}, home, "/home/me/Library/Application Support/mcptap"},
		{"", "windows", map[string]string{"LocalAppData": "/local"}, home, "/local/mcptap"},
		{"", "windows", nil, home, "/home/me/AppData/Local/mcptap"},
	} {
		got, err := findDataDir(c.flag, c.goos, func(k string) string { return c.env[k] }, c.home)
		if filepath.ToSlash(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q %s %v: %q, %v, want %q", c.flag, c.goos, c.env, got, err, c.want)
		}
	}
}
