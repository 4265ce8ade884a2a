//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"bytes"
	"syscall"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// glut is more than any of our pipes holds.
const glut = 3 << 20

// glutted returns a run whose server does not read the glut that is being written to it.
func glutted(t *testing.T, server []string) (*run, *fake) {
	t.Helper()
	srv, failure := spawn(server, true)
	if failure != nil {
		t.Fatal(failure)
	}
	t.Cleanup(func() { _ = syscall.Kill(srv.target(), syscall.SIGKILL) })
	rec := newFake("")
	r := newRun(rec, [3]fd{-1, -1, -1}, srv)
	r.pumps[0].src = bytes.NewReader(make([]byte, glut))
	for _, p := range r.pumps {
		go p.run()
	}
	// It is being written, and no more is read from the client: the pipe is full.
	read, since := 0, time.Now()
	eventually(t, "the glut to be written", func() bool {
		rec.mu.Lock()
		n := len(rec.rec.Lanes[tap.ToServer])
		rec.mu.Unlock()
		if n != read {
			read, since = n, time.Now()
		}
		return n > 0 && time.Since(since) > 100*time.Millisecond && r.pumps[0].state.Load() == stateWriting
	})
	return r, rec
}

// Input that a server that has ended did not read is recorded as not delivered, even if
// its end is noticed before the write to it fails.
func TestServerEndsWithoutReading(t *testing.T) {
	defer func(d time.Duration) { quiet = d }(quiet)
	quiet = 20 * time.Second
	r, rec := glutted(t, []string{"sleep", "60"})
	must(t, syscall.Kill(r.srv.pid, syscall.SIGKILL))
	r.srv.awaitExit()
	if code := r.finish(); code != 128+int(syscall.SIGKILL) {
		t.Errorf("status %d", code)
	}
	if e := (recording{Notes: rec.rec.Notes}).note(t, tap.EventBroken, tap.ToServer); e.Bytes == 0 || e.Bytes > glut {
		t.Errorf("recorded %+v", e)
	}
}

// If another process still holds the stdin of a server that has ended, the pending input
// may or may not be read. The tap does not wait for that.
func TestStdinLeftToAnHeir(t *testing.T) {
	r, rec := glutted(t, sh("exec 3<&0; sleep 60 <&3 >/dev/null 2>&1 & exit 4"))
	r.srv.awaitExit()
	ended := make(chan int)
	go func() { ended <- r.finish() }()
	select {
	case code := <-ended:
		if code != 4 {
			t.Errorf("status %d", code)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("waits for the heir")
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if n := (recording{Notes: rec.rec.Notes}).count(tap.EventBroken); n != 0 {
		t.Errorf("recorded as not delivered: %+v", rec.rec.Notes)
	}
}
