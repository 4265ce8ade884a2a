package stdio

import (
	"bufio"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// chatty returns a server that writes more than a pipe to the client holds, reports that
// on stderr, and keeps running. A trap may come before.
func chatty(trap string) []string {
	return sh(trap + "head -c 500000 /dev/zero; echo written >&2; while :; do sleep 0.02; done")
}

// said starts the tap and waits until its server has written everything.
func said(t *testing.T, tp *rig) (in io.WriteCloser, out *bufio.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { _ = r.Close() })
	tp.Stderr = w
	in, out = tp.pipes()
	must(t, w.Close())
	wantLine(t, bufio.NewReader(r), "written")
	return in, out
}

// A client that ends a server waits for its process: without a tap it would be gone,
// although its output is not read.
func TestAskedToEndWithUnreadOutput(t *testing.T) {
	t.Parallel()
	for _, st := range standings[:2] {
		for name, c := range map[string]struct {
			server []string
			sig    syscall.Signal
			direct bool // sent to the server itself
			code   int
		}{
			"SIGTERM kills":       {chatty(""), syscall.SIGTERM, false, 128 + 15},
			"SIGINT kills":        {chatty("trap - INT; "), syscall.SIGINT, false, 128 + 2},
			"SIGHUP kills":        {chatty(""), syscall.SIGHUP, false, 128 + 1},
			"SIGQUIT kills":       {chatty("ulimit -c 0; trap - QUIT; "), syscall.SIGQUIT, false, 128 + 3},
			"exit after SIGTERM":  {chatty("trap 'exit 4' TERM; "), syscall.SIGTERM, false, 4},
			"killed behind us":    {chatty(""), syscall.SIGKILL, true, 128 + 9},
			"terminated directly": {chatty(""), syscall.SIGTERM, true, 128 + 15},
		} {
			t.Run(st.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				tp := tapping(t, c.server, "patience=30ms")
				attr := st.attr
				tp.SysProcAttr = &attr
				in, _ := said(t, tp)
				defer in.Close()
				if c.direct {
					must(t, syscall.Kill(tp.serverPID(), c.sig))
				} else {
					must(t, tp.Process.Signal(c.sig))
				}
				ps, err := tp.Process.Wait() // not Wait of Cmd, which closes the unread pipe
				must(t, err)
				if code := ps.ExitCode(); code != c.code {
					t.Errorf("status %d, want %d", code, c.code)
				}
				rec := tp.recorded()
				rec.note(t, tap.EventBroken, tap.ToClient)
				if n := len(rec.Lanes[tap.ToClient]); n < 64<<10 {
					t.Errorf("%d bytes are recorded", n)
				}
			})
		}
	}
}

// A client that reads slowly gets everything, although that takes longer than the tap's
// patience.
func TestAskedToEndWhileTheClientIsSlow(t *testing.T) {
	t.Parallel()
	tp := tapping(t, chatty(""))
	in, out := said(t, tp)
	defer in.Close()
	must(t, tp.Process.Signal(syscall.SIGTERM))
	b, got, began := make([]byte, 4096), 0, time.Now()
	for {
		n, err := out.Read(b)
		if got += n; err != nil {
			break
		}
		if got < 350_000 {
			time.Sleep(30 * time.Millisecond) // simulates a slow client, nothing waits for it
		}
	}
	if took := time.Since(began); got != 500_000 || took < patience {
		t.Errorf("%d bytes in %v", got, took)
	}
	if code := tp.code(); code != 128+15 {
		t.Errorf("status %d", code)
	}
	if n := tp.recorded().count(tap.EventBroken); n != 0 {
		t.Errorf("%d lanes are recorded as broken", n)
	}
}

func TestWasAsked(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		status ended
		asked  time.Time
		want   bool
	}{
		"ended by itself":      {0, time.Time{}, false},
		"failed":               {3 << 8, time.Time{}, false},
		"crashed":              {ended(syscall.SIGSEGV), time.Time{}, false},
		"killed":               {ended(syscall.SIGKILL), time.Time{}, true},
		"terminated":           {ended(syscall.SIGTERM), time.Time{}, true},
		"asked, and ended":     {0, now.Add(-5 * time.Second), true},
		"asked, and lived on":  {0, now.Add(-time.Minute), false},
		"asked, then finished": {ended(syscall.SIGHUP), now.Add(-time.Minute), true},
	} {
		s := &server{status: c.status, asked: c.asked}
		if got := s.wasAsked(now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
