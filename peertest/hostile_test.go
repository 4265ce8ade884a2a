package peertest

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const hugeLine = 100 << 20

// hostile are lines, with or without a terminator, that may cause a tap to fail.
var hostile = []string{
	"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}\n",
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n",
	"\n", "\r\n", "\r", "\n\n\n", " \t \n",
	"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\n", "}\n", "[[[{{{\n", "nul\n", "banner: server ready\n",
	"{\"id\":3,\"id\":4,\"id\":\"5\",\"result\":{}}\n",
	"{\"id\":123456789012345678901234567890,\"result\":{\"n\":1e999}}\n",
	"{\"id\":null,\"error\":7}\n", "[{\"id\":6,\"method\":\"a\"},{\"id\":7,\"method\":\"b\"},[],null]\n",
	"\x00", "\x00\x00\n", "{\"a\":\"\x00\"}\n",
	"\xff\xfe\xfd\n", "\xc3\n", "\xe2\x82\n", "\xed\xa0\x80\n", "\xc0\xaf\n", "\xf4\x90\x80\x80\n",
	"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"\xc3\x28\"}\n",
	"\u2028\u2029\u0085\u00a0\ufeff\ufffd\n", "\x1b[2J\x1b]0;title\x07\n", "\x7f\x80\x9b31m\n",
	"{\"v\":1,\"type\":\"frame\",\"seq\":1,\"at_ns\":0,\"lane\":\"life\",\"raw\":\"{}\"}\n",
	"Content-Length: 2\r\n\r\n{}", "\n",
}

