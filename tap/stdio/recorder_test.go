//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// Law 1: traffic is forwarded whatever happens to the recording.
func TestBadRecorderDoesNotStopTraffic(t *testing.T) {
	for _, kind := range []string{"panic-record", "panic-note", "panic-end", "fault-record", "fault-note"} {
		t.Run(kind, func(t *testing.T) {
			var stderr bytes.Buffer
			tp := tapping(t, self("echo"), "rec="+kind)
			tp.Stderr = &stderr
			in, out := tp.pipes()
			for i := range 20 {
				line := fmt.Sprintf("line %d", i)
				_, err := io.WriteString(in, line+"\n")
				must(t, err)
				wantLine(t, out, line)
			}
			must(t, in.Close())
			if rest, _ := io.ReadAll(out); len(rest) > 0 {
				t.Errorf("further output: %q", rest)
			}
			if code := tp.code(); code != 0 {
				t.Errorf("status %d", code)
			}
			if n := strings.Count(stderr.String(), "recording stopped"); n != 1 {
				t.Errorf("%d warnings: %q", n, stderr.String())
			}
		})
	}
}

// A recorder that waits slows the traffic and loses nothing.
func TestSlowRecorder(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789\n"), 100_000)
	tp := tapping(t, self("echo"), "rec=slow-record")
	tp.Stdin = bytes.NewReader(data)
	out, err := tp.Output()
	must(t, err)
	wantBytes(t, "output", out, data)
	rec := tp.recorded()
	for _, lane := range []tap.Lane{tap.ToServer, tap.ToClient} {
		if rec.Sums[lane] != sha256.Sum256(data) {
			t.Errorf("the recorded bytes of %v differ from those that crossed", lane)
		}
	}
}

// Law 3: nothing that a peer can react to is recorded after the reaction.
func TestRequestIsRecordedBeforeItsReply(t *testing.T) {
	const n = 2000
	tp := tapping(t, self("echo"))
	in, out := tp.pipes()
	for i := range n {
		line := fmt.Sprintf("%d", i)
		_, err := io.WriteString(in, line+"\n")
		must(t, err)
		wantLine(t, out, line)
	}
	must(t, in.Close())
	if code := tp.code(); code != 0 {
		t.Fatalf("status %d", code)
	}
	var order []string
	for _, e := range tp.recorded().Order {
		order = append(order, strings.TrimSpace(e.Lane.String()+" "+string(e.Data)+e.Note))
	}
	want := []string{"lifecycle start"}
	for i := range n {
		want = append(want, fmt.Sprintf("to_server %d", i), fmt.Sprintf("to_client %d", i))
	}
	want = append(want, "lifecycle eof", "lifecycle eof", "lifecycle eof", "lifecycle exit")
	if got := strings.Join(order, "\n"); got != strings.Join(want, "\n") {
		for i := range min(len(order), len(want)) {
			if order[i] != want[i] {
				t.Fatalf("entry %d is %q, want %q", i, order[i], want[i])
			}
		}
		t.Fatalf("%d entries, want %d", len(order), len(want))
	}
}

func TestOpenThatPanics(t *testing.T) {
	var warned []string
	cfg := Config{Open: func(int) tap.Recorder { panic("no disk") }, Warn: func(m string) { warned = append(warned, m) }}
	cfg.recorder(1).Chunk(tap.ToServer, []byte("x"))
	if len(warned) != 1 || !strings.Contains(warned[0], "no disk") {
		t.Errorf("warned %q", warned)
	}
}

// A recorder whose memory faults when a signal is recorded does not stop the signal.
func TestSignalWithoutRecorder(t *testing.T) {
	var stderr bytes.Buffer
	tp := tapping(t, self("signals"), "rec=fault-signal")
	tp.Stderr = &stderr
	in, out := tp.pipes()
	wantLine(t, out, "ready")
	for range 2 {
		must(t, tp.Process.Signal(syscall.SIGUSR1))
		wantLine(t, out, "SIGUSR1")
	}
	must(t, in.Close())
	if code := tp.code(); code != 0 {
		t.Errorf("status %d", code)
	}
	if n := strings.Count(stderr.String(), "recording stopped"); n != 1 {
		t.Errorf("%d warnings: %q", n, stderr.String())
	}
}

// The warning does not end a tap whose client has closed stderr, and a recorder
// that fails is reported.
func TestUnreadWarning(t *testing.T) {
	var r rigIO
	r.open(t, plumbings[0])
	tp := tapping(t, self("echo"), "rec=panic-record")
	tp.Stderr = r.err[1]
	in, out := tp.pipes()
	must(t, r.err[1].Close())
	must(t, r.err[0].Close())
	for range 2 {
		_, err := io.WriteString(in, "ping\n")
		must(t, err)
		wantLine(t, out, "ping")
	}
	must(t, in.Close())
	if code := tp.code(); code != 0 {
		t.Errorf("status %d", code)
	}
	if e := tp.recorded().note(t, tap.EventGap, tap.Lifecycle); e.Error != "cannot record" {
		t.Errorf("recorded %+v", e)
	}
}
