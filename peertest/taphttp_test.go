package peertest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A background is a program that prints a line when it is ready, and is ended with a signal.
type background struct {
	t      *testing.T
	cmd    *exec.Cmd
	line   string
	stderr bytes.Buffer
	read   chan struct{} // closed when its output has ended
}

// start runs a command. If line is set, it waits for the first line that the command prints.
func start(t *testing.T, line bool, env []string, argv ...string) *background {
	t.Helper()
	b := &background{t: t, cmd: exec.Command(argv[0], argv[1:]...), read: make(chan struct{})}
	b.cmd.Env = append(os.Environ(), env...)
	b.cmd.Stderr = &b.stderr
	b.cmd.SysProcAttr = dieWithParent()
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = b.cmd.Process.Kill()
		<-b.read
		_ = b.cmd.Wait()
	})
	lines := bufio.NewReader(out)
	if line {
		if b.line, err = lines.ReadString('\n'); err != nil {
			close(b.read)
			_ = b.cmd.Wait()
			t.Fatalf("%v: %v\n%s", argv, err, &b.stderr)
		}
		b.line = strings.TrimSuffix(b.line, "\n")
	}
	go func() {
		defer close(b.read)
		_, _ = io.Copy(io.Discard, lines)
	}()
	return b
}

// stop ends it with SIGTERM and returns its exit code.
func (b *background) stop() int {
	b.t.Helper()
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		b.t.Fatal(err)
	}
	timer := time.AfterFunc(20*time.Second, func() { _ = b.cmd.Process.Kill() })
	defer timer.Stop()
	<-b.read
	_ = b.cmd.Wait()
	return exitCode(b.cmd.ProcessState)
}

// tapHTTP starts `mcptap http` in front of a URL; its line is the URL to use.
func tapHTTP(t *testing.T, dir, url string, flags ...string) *background {
	t.Helper()
	return start(t, true, nil, slices.Concat([]string{tapBinary(t), "http", "--dir", dir}, flags, []string{url})...)
}

// endTap stops a tap and returns the file of its recording. The tap must have exited with 0, with only the
// messages about where it listens and what it records.
func endTap(t *testing.T, b *background, dir string) string {
	t.Helper()
	if code := b.stop(); code != 128+int(syscall.SIGTERM) || strings.Count(b.stderr.String(), "\n") != 2 {
		t.Errorf("the tap returned %d and wrote %q", code, b.stderr.String())
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.mcptap"))
	if err != nil || len(files) != 1 {
		t.Fatalf("recordings: %v, %v", files, err)
	}
	return files[0]
}

// wrap is a client behind a tap: DIR TAP [FLAG]... -- COMMAND [ARG]... URL. It starts the tap in front of
// the URL and passes the tap's URL to the client instead. The conformance suite starts clients this way.
func wrap(args []string) int {
	dashes := slices.Index(args, "--")
	dir, tap, flags, client := args[0], args[1], args[2:dashes], args[dashes+1:]
	url := client[len(client)-1]
	cmd := exec.Command(tap, slices.Concat([]string{"http", "--dir", dir}, flags, []string{url})...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = dieWithParent()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return complain(err)
	}
	if err := cmd.Start(); err != nil {
		return complain(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return complain(fmt.Errorf("the tap printed no URL: %w", err))
	}
	signal.Ignore(syscall.SIGTERM) // of the suite's timeout, which the client gets too
	inner := exec.Command(client[0], append(client[1:len(client)-1:len(client)-1], strings.TrimSpace(line))...)
	inner.Stdin, inner.Stdout, inner.Stderr = os.Stdin, os.Stdout, os.Stderr
	inner.SysProcAttr = dieWithParent()
	_ = inner.Run()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 128+int(syscall.SIGTERM) {
		return complain(fmt.Errorf("the tap: %w", err))
	}
	return exitCode(inner.ProcessState)
}
