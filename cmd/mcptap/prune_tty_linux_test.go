package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// terminal opens a pseudo-terminal: what is written to person is typed on tty.
func terminal(t *testing.T) (person, tty *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	var n, unlock uint32
	for request, arg := range map[uintptr]*uint32{syscall.TIOCGPTN: &n, syscall.TIOCSPTLCK: &unlock} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, person.Fd(), request, uintptr(unsafe.Pointer(arg))); errno != 0 {
			t.Fatal(errno)
		}
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return person, tty
}

func TestPruneAsks(t *testing.T) {
	for _, c := range []struct {
		typed string
		code  int
		left  string
	}{
		{"\n", 1, "00000001 00000002"},
		{"n\n", 1, "00000001 00000002"},
		{"yess\n", 1, "00000001 00000002"},
		{"\x04", 1, "00000001 00000002"}, // end of input
		{"y\n", 0, "00000002"},
		{" YES \n", 0, "00000002"},
	} {
		t.Run(fmt.Sprintf("%q", c.typed), func(t *testing.T) {
			dir := t.TempDir()
			shelve(t, dir, "00000001", "github", 40*day, 10)
			shelve(t, dir, "00000002", "github", day, 10)
			person, tty := terminal(t)
			a, out := testApp(nil)
			a.stdin, a.stderr = tty, tty
			if _, err := person.WriteString(c.typed); err != nil {
				t.Fatal(err)
			}
			runPrune(t, a, dir, c.code, "--older-than", "1w")
			if got := left(t, dir); got != c.left {
				t.Errorf("left: %s, want %s", got, c.left)
			}
			if !strings.Contains(out.String(), "00000001  Oct 11 12:00  github") {
				t.Errorf("the list: %s", out)
			}
			asked := "" // what was typed is echoed as well
			for !strings.Contains(asked, "? [y/N] ") {
				piece := make([]byte, 4096)
				n, err := person.Read(piece)
				if err != nil {
					t.Fatalf("asked: %q, %v", asked, err)
				}
				asked += string(piece[:n])
			}
			if !strings.Contains(asked, "Permanently remove 1 recording, ") {
				t.Errorf("asked: %q", asked)
			}
		})
	}
}
