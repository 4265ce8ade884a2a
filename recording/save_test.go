package recording

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A file that is overwritten keeps its mode, and a link stays a link, even if its target
// does not exist yet.
func TestWriteKeepsModeAndLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: needs file modes and links")
	}
	text := func(name string) error {
		return WriteFile(name, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err })
	}
	recording := func(name string) error {
		return Save(name, func(name string) error { return os.WriteFile(name, []byte("new"), 0o600) })
	}
	for what, write := range map[string]func(string) error{"text": text, "recording": recording} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		file, link, dangling := filepath.Join(dir, "sub", "file"), filepath.Join(dir, "link"), filepath.Join(dir, "dangling")
		for from, to := range map[string]string{link: filepath.Join("sub", "file"), dangling: filepath.Join("sub", "fresh")} {
			if err := os.Symlink(to, from); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, 0o640); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]os.FileMode{link: 0o640, dangling: 0o600} {
			if err := write(name); err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			info, err := os.Lstat(name)
			if err != nil || info.Mode()&os.ModeSymlink == 0 {
				t.Errorf("%s: %s is no longer a link: %v", what, name, err)
			}
			got, err := os.ReadFile(name)
			if info, serr := os.Stat(name); err != nil || serr != nil || string(got) != "new" || info.Mode().Perm() != want {
				t.Errorf("%s: %s holds %q, %v; want mode %v", what, name, got, err, want)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "sub", ".*")); len(left) > 0 {
			t.Errorf("%s: %q is left", what, left)
		}
	}
}
