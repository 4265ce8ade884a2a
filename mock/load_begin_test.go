package mock

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

// A trickle gives frames, and between any two of them lets others run for a while. It
// stops behind some, until it is told to go on.
type trickle struct {
	frames []tap.Frame
	r      *rand.Rand
	lull   int // how long a while may be
	at     int
	goOn   chan struct{}
	err    error
}

func (s *trickle) all(yield func(tap.Frame, error) bool) {
	for i, f := range s.frames {
		if s.goOn != nil && i == s.at {
			<-s.goOn
		}
		for range s.r.IntN(max(s.lull, 30)) {
			runtime.Gosched()
		}
		f.Raw = bytes.Clone(f.Raw)
		if !yield(f, nil) {
			return
		}
	}
	if s.err != nil {
		yield(tap.Frame{}, s.err)
	}
}

// begin is Begin that plays from the first frames on.
func begin(t testing.TB, s *trickle, opt replay.Options, ahead int) *Recording {
	t.Helper()
	g := newGrowth("a recording", ahead)
	g.batch = 1
	rec, err := load(s.all, opt, &spool{size: 1000, kept: make([][]byte, 3)}, g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rec.Close() })
	return rec
}

// A client gets the same from a recording of which the rest is still being read, and
// so do several at once.
func TestBeginIsLoad(t *testing.T) {
	for _, name := range corpus(t) {
		frames := recorded(t, name)
		if strings.HasSuffix(name, "-broken") || slices.ContainsFunc(frames, func(f tap.Frame) bool { return f.Exchange != 0 }) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := serverHalf(frames)
			for n := range uint64(2) {
				var said notes
				rec := begin(t, &trickle{frames: frames, r: rand.New(rand.NewPCG(n, 1))}, replay.Options{Pace: replay.Instant}, 1)
				results := make(chan error, 3)
				for range cap(results) {
					go func() {
						got, err := play(frames, rec, said.note)
						if err == nil && !bytes.Equal(got, want) {
							err = fmt.Errorf("got\n%s\nwant\n%s", got, want)
						}
						results <- err
					}()
				}
				for range cap(results) {
					if err := <-results; err != nil {
						t.Fatal(err)
					}
				}
				said.check(t)
				if err := rec.Wait(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// dialog is a client that says a line and reads one.
type dialog struct {
	t    testing.TB
	to   io.WriteCloser
	line chan string
	err  chan error
}

func newDialog(t testing.TB, rec *Recording) *dialog {
	toServer, toClient := pipe(), pipe()
	d := &dialog{t: t, to: toServer.w, line: make(chan string, 100), err: make(chan error, 1)}
	go func() {
		_, err := Stdio(t.Context(), rec.Script, toServer.r, toClient.w, nil)
		toClient.w.Close()
		d.err <- err
	}()
	go func() {
		defer close(d.line)
		for lines := bufio.NewScanner(toClient.r); lines.Scan(); {
			d.line <- lines.Text()
		}
	}()
	return d
}

func (d *dialog) say(line string) { fmt.Fprintln(d.to, line) }

// twoHalves is a recording of which the second half is read when it may.
func twoHalves() *trickle {
	return &trickle{frames: benchFrames(2000), r: rand.New(rand.NewPCG(1, 1)), at: 2000, goOn: make(chan struct{})}
}

const (
	firstCall = `{"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Oslo","day":0,"units":"metric"}},"jsonrpc":"2.0","id":"x"}`
	lastCall  = `{"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Oslo","day":1999,"units":"metric"}},"jsonrpc":"2.0","id":"y"}`
	noCall    = `{"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Rome"}},"jsonrpc":"2.0","id":"z"}`
)

// A mock answers what has been read, while the rest is not there, and what has not
// been read when it has.
func TestBeginAnswersEarly(t *testing.T) {
	s := twoHalves()
	rec := begin(t, s, replay.Options{Pace: replay.Instant}, 10)
	if rec.Empty() {
		t.Error("it is not empty")
	}
	d := newDialog(t, rec)
	d.say(firstCall)
	if got := <-d.line; !strings.Contains(got, "Day 0 in Oslo") || !strings.Contains(got, `"id":"x"`) {
		t.Fatal(got)
	}
	d.say(lastCall + "\n" + noCall)
	close(s.goOn)
	if got := <-d.line; !strings.Contains(got, "Day 1999 in Oslo") || !strings.Contains(got, `"id":"y"`) {
		t.Error(got)
	}
	if got := <-d.line; !strings.Contains(got, "no recorded answer") || !strings.Contains(got, `"id":"z"`) {
		t.Error(got)
	}
	d.to.Close()
	if err := <-d.err; err != nil || rec.Wait() != nil {
		t.Error(err, rec.Wait())
	}
	if rec.Requests() != 2001 || rec.Steps() != 2001 {
		t.Errorf("%d requests, %d steps", rec.Requests(), rec.Steps())
	}
}

// An error far behind ends a session when it comes there, and the one at its end.
func TestBeginErrors(t *testing.T) {
	broken := errors.New("page 7 is damaged")
	for _, calls := range [][]string{{}, {noCall}, {firstCall, lastCall, noCall}} {
		s := twoHalves()
		s.err = broken
		rec := begin(t, s, replay.Options{Pace: replay.Instant}, 10)
		d := newDialog(t, rec)
		d.say(firstCall)
		<-d.line
		close(s.goOn)
		d.say(strings.Join(calls, "\n"))
		d.to.Close() // which it may not come to
		if err := <-d.err; !errors.Is(err, broken) || err.Error() != "a recording: page 7 is damaged" {
			t.Error(err)
		}
		for line := range d.line {
			if strings.Contains(line, "no recorded") {
				t.Error(line)
			}
		}
		if err := rec.Wait(); !errors.Is(err, broken) {
			t.Error(err)
		}
		if err := rec.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A recording can be closed before it has been read.
func TestBeginCloses(t *testing.T) {
	s := twoHalves()
	rec := begin(t, s, replay.Options{}, 10)
	d := newDialog(t, rec)
	d.say(noCall)
	closed := make(chan error)
	go func() { closed <- rec.Close() }()
	close(s.goOn)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	d.to.Close()
	if err := <-d.err; err != nil && !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

// What is short, or of HTTP, is whole when it begins, and its errors are said then.
func TestBeginShort(t *testing.T) {
	broken := errors.New("page 7 is damaged")
	frames := benchFrames(100)
	if _, err := Begin("it", (&trickle{frames: frames, r: rand.New(rand.NewPCG(1, 1)), err: broken}).all, replay.Options{}); !errors.Is(err, broken) {
		t.Error(err)
	}
	web := benchFrames(aheadFrames)
	for i := range web {
		web[i].Exchange = uint64(i/2 + 1)
	}
	if _, err := Begin("it", (&trickle{frames: web, r: rand.New(rand.NewPCG(1, 1)), err: broken}).all, replay.Options{}); !errors.Is(err, broken) {
		t.Error(err)
	}
	for _, frames := range [][]tap.Frame{frames, web, nil} {
		rec, err := Begin("it", each(frames), replay.Options{})
		if err != nil || rec.growth != nil || rec.Requests() != (len(frames)+1)/2 || rec.Wait() != nil || rec.Close() != nil {
			t.Error(rec, err)
		}
	}
}
