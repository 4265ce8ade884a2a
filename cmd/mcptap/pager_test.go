package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/term"
)

func TestPagerCommand(t *testing.T) {
	for _, c := range []struct {
		pager string
		set   bool
		want  string
	}{{"more", true, "more"}, {"cat", true, ""}, {"", true, ""}, {"less -S", true, "less -S"}} {
		if got := term.PagerCommand(c.pager, c.set); got != c.want {
			t.Errorf("PAGER=%s, set %v: %q, want %q", c.pager, c.set, got, c.want)
		}
	}
}

// On a terminal, text output goes through the pager.
func TestPager(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: needs a shell")
	}
	path := writeTraffic(t, traffics[0], 5000)
	for _, c := range []struct {
		pager string
		args  []string
		paged bool
		code  int
		lines int // at most, 0 for any number
	}{
		{"sed 's/^/paged: /'", []string{"show", path}, true, 0, 0},
		{"sed 's/^/paged: /'", []string{"show", path, "1"}, true, 0, 0},
		{"sed 's/^/paged: /'", []string{"stats", path}, true, 0, 0},
		{"sed 's/^/paged: /'", []string{"ls", "--dir", filepath.Dir(path)}, true, 0, 0},
		{"sed 's/^/paged: /'", []string{"diff", path, path}, true, 0, 0},
		{"sed 's/^/paged: /'", []string{"show", path, "--no-pager"}, false, 0, 0},
		{"sed 's/^/paged: /'", []string{"show", path, "--json"}, false, 0, 0},
		{"sed 's/^/paged: /'", []string{"show", path, "1", "--raw"}, false, 0, 0},
		{"sed 's/^/paged: /'", []string{"stats", path, "--json"}, false, 0, 0},
		{"cat", []string{"show", path}, false, 0, 0},
		{"sed 's/^/paged: /;q'", []string{"show", path}, true, 0, 1}, // quits early
		{"no-such-pager", []string{"show", path}, true, 2, 0},
	} {
		screen, err := os.Create(filepath.Join(t.TempDir(), "screen"))
		if err != nil {
			t.Fatal(err)
		}
		a, out := testApp(map[string]string{"PAGER": c.pager})
		a.screen = screen // treats it as a terminal
		code := a.run(c.args)
		screen.Close()
		b, err := os.ReadFile(screen.Name())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.HasPrefix(string(b), "paged: "); code != c.code || got != (c.paged && c.code == 0) || c.paged && c.code == 0 == (out.Len() > 0) {
			t.Errorf("%s %q: exit %d, the terminal has %.100q, stdout and stderr %.100q", c.pager, c.args, code, b, out)
		}
		if n := strings.Count(string(b), "\n"); c.lines > 0 && n > c.lines {
			t.Errorf("%s %q: %d lines, want at most %d", c.pager, c.args, n, c.lines)
		}
	}
}
