//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

func init() { roles["release"] = roleRelease }

// roleRelease releases the read end of a pipe, with an argument when no other
// descriptor is available, and prints the result.
func roleRelease(args []string) int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	r, w, err := newPipe()
	if err != nil {
		return 99
	}
	free := lowestFree()
	if len(args) > 0 {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{}); err != nil {
			return 98
		}
	}
	r.release()
	_, err = w.Write([]byte("x"))
	fmt.Println("its writer:", err)
	_, err = r.Read(make([]byte, 1))
	fmt.Println("its reader:", err)
	if len(args) == 0 {
		fmt.Println("left open:", lowestFree()-free)
	}
	return 0
}

// lowestFree returns the number that the next descriptor gets.
func lowestFree() int {
	d, err := syscall.Dup(1)
	if err != nil {
		panic(err)
	}
	_ = syscall.Close(d)
	return d
}

// A released descriptor is closed for its peer, but its number is not available to
// files opened later, unless that is impossible.
func TestRelease(t *testing.T) {
	for _, c := range []struct {
		name string
		argv []string
		want string
	}{
		{"to /dev/null", self("release"), "its writer: broken pipe\nits reader: EOF\nleft open: 0\n"},
		{"no descriptor left", self("release", "full"), "its writer: broken pipe\nits reader: bad file descriptor\n"},
	} {
		out, err := exec.Command(c.argv[0], c.argv[1:]...).CombinedOutput()
		if string(out) != c.want || err != nil {
			t.Errorf("%s: %q (%v), want %q", c.name, out, err, c.want)
		}
	}
}
