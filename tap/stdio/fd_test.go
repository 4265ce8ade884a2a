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

// roleRelease releases the read end of a pipe, with an argument where no other
// descriptor can be had, and prints what has become of it.
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

// lowestFree is the number that the next descriptor gets.
func lowestFree() int {
	d, err := syscall.Dup(1)
	if err != nil {
		panic(err)
	}
	_ = syscall.Close(d)
	return d
}

// A descriptor that is released is gone for its peer, but its number is not free
// for a file opened later, unless there is no other way.
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
