package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// dataDir returns the directory of the recordings: --dir, MCPTAP_DIR, or the
// place where the system keeps such things. It need not exist.
func (a *app) dataDir() (string, error) {
	return findDataDir(a.dirFlag, runtime.GOOS, a.env, os.UserHomeDir)
}

func findDataDir(flag, goos string, env func(string) string, home func() (string, error)) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if dir := env("MCPTAP_DIR"); dir != "" {
		return dir, nil
	}
	if goos == "windows" {
		if dir := env("LocalAppData"); dir != "" {
			return filepath.Join(dir, "mcptap"), nil
		}
	} else if dir := env("XDG_STATE_HOME"); goos != "darwin" && filepath.IsAbs(dir) {
		// The XDG specification says to ignore a relative one.
		return filepath.Join(dir, "mcptap"), nil
	}
	dir, err := home()
	if err != nil || dir == "" {
		return "", withHint(errors.New("no place for recordings: there is no home directory"),
			"name a directory with --dir or MCPTAP_DIR")
	}
	switch goos {
	case "windows":
		return filepath.Join(dir, "AppData", "Local", "mcptap"), nil
	case "darwin":
		return filepath.Join(dir, "Library", "Application Support", "mcptap"), nil
	}
	return filepath.Join(dir, ".local", "state", "mcptap"), nil
}
