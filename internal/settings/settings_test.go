package settings

import (
	"errors"
	"path/filepath"
	"testing"
)

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
		got, err := DataDir(c.flag, c.goos, func(k string) string { return c.env[k] }, c.home)
		if filepath.ToSlash(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q %s %v: %q, %v, want %q", c.flag, c.goos, c.env, got, err, c.want)
		}
	}
}
