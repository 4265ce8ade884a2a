//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

func TestSpawnFailures(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	must(t, os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600))
	orphan := filepath.Join(dir, "orphan")
	must(t, os.WriteFile(orphan, []byte("#!/no/such/interpreter\n"), 0o700))
	for _, c := range []struct {
		name, command, words string
		code                 int
	}{
		{"missing in PATH", "no-such-server", "no such file or directory", 127},
		{"missing file", dir + "/none", "no such file or directory", 127},
		{"empty name", "", "no such file or directory", 127},
		{"missing interpreter", orphan, "no such file or directory", 127},
		{"not executable", plain, "permission denied", 126},
		{"a directory", dir, "permission denied", 126},
		{"below a file", plain + "/x", "not a directory", 126},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			tp := tapping(t, []string{c.command, "arg"})
			tp.Stdout, tp.Stderr = &stdout, &stderr
			if code := tp.code(); code != c.code {
				t.Errorf("status %d, want %d", code, c.code)
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout has %q", stdout.String())
			}
			want := "mcptap: cannot start \"" + c.command + "\": " + c.words + "\n"
			if stderr.String() != want {
				t.Errorf("stderr has %q, want %q", stderr.String(), want)
			}
			e := tp.recorded().note(t, tap.EventSpawnFailed, tap.Lifecycle)
			if e.Code == nil || *e.Code != c.code || e.Error != c.words || len(e.Command) != 2 {
				t.Errorf("recorded %+v", e)
			}
		})
	}
}

// The server is found as execvp finds it, as by every client that runs it without a
// tap.
func TestPathSearch(t *testing.T) {
	dir := t.TempDir()
	for name, script := range map[string]string{
		"a/server": "not executable",
		"b/server": "#!/bin/sh\necho b $0 $1\n",
		"c/server": "#!/bin/sh\necho c\n",
		"d/script": "echo no first line $1\n",
	} {
		must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		mode := os.FileMode(0o700)
		if name == "a/server" {
			mode = 0o600
		}
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(script), mode))
	}
	for _, c := range []struct{ name, path, cwd, want string }{
		{"server", dir + "/none:" + dir + "/a:" + dir + "/b:" + dir + "/c", "/", "b " + dir + "/b/server x\n"},
		{"server", "b:c", dir, "b b/server x\n"},
		{"server", ":" + dir + "/c", dir + "/b", "b ./server x\n"},
		{"./server", "", dir + "/c", "c\n"},
		{"script", dir + "/d", "/", "no first line x\n"},
		{"server", dir + "/d/script:" + dir + "/c", "/", "c\n"}, // a file in the place of a directory
	} {
		tp := tapping(t, []string{c.name, "x"})
		tp.Dir = c.cwd
		tp.Env = append(os.Environ(), "PATH="+c.path)
		out, err := tp.Output()
		if string(out) != c.want {
			t.Errorf("%s in PATH=%s: %q (%v), want %q", c.name, c.path, out, err, c.want)
		}
	}
}

// Without a PATH the system's own directories are searched.
func TestNoPath(t *testing.T) {
	tp := tapping(t, []string{"cat"})
	tp.Env = []string{"A=b"}
	if code := tp.code(); code != 0 {
		t.Errorf("status %d", code)
	}
}

// A command that is found but may not be executed is not reported as missing.
func TestDeniedInPath(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "server"), []byte("#!/bin/sh\n"), 0o600))
	tp := tapping(t, []string{"server"})
	tp.Env = []string{"PATH=" + dir + ":/no/such/directory"}
	if code := tp.code(); code != 126 {
		t.Errorf("status %d", code)
	}
}

// If there is no server, the recorder is opened for none, once signals are caught: a
// signal while the recording is closed must not change the status.
func TestNoServerIsRecordedAsNone(t *testing.T) {
	rec, pid := newFake(""), -1
	code, err := runWith(Config{Command: []string{"no-such-server"}, Open: func(p int) tap.Recorder {
		pid = p
		return rec
	}}, nil, func() {
		time.Sleep(100 * time.Millisecond) // code that does not wait would be faster
		rec.Event(0, tap.Event{Name: "caught"})
	})
	if code != 127 || err == nil || pid != 0 {
		t.Errorf("status %d, %v, opened for %d", code, err, pid)
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if n := rec.rec.Notes; len(n) != 2 || n[0].Name != "caught" || n[1].Name != tap.EventSpawnFailed {
		t.Errorf("recorded %+v", n)
	}
}

func TestNoPipesIsOurFailure(t *testing.T) {
	err := &spawnError{"server", fmt.Errorf("%w: %w", errPipes, syscall.EMFILE)}
	if code := err.code(); code != exitOwnFailure {
		t.Errorf("status %d", code)
	}
}
