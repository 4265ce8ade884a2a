//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcptap/mcptap/tap"
)

func init() {
	roles["held"] = roleHeld
	roles["answer"] = roleAnswer
}

// roleHeld is a tap that catches signals only when descriptor 3 has ended, and
// records when that is done. The first argument is the file for the recording.
func roleHeld(args []string) int {
	rec := newFake("")
	code, _ := runWith(Config{Command: args[1:], Recorder: rec}, make(chan os.Signal), func() {
		_, _ = io.Copy(io.Discard, os.NewFile(3, "release"))
		rec.Event(0, tap.Event{Name: "caught"})
	})
	writeFile(args[0], rec.dump())
	return code
}

// roleAnswer answers its first read on stdout and stderr, creates a file to report
// that, and ends.
func roleAnswer(args []string) int {
	b := make([]byte, 100)
	n, _ := fd(0).Read(b)
	_, _ = fd(1).Write(b[:n])
	_, _ = fd(2).Write(b[:n])
	writeFile(args[0], b[:n])
	return 7
}

// A client that has seen a byte from the server may send it signals, so no output of
// the server is forwarded before they are caught. Its input need not wait.
func TestOutputWaitsForSignalsToBeCaught(t *testing.T) {
	answered := filepath.Join(t.TempDir(), "answered")
	tp := tapping(t, nil)
	tp.Args = append(self("held", tp.out()), self("answer", answered)...)
	var r rigIO
	r.open(t, plumbings[0])
	held, release, err := os.Pipe()
	must(t, err)
	defer release.Close()
	tp.Stdin, tp.Stdout, tp.Stderr = r.in[0], r.out[1], r.err[1]
	tp.ExtraFiles = []*os.File{held}
	must(t, tp.Start())
	for _, f := range []*os.File{held, r.out[1], r.err[1]} {
		must(t, f.Close())
	}

	_, err = r.in[1].WriteString("ping\n")
	must(t, err)
	eventually(t, "the server to answer", func() bool { _, err := os.Stat(answered); return err == nil })
	for _, f := range []*os.File{r.out[0], r.err[0]} {
		// Nothing may arrive, however long the wait.
		came, err := poll(fd(f.Fd()), unix.POLLIN, 200)
		must(t, err)
		if came {
			t.Error("signals are not caught yet, and a byte or the end of the server has been forwarded")
		}
	}
	must(t, release.Close())

	for _, f := range []*os.File{r.out[0], r.err[0]} {
		if b, err := io.ReadAll(f); string(b) != "ping\n" || err != nil {
			t.Errorf("after the release: %q, %v", b, err)
		}
	}
	if code := tp.code(); code != 7 {
		t.Errorf("status %d", code)
	}
	var order []string
	for _, e := range tp.recorded().Order[:3] {
		order = append(order, e.Lane.String()+" "+string(e.Data)+e.Note)
	}
	if got := strings.Join(order, ", "); got != "lifecycle start, to_server ping\n, lifecycle caught" {
		t.Errorf("recorded first: %q", got)
	}
}
