package stdio

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// chatty is a server that writes more than a pipe to the client holds, says so
// on stderr, and lives. A trap may come before.
func chatty(trap string) []string {
	return sh(trap + "head -c 500000 /dev/zero; echo written >&2; while :; do sleep 0.02; done")
}

// said starts the tap and waits until its server has written all.
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

// Whoever ends a server waits for its process: without a tap it would be gone,
// although nobody reads what it wrote.
func TestAskedToEndWhileNobodyReads(t *testing.T) {
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
				ps, err := tp.Process.Wait() // not Wait of Cmd, which closes what nobody reads
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

// A client that reads, however slowly, gets everything, also when a single
// write takes it longer than the tap is patient.
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
			time.Sleep(30 * time.Millisecond) // the slowness itself, nothing waits for it
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

func TestTraceOfABlockedWrite(t *testing.T) {
	sizes := map[string][]int{"pipe": {1, 4096, 5000, 64 << 10}, "socketpair": {256 << 10}}
	sizes["non-blocking pipe"], sizes["non-blocking socketpair"] = sizes["pipe"], sizes["socketpair"]
	for _, pl := range plumbings {
		for _, size := range sizes[pl.name] {
			t.Run(fmt.Sprint(pl.name, "/", size), func(t *testing.T) {
				r, w := pl.make(t)
				from, to := fd(r.Fd()), fd(w.Fd())
				must(t, syscall.SetNonblock(int(from), false))
				must(t, syscall.SetNonblock(int(to), pl.name[0] == 'n'))
				go func() {
					_, _ = to.Write(make([]byte, 8<<20))
					_ = w.Close()
				}()
				b := make([]byte, size)
				for range 6 {
					before := settled(t, to)
					_, err := from.Read(b)
					must(t, err)
					eventually(t, "a trace of the read", func() bool { return traceOf(to) != before })
				}
				_, err := io.Copy(io.Discard, from)
				must(t, err)
			})
		}
	}
}

// settled waits until the trace of a write does not change any more, as nobody
// reads.
func settled(t *testing.T, f fd) trace {
	t.Helper()
	last, same := traceOf(f), 0
	eventually(t, "the writer to block", func() bool {
		now := traceOf(f)
		if same++; now != last || now == (trace{}) {
			last, same = now, 0
		}
		return same > 10
	})
	return last
}

func TestStall(t *testing.T) {
	at := time.Unix(1000, 0)
	a := [3]mark{1: {reads: 3, trace: trace{queued: 65536, wakes: 7}}}
	read := [3]mark{1: {reads: 3, trace: trace{queued: 65535, wakes: 7}}}
	woken := [3]mark{1: {reads: 3, trace: trace{queued: 65536, wakes: 8}}}
	other := [3]mark{1: a[1], 2: {reads: 1}}
	for name, steps := range map[string][]struct {
		after time.Duration // since the step before
		marks [3]mark
		want  bool
	}{
		"nobody writes":           {{0, [3]mark{}, false}, {patience, [3]mark{}, false}, {10 * patience, [3]mark{}, false}},
		"nobody reads":            {{0, a, false}, {patience - 1, a, false}, {1, a, true}},
		"a byte is read":          {{0, a, false}, {patience - 1, read, false}, {patience - 1, read, false}, {1, read, true}},
		"a page is read":          {{0, a, false}, {patience - 1, woken, false}, {patience - 1, woken, false}},
		"the other lane is read":  {{0, a, false}, {patience - 1, other, false}, {patience - 1, a, false}, {patience, a, true}},
		"begins late":             {{0, [3]mark{}, false}, {10 * patience, a, false}, {patience, a, true}},
		"writes, waits and stops": {{0, a, false}, {patience - 1, [3]mark{}, false}, {patience - 1, a, false}, {patience, a, true}},
	} {
		var s stall
		now := at
		for i, step := range steps {
			now = now.Add(step.after)
			if got := s.step(now, step.marks); got != step.want {
				t.Errorf("%s, step %d: %v", name, i, got)
			}
		}
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
