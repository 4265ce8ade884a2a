//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// within waits for the status of a run that must end without intervention.
func within(t *testing.T, r *run) int {
	t.Helper()
	ended := make(chan int, 1)
	go func() { ended <- r.finish() }()
	select {
	case code := <-ended:
		return code
	case <-time.After(20 * time.Second):
		t.Fatal("the run does not end")
		return 0
	}
}

// raw returns the descriptor of f, which f still owns.
func raw(f *os.File) fd { return fd(f.Fd()) }

// A client that writes nothing and keeps its stdin open does not delay the end, and
// nothing that it writes later reaches a recorder that is being closed.
func TestSilentClientIsNotWaitedFor(t *testing.T) {
	defer func(d time.Duration) { quiet = d }(quiet)
	quiet = time.Minute
	var c rigIO
	c.open(t, plumbings[0])
	srv, failure := spawn(sh("exit 3"), true)
	if failure != nil {
		t.Fatal(failure)
	}
	rec := newFake("")
	r := newRun(rec, [3]fd{raw(c.in[0]), raw(c.out[1]), raw(c.err[1])}, srv)
	for _, p := range r.pumps {
		go p.run()
	}
	eventually(t, "the read", func() bool { return r.pumps[0].state.Load() == stateReading })
	srv.awaitExit()
	if code := within(t, r); code != 3 {
		t.Errorf("status %d", code)
	}
	_, err := c.in[1].WriteString("too late\n")
	must(t, err)
	eventually(t, "the end of the lane", r.pumps[0].finished)
	if order := rec.rec.Order; order[len(order)-1].Note != tap.EventExit {
		t.Errorf("recorded after the end: %+v", order[len(order)-1])
	}
}

// Descriptors of lanes that have ended are closed for the client, but their numbers
// are not available: a file of the recording must not become our stdout. Stderr stays
// open for messages of the tap itself.
func TestEndedLanesKeepTheirNumbers(t *testing.T) {
	var c rigIO
	c.open(t, plumbings[0])
	side := [3]fd{raw(c.in[0]), raw(c.out[1]), raw(c.err[1])}
	srv, failure := spawn(sh("exec sleep 60 <&- >&- 2>&-"), true)
	if failure != nil {
		t.Fatal(failure)
	}
	r := newRun(tap.Discard{}, side, srv)
	for _, p := range r.pumps {
		go p.run()
	}
	eventually(t, "the end of the lane", r.pumps[1].finished)
	eventually(t, "the end of the lane", r.pumps[2].finished)
	eventually(t, "a write to fail", func() bool { _, err := c.in[1].WriteString("to nobody\n"); return err != nil })
	eventually(t, "the end of the lane", r.pumps[0].finished)
	must(t, syscall.Kill(srv.pid, syscall.SIGKILL))
	srv.awaitExit()
	if code := within(t, r); code != 128+int(syscall.SIGKILL) {
		t.Errorf("status %d", code)
	}
	for i, f := range side {
		var st syscall.Stat_t
		if err := syscall.Fstat(int(f), &st); err != nil {
			t.Errorf("descriptor %d: %v", i, err)
		} else if pipe := st.Mode&syscall.S_IFMT == syscall.S_IFIFO; pipe != (i == 2) {
			t.Errorf("descriptor %d is a pipe: %v", i, pipe)
		}
	}
}

// A busy recorder waits when it is called for a lane, as if for the disk.
type busy struct {
	fake
	lane    tap.Lane
	entered chan struct{}
	leave   chan struct{}
	once    sync.Once
}

func (b *busy) Chunk(lane tap.Lane, p []byte) {
	if lane == b.lane {
		b.once.Do(func() { close(b.entered) })
		<-b.leave
	}
	b.fake.Chunk(lane, p)
}

// The end waits for a waiting recorder, so nothing is lost.
func TestEndWaitsForTheRecorder(t *testing.T) {
	for _, lane := range []tap.Lane{tap.ToServer, tap.ToClient, tap.Stderr} {
		t.Run(lane.String(), func(t *testing.T) {
			var c rigIO
			c.open(t, plumbings[0])
			srv, failure := spawn(sh("echo out; echo err >&2; exit 5"), true)
			if failure != nil {
				t.Fatal(failure)
			}
			rec := &busy{lane: lane, entered: make(chan struct{}), leave: make(chan struct{})}
			r := newRun(rec, [3]fd{raw(c.in[0]), raw(c.out[1]), raw(c.err[1])}, srv)
			_, err := c.in[1].WriteString("in\n")
			must(t, err)
			for _, p := range r.pumps {
				go p.run()
			}
			<-rec.entered
			srv.awaitExit()
			// The run must not end, however long this is.
			time.AfterFunc(2*quiet, func() { close(rec.leave) })
			if code := within(t, r); code != 5 {
				t.Errorf("status %d", code)
			}
			rec.mu.Lock()
			defer rec.mu.Unlock()
			order := rec.rec.Order
			if last := order[len(order)-1]; last.Note != tap.EventExit {
				t.Errorf("recorded after the end: %+v", last)
			}
			if got := strings.TrimSpace(string(rec.rec.Lanes[lane])); got == "" {
				t.Error("the bytes passed to the recorder are not recorded")
			}
		})
	}
}

func TestHoldsUp(t *testing.T) {
	for _, c := range []struct {
		lane  tap.Lane
		state int32
		hurry bool
		want  bool
	}{
		{tap.ToServer, stateReading, false, false},
		{tap.ToServer, stateWriting, false, false}, // perhaps to an heir that never reads
		{tap.ToServer, stateRecording, true, true},
		{tap.ToServer, stateDone, false, false},
		{tap.ToClient, stateReading, false, false},
		{tap.ToClient, stateWriting, false, true},
		{tap.ToClient, stateWriting, true, false},
		{tap.ToClient, stateRecording, true, true},
		{tap.Stderr, stateWriting, false, true},
		{tap.Stderr, stateDone, false, false},
	} {
		r, p := &run{srv: new(server)}, &pump{lane: c.lane}
		p.state.Store(c.state)
		r.srv.hurry.Store(c.hurry)
		if got := r.holdsUp(p); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
