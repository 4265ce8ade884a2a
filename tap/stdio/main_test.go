//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// The tests run a real tap between a real client and a real server: this binary, in a
// role that its first argument names. Nothing is passed in the environment, which is
// itself under test.
var roles = map[string]func(args []string) int{}

func TestMain(m *testing.M) {
	// Under the race detector every process would sleep a second before it ends.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	if len(os.Args) > 1 {
		if name, ok := strings.CutPrefix(os.Args[1], "role:"); ok {
			os.Exit(roles[name](os.Args[2:]))
		}
	}
	catchInherited()
	os.Exit(m.Run())
}

// catchInherited restores the default action of signals that the parent of the tests
// ignores, as nohup does, for the processes that the tests start.
func catchInherited() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt) // Ctrl-C still ends the tests
	go func() {
		<-c
		os.Exit(130)
	}()
}

func init() { roles["tap"] = roleTap }

// roleTap is the tap: options as key=value, then -- and the server's argv.
//
//	out=FILE   the file for the recording
//	rec=KIND   the recorder, see newFake
//	patience=D replaces the default
func roleTap(args []string) int {
	opts := map[string]string{}
	for len(args) > 0 && args[0] != "--" {
		k, v, _ := strings.Cut(args[0], "=")
		opts[k], args = v, args[1:]
	}
	if d, err := time.ParseDuration(opts["patience"]); err == nil {
		patience = d
	}
	rec := newFake(opts["rec"])
	cfg := Config{Command: args[1:], Recorder: rec, Started: func(pid int) {
		if f := opts["pid"]; f != "" {
			writeFile(f, fmt.Appendf(nil, "%d", pid))
		}
	}, Warn: func(msg string) { fmt.Fprintln(os.Stderr, "mcptap: "+msg) }}
	code, err := Run(cfg)
	if err != nil {
		fmt.Fprintf(os.Stderr, "mcptap: %v\n", err)
	}
	if f := opts["out"]; f != "" {
		writeFile(f, rec.dump())
	}
	if ms, err := time.ParseDuration(opts["linger"]); err == nil {
		time.Sleep(ms) // like cmd, which closes the recording after Run
	}
	return code
}

// writeFile makes a file appear whole.
func writeFile(name string, b []byte) {
	if os.WriteFile(name+".new", b, 0o600) != nil || os.Rename(name+".new", name) != nil {
		panic("cannot write " + name)
	}
}

// self is the argv of this binary in a role.
func self(role string, args ...string) []string {
	return append([]string{exe(), "role:" + role}, args...)
}

func exe() string {
	p, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return p
}

// A rig is a tap under test.
type rig struct {
	*exec.Cmd
	t   *testing.T
	dir string
}

// tapping prepares a tap around server. A test that hangs is killed.
func tapping(t *testing.T, server []string, opts ...string) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	r := &rig{t: t, dir: t.TempDir()}
	args := append([]string{"role:tap", "out=" + r.out(), "pid=" + r.pidFile()}, opts...)
	r.Cmd = exec.CommandContext(ctx, exe(), append(append(args, "--"), server...)...)
	// The tap must have ended before the directory is removed.
	t.Cleanup(func() {
		if r.Process != nil && r.ProcessState == nil {
			_ = r.Process.Kill()
			_ = r.Wait()
		}
	})
	return r
}

func (r *rig) out() string     { return filepath.Join(r.dir, "recorded") }
func (r *rig) pidFile() string { return filepath.Join(r.dir, "pid") }

// pipes starts the tap with pipes to its stdin and from its stdout.
func (r *rig) pipes() (io.WriteCloser, *bufio.Reader) {
	r.t.Helper()
	in, err := r.StdinPipe()
	must(r.t, err)
	out, err := r.StdoutPipe()
	must(r.t, err)
	must(r.t, r.Start())
	return in, bufio.NewReader(out)
}

// serverPID waits until the server runs.
func (r *rig) serverPID() int {
	r.t.Helper()
	var pid int
	eventually(r.t, "the server to start", func() bool {
		b, err := os.ReadFile(r.pidFile())
		if err != nil {
			return false
		}
		_, err = fmt.Sscan(string(b), &pid)
		return err == nil
	})
	return pid
}

// code waits for the tap's end and returns its status, as a shell would.
func (r *rig) code() int {
	r.t.Helper()
	if r.Process == nil {
		must(r.t, r.Start())
	}
	_ = r.Wait()
	return r.ProcessState.ExitCode()
}

// recorded returns what the tap recorded, once it has ended.
func (r *rig) recorded() recording {
	r.t.Helper()
	b, err := os.ReadFile(r.out())
	must(r.t, err)
	var rec recording
	must(r.t, json.Unmarshal(b, &rec))
	return rec
}

// A recording is the result of the fake recorder.
type recording struct {
	Lanes [tap.Lanes][]byte // the first megabyte or so
	Sums  [tap.Lanes][32]byte
	Order []entry
	Notes []tap.Event
	Ended [tap.Lanes]int
}

// An entry is one call of Chunk or Event, in order.
type entry struct {
	Lane tap.Lane
	Data []byte
	Note string
}

func (r recording) note(t *testing.T, name string, lane tap.Lane) tap.Event {
	t.Helper()
	for _, e := range r.Notes {
		if e.Name == name && (lane == tap.Lifecycle || e.Lane == lane.String()) {
			return e
		}
	}
	t.Fatalf("no %s event of lane %v in %+v", name, lane, r.Notes)
	return tap.Event{}
}

func (r recording) count(name string) int {
	n := 0
	for _, e := range r.Notes {
		if e.Name == name {
			n++
		}
	}
	return n
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually polls until ok, for at most 20 seconds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

func wantLine(t testing.TB, r *bufio.Reader, want string) {
	t.Helper()
	got, err := r.ReadString('\n')
	if strings.TrimSuffix(got, "\n") != want {
		t.Fatalf("read %q (%v), want %q", got, err, want)
	}
}

func wantBytes(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	t.Errorf("%s: %d bytes, want %d, first difference at %d", what, len(got), len(want), i)
}
