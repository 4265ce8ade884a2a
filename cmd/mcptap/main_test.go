package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcptap/mcptap/internal/beside"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4") // scripts mostly wait for processes
	testscript.Main(m, map[string]func(){
		"mcptap":     func() { beside.SendGrace = time.Minute; main() },
		"fakeserver": fakeServer,
		"node":       fakeServer, // for the labels
	})
}

func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("MCPTAP_DIR", filepath.Join(env.WorkDir, "rec"))
			env.Setenv("TZ", "UTC")
			for _, name := range []string{"HOME", "XDG_STATE_HOME", "NO_COLOR", "TERM", "COLUMNS"} {
				env.Setenv(name, "")
			}
			env.Setenv("HOME", env.WorkDir)
			return os.CopyFS(filepath.Join(env.WorkDir, "fixture"), os.DirFS("testdata/fixture"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": code, "mask": mask, "until": until, "damage": damage},
	})
}

// until PATTERN CMD… runs a command again and again until its stdout matches.
func until(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile("(?m)" + args[0])
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		if out := ts.ReadFile("stdout"); err == nil && pattern.MatchString(out) {
			return
		} else if time.Since(began) > 20*time.Second {
			ts.Fatalf("%v: %v, never matched; the last output was %s", args[1:], err, out)
		}
	}
}

// damage GLOB makes the first pages of a file unreadable.
func damage(ts *testscript.TestScript, _ bool, args []string) {
	names, err := filepath.Glob(ts.MkAbs(args[0]))
	if err != nil || len(names) != 1 {
		ts.Fatalf("%s: %v, %v", args[0], names, err)
	}
	f, err := os.OpenFile(names[0], os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteAt(make([]byte, 8192), 0)
	ts.Check(err)
	ts.Check(f.Close())
}

// mask FILE SIZE… replaces numbers that differ from run to run.
func mask(ts *testscript.TestScript, _ bool, args []string) {
	data := ts.ReadFile(args[0])
	var out []byte
	for i := 0; i < len(data); i++ {
		out = append(out, data[i])
		for _, name := range args[1:] {
			key := `"` + name + `":`
			if len(out) >= len(key) && string(out[len(out)-len(key):]) == key {
				out = append(out, '0')
				for i+1 < len(data) && data[i+1] != ',' && data[i+1] != '}' {
					i++
				}
			}
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), out, 0o666))
}

// code N CMD… runs a command that must exit with N.
func code(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// fakeServer responds to every request, but never with the request's params. It reports on stderr how it
// was started, and exits with FAKE_EXIT once the file FAKE_WAIT exists.
func fakeServer() {
	if os.Getenv("FAKE_QUIET") == "" {
		fmt.Fprintln(os.Stderr, "fakeserver:", os.Args[1:])
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if json.Unmarshal(line, &m) == nil && m.ID != nil && m.Method != "never" {
			if m.Params == nil {
				m.Params = json.RawMessage("{}")
			}
			fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", m.ID, m.Params)
		}
	}
	for file := os.Getenv("FAKE_WAIT"); file != ""; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			break
		}
	}
	code, _ := strconv.Atoi(os.Getenv("FAKE_EXIT"))
	os.Exit(code)
}

// golden compares with testdata/golden/name, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs (rewrite it with -update)\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

var testNow = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// Global flags may precede stdio, whose exit codes stay its own.
func TestExitCodeOfStdioAfterGlobalFlags(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"stdio", "--nope"}, {"--dir", dir, "stdio", "--nope"}, {"--dir=" + dir, "--color", "never", "stdio", "--nope"},
	} {
		a, out := testApp(nil)
		if code := a.run(args); code != exitTap {
			t.Errorf("%v: exit %d: %s", args, code, out)
		}
	}
	a, _ := testApp(nil)
	if code := a.run([]string{"--dir", dir, "ls", "--nope"}); code != exitFailure {
		t.Errorf("ls: exit %d", code)
	}
}

// Both writing and flushing may fail for the same reason.
func TestErrorIsPrintedOnce(t *testing.T) {
	full, other := errors.New("disk full"), errors.New("other")
	if got := messages(errors.Join(full, errors.Join(other, full))); len(got) != 2 || got[0] != "disk full" || got[1] != "other" {
		t.Errorf("%q", got)
	}
}
