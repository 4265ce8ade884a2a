//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

func sh(script string) []string { return []string{"/bin/sh", "-c", script} }

func TestStatusIsTheServers(t *testing.T) {
	for _, want := range []int{0, 1, 3, 255} {
		tp := tapping(t, sh(fmt.Sprintf("exit %d", want)))
		if got := tp.code(); got != want {
			t.Errorf("status %d, want %d", got, want)
		}
		if e := tp.recorded().note(t, tap.EventExit, tap.Lifecycle); e.Code == nil || *e.Code != want {
			t.Errorf("recorded exit %+v, want %d", e, want)
		}
	}
}

func TestStatusOfADeathBySignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGUSR1} {
		tp := tapping(t, sh(fmt.Sprintf("kill -%d $$", sig)))
		if got, want := tp.code(), 128+int(sig); got != want {
			t.Errorf("%v: status %d, want %d", sig, got, want)
		}
		if e := tp.recorded().note(t, tap.EventExit, tap.Lifecycle); e.Signal != signalName(sig) {
			t.Errorf("recorded exit %+v, want %v", e, signalName(sig))
		}
	}
}

func TestHalfClose(t *testing.T) {
	// The server writes only once its stdin has ended.
	tp := tapping(t, sh("cat >/dev/null; echo bye; exit 6"))
	in, out := tp.pipes()
	_, _ = io.WriteString(in, "hello\n")
	must(t, in.Close())
	wantLine(t, out, "bye")
	if code := tp.code(); code != 6 {
		t.Errorf("status %d", code)
	}
}

func TestServerClosesStdoutAndLives(t *testing.T) {
	tp := tapping(t, self("mute"))
	in, out := tp.pipes()
	wantLine(t, out, "last")
	if rest, err := io.ReadAll(out); len(rest) > 0 || err != nil {
		t.Errorf("after the end: %q, %v", rest, err)
	}
	// It is running: its stdin is still read, and it has no status yet.
	_, err := io.WriteString(in, strings.Repeat("x", 3<<20))
	must(t, err)
	must(t, in.Close())
	if code := tp.code(); code != 4 {
		t.Errorf("status %d", code)
	}
}

func TestServerEndsWhileStdinIsOpen(t *testing.T) {
	for _, pl := range plumbings {
		t.Run(pl.name, func(t *testing.T) {
			var r rigIO
			r.open(t, pl)
			tp := tapping(t, sh("printf 'no newline'; exit 9"))
			tp.Stdin = r.in[0]
			out, err := tp.Output()
			if code := tp.ProcessState.ExitCode(); code != 9 || string(out) != "no newline" {
				t.Errorf("status %d, output %q, %v", code, out, err)
			}
		})
	}
}

func TestServerIsGoneForTheClient(t *testing.T) {
	tp := tapping(t, self("deaf"))
	in, out := tp.pipes()
	wantLine(t, out, "deaf")
	go func() { _, _ = io.Copy(io.Discard, out) }()
	// The server has closed its stdin: our writes must fail in the end, as they
	// would without a tap.
	sent := 0
	eventually(t, "a write to fail", func() bool {
		n, err := io.WriteString(in, "0123456789")
		sent += n
		return err != nil
	})
	must(t, tp.Process.Signal(syscall.SIGTERM))
	if code := tp.code(); code != 128+15 {
		t.Errorf("status %d", code)
	}
	rec := tp.recorded()
	if e := rec.note(t, tap.EventBroken, tap.ToServer); e.Bytes == 0 || e.Bytes != uint64(len(rec.Lanes[tap.ToServer])) {
		t.Errorf("%+v, but none of %d bytes was delivered", e, len(rec.Lanes[tap.ToServer]))
	}
}

func TestClientIsGoneForTheServer(t *testing.T) {
	for _, pl := range plumbings {
		t.Run(pl.name, func(t *testing.T) {
			var r rigIO
			r.open(t, pl)
			tp := tapping(t, self("deaf"))
			tp.Stdout = r.out[1]
			must(t, tp.Start())
			must(t, r.out[1].Close())
			wantLine(t, bufio.NewReader(r.out[0]), "deaf")
			must(t, r.out[0].Close())
			// The server sees its own write fail, and reports that in its status.
			if code := tp.code(); code != 5 {
				t.Errorf("status %d", code)
			}
			tp.recorded().note(t, tap.EventBroken, tap.ToClient)
		})
	}
}

func TestClientClosesStderr(t *testing.T) {
	var r rigIO
	r.open(t, plumbings[0])
	tp := tapping(t, self("noisy"))
	tp.Stderr = r.err[1]
	in, out := tp.pipes()
	must(t, r.err[1].Close())
	must(t, r.err[0].Close())
	wantLine(t, out, "nobody reads stderr")
	_, _ = io.WriteString(in, "ping\n")
	wantLine(t, out, "ping")
	must(t, in.Close())
	if code := tp.code(); code != 0 {
		t.Errorf("status %d", code)
	}
}

func TestOutputLeftToAnHeir(t *testing.T) {
	want := strings.Repeat("x", 500_000) + "\n"
	t.Run("silent", func(t *testing.T) {
		tp := tapping(t, self("heir", "30"))
		begin := time.Now()
		out, _ := tp.Output()
		if string(out) != want || tp.ProcessState.ExitCode() != 7 {
			t.Errorf("%d bytes, status %d", len(out), tp.ProcessState.ExitCode())
		}
		if d := time.Since(begin); d > 15*time.Second {
			t.Errorf("waited %v for the heir", d)
		}
	})
	t.Run("slow client", func(t *testing.T) {
		tp := tapping(t, self("heir", "30"))
		_, out := tp.pipes()
		time.Sleep(4 * quiet) // simulates a slow client, nothing waits for it
		b := make([]byte, len(want))
		if _, err := io.ReadFull(out, b); err != nil || string(b) != want {
			t.Errorf("not all of the output: %v", err)
		}
		if code := tp.code(); code != 7 {
			t.Errorf("status %d", code)
		}
	})
}

// A signal ends a tap whose server has ended, even if the client does not read the
// remaining output.
func TestSignalEndsAnAbandonedTap(t *testing.T) {
	tp := tapping(t, sh("head -c 500000 /dev/zero; exit 8"), "patience=30ms")
	in, out := tp.pipes()
	defer in.Close()
	if _, err := out.Peek(1); err != nil {
		t.Fatal(err)
	}
	done, early := make(chan struct{}), make(chan bool, 1)
	go func() {
		// It waits for its slow client until it is signaled.
		select {
		case <-done:
			early <- true
		case <-time.After(4 * quiet):
			early <- false
			_ = tp.Process.Signal(syscall.SIGTERM)
		}
	}()
	st, err := tp.Process.Wait()
	must(t, err)
	close(done)
	if <-early {
		t.Error("ended with output undelivered")
	}
	if code := st.ExitCode(); code != 8 {
		t.Errorf("status %d", code)
	}
}

func TestNoCommand(t *testing.T) {
	if code, err := Run(Config{}); code != exitOwnFailure || err == nil {
		t.Errorf("status %d, %v", code, err)
	}
}
