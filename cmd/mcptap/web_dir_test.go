package main

import (
	"path/filepath"
	"testing"

	"github.com/mcptap/mcptap/internal/settings"
	"github.com/mcptap/mcptap/web/source"
)

// The page's commands name the data directory if another shell would not find it.
func TestDirForCommands(t *testing.T) {
	state, set := t.TempDir(), t.TempDir()
	a := &app{env: func(name string) string {
		return map[string]string{"XDG_STATE_HOME": state, "LocalAppData": state, "MCPTAP_DIR": set}[name]
	}}
	if got := a.dirForCommands(set); got != set {
		t.Errorf("for MCPTAP_DIR: %q", got)
	}
	usual, err := settings.DataDir("", "linux", func(name string) string {
		return map[string]string{"XDG_STATE_HOME": state}[name]
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.dirForCommands(filepath.Join(usual, ".")); got != "" {
		t.Errorf("for the default directory: %q", got)
	}
	s := source.New(state)
	if in, out := s.Arg(filepath.Join(state, "x.mcptap")), s.Arg(filepath.Join(set, "x.mcptap")); in != "" || out != filepath.Join(set, "x.mcptap") {
		t.Errorf("recordings are named %q and %q", in, out)
	}
}
