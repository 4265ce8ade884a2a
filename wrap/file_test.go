package wrap

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
		t.Fatal(err)
	}
}

func reads(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s: %v %q, want %q", path, err, got, want)
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c.json")
	write(t, path, "was", 0o640)
	if err := replaceFile(path, []byte("was"), []byte("now")); err != nil {
		t.Fatal(err)
	}
	reads(t, path, "now")
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	// Another program modified the file first.
	if err := replaceFile(path, []byte("was"), []byte("lost")); !errors.Is(err, errChanged) {
		t.Error(err)
	}
	reads(t, path, "now")
	if err := replaceFile(filepath.Join(dir, "none"), nil, []byte("x")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, ".*")); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
}

// TestReplaceFollowsLinks checks that a link to the file is kept.
func TestReplaceFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "dotfiles", "c.json"), filepath.Join(dir, "home", "c.json")
	write(t, real, "was", 0o600)
	write(t, filepath.Join(dir, "home", "x"), "", 0o600)
	if err := os.Symlink(real, link); err != nil {
		t.Skipf("SKIPPED: cannot create links: %v", err)
	}
	backup, err := writeBackup(link, []byte("was"))
	if err != nil || backup != link+backupExt {
		t.Fatal(backup, err)
	}
	if err := replaceFile(link, []byte("was"), []byte("now")); err != nil {
		t.Fatal(err)
	}
	reads(t, real, "now")
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", info, err)
	}
	reads(t, backup, "was")
}

// TestNoPlaceForTheNewFile checks that the file is kept after a failed write.
func TestNoPlaceForTheNewFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, strings.Repeat("n", 250)) // with a suffix the name is too long
	write(t, path, "was", 0o600)
	if err := replaceFile(path, []byte("was"), []byte("now")); err == nil {
		t.Error("no error")
	}
	reads(t, path, "was")
}

func TestBackups(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.json")
	write(t, path, "was", 0o600)
	if err := dropBackup(path, []byte("was")); err != nil {
		t.Errorf("without a backup: %v", err)
	}
	backup, err := writeBackup(path, []byte("was"))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(backup); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if err := dropBackup(path, []byte("something else")); err != nil {
		t.Error(err)
	}
	reads(t, backup, "was")
	if err := dropBackup(path, []byte("was")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(backup); !errors.Is(err, os.ErrNotExist) {
		t.Error("the backup still exists")
	}
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := read(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
	huge := filepath.Join(dir, "huge")
	write(t, huge, "", 0o600)
	if err := os.Truncate(huge, maxSize+1); err != nil {
		t.Fatal(err)
	}
	if _, err := read(huge); err == nil || !strings.Contains(err.Error(), "64 MiB") {
		t.Error(err)
	}
	if _, err := Load(Place{Path: filepath.Join(dir, "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestPlaces(t *testing.T) {
	env := map[string]string{}
	at := func(goos string) map[string]bool {
		h := Host{OS: goos, Home: "/h", Dir: "/p", Env: func(name string) string { return env[name] }}
		paths := map[string]bool{}
		for _, p := range h.Places() {
			if paths[p.Path] {
				t.Errorf("%s occurs twice", p.Path)
			}
			paths[filepath.ToSlash(p.Path)] = true
			if len(p.Sections) == 0 || p.Title == "" || !strings.Contains(strings.Join(Clients(), " "), p.Client) {
				t.Errorf("%+v", p)
			}
		}
		return paths
	}
	for goos, want := range map[string][]string{
		"linux": {"/h/.config/Claude/claude_desktop_config.json", "/h/.claude.json", "/h/.cursor/mcp.json", "/h/.config/Code/User/mcp.json",
			"/h/.codeium/windsurf/mcp_config.json", "/h/.config/zed/settings.json", "/h/.codex/config.toml", "/h/.gemini/settings.json",
			"/p/.mcp.json", "/p/.cursor/mcp.json", "/p/.vscode/mcp.json", "/p/.zed/settings.json", "/p/.codex/config.toml", "/p/.gemini/settings.json"},
		"darwin": {"/h/Library/Application Support/Claude/claude_desktop_config.json",
			"/h/Library/Application Support/Code/User/mcp.json", "/h/.config/zed/settings.json"},
		"windows": {"/h/AppData/Roaming/Claude/claude_desktop_config.json", "/h/AppData/Roaming/Code/User/mcp.json", "/h/AppData/Roaming/Zed/settings.json"},
	} {
		got := at(goos)
		for _, path := range want {
			if !got[path] {
				t.Errorf("%s: no %s in %v", goos, path, got)
			}
		}
	}
	env = map[string]string{"XDG_CONFIG_HOME": "/x", "APPDATA": "/a", "CODEX_HOME": "/cx", "CLAUDE_CONFIG_DIR": "/cc"}
	for goos, path := range map[string]string{"linux": "/x/Claude/claude_desktop_config.json", "windows": "/a/Claude/claude_desktop_config.json"} {
		if got := at(goos); !got[path] || !got["/cx/config.toml"] || !got["/cc/.claude.json"] {
			t.Errorf("%s: %v", goos, got)
		}
	}
	h := Host{OS: "linux", Home: "/h", Dir: "/h", Env: func(string) string { return "" }}
	if p := h.Place("/h/.codex/config.toml"); p.Client != "codex" || !isTOML(p.Path) {
		t.Errorf("%+v", p)
	}
	if p := h.Place("/other/servers.json"); p.Client != "" || len(p.Sections) < 5 {
		t.Errorf("%+v", p)
	}
	n := 0
	for _, p := range h.Places() { // in the home directory both are the same file
		if p.Path == filepath.Join("/h", ".gemini", "settings.json") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d times", n)
	}
}
