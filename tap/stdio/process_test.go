//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"io"
	"strings"
	"testing"
	"time"
)

func TestProcess(t *testing.T) {
	p, err := Start([]string{"sh", "-c", "cat; echo done >&2; exit 7"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p.Stdin, "hello\n"); err != nil {
		t.Fatal(err)
	}
	p.Stdin.Close()
	out, err := io.ReadAll(p.Stdout)
	errs, err2 := io.ReadAll(p.Stderr)
	if err != nil || err2 != nil || string(out) != "hello\n" || string(errs) != "done\n" {
		t.Errorf("%q, %q, %v, %v", out, errs, err, err2)
	}
	<-p.Ended()
	if code, signal := p.Status(); code != 7 || signal != "" || p.PID() <= 0 {
		t.Errorf("status %d, %q, pid %d", code, signal, p.PID())
	}
}

func TestProcessTerminate(t *testing.T) {
	p, err := Start([]string{"sh", "-c", "echo ready; read -r x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(p.Stdout, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Terminate(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Ended():
	case <-time.After(30 * time.Second):
		_, _ = p.Kill()
		t.Fatal("it did not end")
	}
	if code, signal := p.Status(); code != 128+15 || signal != "SIGTERM" {
		t.Errorf("status %d, %q", code, signal)
	}
	if _, err := p.Kill(); err != nil {
		t.Errorf("after the end: %v", err)
	}
}

// A child of the server that still holds its pipes is killed with it.
func TestProcessKill(t *testing.T) {
	p, err := Start([]string{"sh", "-c", "sleep 60 & echo ready; wait"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(p.Stdout, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Stdout.SetReadDeadline(time.Now().Add(30 * time.Second))
	if rest, err := io.ReadAll(p.Stdout); len(rest) > 0 || err != nil {
		t.Errorf("after the end: %q, %v", rest, err)
	}
	<-p.Ended()
	if code, signal := p.Status(); code != 128+9 || signal != "SIGKILL" {
		t.Errorf("status %d, %q", code, signal)
	}
}

func TestProcessNotStarted(t *testing.T) {
	for _, command := range [][]string{nil, {"no-such-command-anywhere"}, {"/"}} {
		if _, err := Start(command); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", command, err)
		}
	}
}