// shoutInto writes the hostile stream of a lane, which is the same for every call.
func shoutInto(w io.Writer, lane string, huge int) error {
	var err error
	write := func(b []byte) {
		if err == nil {
			_, err = w.Write(b)
		}
	}
	r := rand.New(rand.NewPCG(uint64(len(lane)), uint64(lane[len(lane)-1])))
	all := strings.Join(hostile, "")
	for _, line := range hostile {
		write([]byte(line))
	}
	// One byte at a time.
	for i := range len(all) {
		write([]byte{all[i]})
	}
	// Cut anywhere.
	for b := []byte(strings.Repeat(all, 20)); len(b) > 0; {
		n := min(len(b), 1+r.IntN(200))
		write(b[:n])
		b = b[n:]
	}
	write(bytes.Repeat([]byte("{}\n"), 50000))
	write(bytes.Repeat([]byte("[\""), 20000))
	write([]byte("\n"))
	random := make([]byte, 1<<20)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	write(random)
	// One line that is longer than any buffer.
	write([]byte("\n{\"jsonrpc\":\"2.0\",\"id\":\"" + lane + "\",\"result\":{\"content\":\""))
	part := bytes.Repeat([]byte("huge line é "), 5000)
	for n := 0; n < huge; n += len(part) {
		write(part)
	}
	write([]byte("\"}}\n"))
	// And no newline at the end.
	write([]byte("{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"" + lane))
	return err
}

func hostileBytes(lane string, huge int) []byte {
	var b bytes.Buffer
	_ = shoutInto(&b, lane, huge)
	return b.Bytes()
}

// shout is a server: MODE GOT HUGE. It writes hostile streams to its stdout and stderr concurrently. In
// mode "stay" it copies its stdin into the file GOT at the same time, and returns 7. In mode "leave" it
// returns 3 and in mode "die" it kills itself, both without reading anything.
func shout(args []string) int {
	mode, got := args[0], args[1]
	huge, err := strconv.Atoi(args[2])
	if err != nil {
		return complain(err)
	}
	done := make(chan error, 3)
	running := 2
	go func() { done <- shoutInto(os.Stdout, "to_client", huge) }()
	go func() { done <- shoutInto(os.Stderr, "stderr", huge/16) }()
	if mode == "stay" {
		running++
		go func() {
			f, err := os.Create(got)
			if err == nil {
				_, err = io.Copy(f, os.Stdin)
			}
			if err == nil {
				err = f.Close()
			}
			done <- err
		}()
	}
	for range running {
		if err := <-done; err != nil {
			return complain(err)
		}
	}
	switch mode {
	case "leave":
		return 3
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return 7
}

func TestHostileStreams(t *testing.T) {
	stay := hugeLine
	if sampled(t) {
		stay /= 10
	}
	for _, c := range []struct {
		mode string
		huge int
		code int
	}{
		{"stay", stay, 7},
		{"leave", 1 << 20, 3},
		{"die", 1 << 20, 137},
	} {
		t.Run(c.mode, func(t *testing.T) {
			recs, got := t.TempDir(), filepath.Join(t.TempDir(), "got")
			argv := append([]string{"stdio", "--dir", recs, "--label", "hostile", "--"},
				self("shout", c.mode, got, strconv.Itoa(c.huge))...)
			run := startTap(t, argv)
			if c.mode == "stay" {
				go func() {
					_ = shoutInto(run.stdin, "to_server", c.huge)
					_ = run.stdin.Close()
				}()
			} else {
				// Stdin stays open: the exit of the server must be sufficient.
				defer run.stdin.Close()
			}
			code := run.wait(t)
			if code != c.code {
				t.Errorf("the tap returned %d, want %d", code, c.code)
			}

			taken := hostileRecording(t, recs)
			want := map[string][]byte{
				"to_client": hostileBytes("to_client", c.huge),
				"stderr":    hostileBytes("stderr", c.huge/16),
			}
			same(t, "what the client got", run.out.Bytes(), want["to_client"])
			same(t, "stderr", run.err.Bytes(), want["stderr"])
			if c.mode == "stay" {
				want["to_server"] = hostileBytes("to_server", c.huge)
				b, err := os.ReadFile(got)
				if err != nil {
					t.Fatal(err)
				}
				same(t, "what the server got", b, want["to_server"])
			}
			for _, lane := range []string{"to_server", "to_client", "stderr"} {
				same(t, lane+" as recorded", taken.lanes[lane], want[lane])
			}
			if taken.stderr != "" {
				t.Errorf("the export wrote to stderr: %s", taken.stderr)
			}
			if taken.exitCode() != c.code && c.mode != "die" {
				t.Errorf("the recorded exit status of the server is %d, want %d", taken.exitCode(), c.code)
			}
		})
	}
}

// TestKilled: a tap that is killed with SIGKILL has recorded everything that it forwarded.
func TestKilled(t *testing.T) {
	recs, got := t.TempDir(), filepath.Join(t.TempDir(), "got")
	run := startTap(t, append([]string{"stdio", "--dir", recs, "--"}, self("shout", "stay", got, strconv.Itoa(hugeLine))...))
	go func() { _ = shoutInto(run.stdin, "to_server", hugeLine) }()
	size := func() int64 {
		fi, err := os.Stat(got)
		if err != nil {
			return 0
		}
		return fi.Size()
	}
	for deadline := time.Now().Add(time.Minute); size() < 8<<20; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute the server has got %d bytes", size())
		}
	}
	if err := run.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if code := run.wait(t); code != 137 {
		t.Fatalf("the tap returned %d, not killed in time", code)
	}
	_ = run.stdin.Close()
	// The server ends with the tap; give it time to do so.
	for before := int64(-1); before != size(); time.Sleep(500 * time.Millisecond) {
		before = size()
	}

	taken := hostileRecording(t, recs)
	b, err := os.ReadFile(got)
	if err != nil {
		t.Fatal(err)
	}
	prefix(t, "what the server got, of what was recorded", b, taken.lanes["to_server"])
	prefix(t, "what the client got, of what was recorded", run.out.Bytes(), taken.lanes["to_client"])
	prefix(t, "stderr, of what was recorded", run.err.Bytes(), taken.lanes["stderr"])
	for lane, huge := range map[string]int{"to_server": hugeLine, "to_client": hugeLine, "stderr": hugeLine / 16} {
		prefix(t, lane+" as recorded", taken.lanes[lane], hostileBytes(lane, huge))
	}
	t.Logf("recorded %d, %d and %d bytes", len(taken.lanes["to_server"]), len(taken.lanes["to_client"]), len(taken.lanes["stderr"]))
}

func hostileRecording(t *testing.T, dir string) *recording {
	t.Helper()
	r := export(t, onlyRecording(t, dir))
	r.checkOrder(t)
	return r
}

// TestNoServer: a server that cannot be started looks the same as without a tap.
func TestNoServer(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "not-executable")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command string
		code    int
	}{
		{filepath.Join(t.TempDir(), "missing"), 127},
		{"no-such-command-anywhere", 127},
		{plain, 126},
	} {
		run := startTap(t, []string{"stdio", "--dir", t.TempDir(), "--", c.command, "x"})
		defer run.stdin.Close()
		if code := run.wait(t); code != c.code {
			t.Errorf("%s: the tap returned %d, want %d", filepath.Base(c.command), code, c.code)
		}
		if run.out.Len() > 0 {
			t.Errorf("%s: on stdout: %q", filepath.Base(c.command), run.out.String())
		}
		if run.err.Len() == 0 {
			t.Errorf("%s: nothing on stderr", filepath.Base(c.command))
		}
	}
}

// A tapRun is a running mcptap whose outputs are collected.
type tapRun struct {
	cmd      *exec.Cmd
	stdin    io.WriteCloser
	out, err bytes.Buffer
}

func startTap(t *testing.T, argv []string) *tapRun {
	t.Helper()
	run := &tapRun{cmd: exec.Command(tapBinary(t), argv...)}
	// Wait must not wait for a stdin that stays open, so the pipe is ours.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	run.stdin = w
	run.cmd.Stdin, run.cmd.Stdout, run.cmd.Stderr = r, &run.out, &run.err
	if err := run.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	return run
}

func (r *tapRun) wait(t *testing.T) int {
	t.Helper()
	timer := time.AfterFunc(3*time.Minute, func() {
		t.Error("the tap did not end, it was killed")
		_ = r.cmd.Process.Kill()
	})
	defer timer.Stop()
	_ = r.cmd.Wait()
	return exitCode(r.cmd.ProcessState)
}
