package mock

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

// unreadFrames returns a recorded session whose answers exceed the capacity of a pipe.
func unreadFrames(first string) []tap.Frame {
	large := `"` + strings.Repeat("x", 1<<20) + `"`
	return lines(first + `>{"jsonrpc":"2.0","id":1,"method":"a"}
{"jsonrpc":"2.0","id":1,"result":` + large + `}
>{"jsonrpc":"2.0","id":2,"method":"b"}
{"jsonrpc":"2.0","id":2,"result":` + large + `}
`)
}

// A client that does not read blocks writes, but not the end of the context. Afterwards only the
// caller uses the session, and a pending write ends when its data is read, or can no longer be read.
func TestStdioEndsWhileItWrites(t *testing.T) {
	notification := `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + strings.Repeat("h", 1<<20) + `"}}` + "\n"
	const a, b = `{"jsonrpc":"2.0","id":1,"method":"a"}` + "\n", `{"jsonrpc":"2.0","id":2,"method":"b"}` + "\n"
	for name, c := range map[string]struct {
		first       string
		pace        replay.Pace
		least, most int // the number of requests that it may have received
	}{
		"in the client's turn": {"", replay.Instant, 1, 1},
		"in the timer's turn":  {"", replay.Recorded, 1, 2},
		"before the client's":  {notification, replay.Instant, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			rec := loaded(t, unreadFrames(c.first), replay.Options{Pace: c.pace})
			inR, inW := io.Pipe()
			outR, outW, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			type end struct {
				session *replay.Session
				err     error
			}
			over := make(chan end, 1)
			go func() {
				s, err := Stdio(ctx, rec.Script, inR, outW, nil)
				over <- end{s, err}
			}()
			go func() {
				_, _ = io.WriteString(inW, a+b) // the second may never be read
			}()
			// If its first byte has arrived but not all of it fits, it is being written.
			r := bufio.NewReaderSize(outR, 16)
			if _, err := r.ReadByte(); err != nil {
				t.Fatal(err)
			}
			cancel()
			got := <-over
			requests := got.session.Requests()
			if !errors.Is(got.err, context.Canceled) || requests < c.least || requests > c.most {
				t.Errorf("%v, %d requests", got.err, requests)
			}
			coverage := replay.NewCoverage(rec.Script)
			coverage.Add(got.session)
			line, err := r.ReadString('\n')
			if err != nil || len(line) < 1<<20 {
				t.Errorf("%d more bytes were written: %v", len(line), err)
			}
			outW.Close()
			if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
				t.Errorf("then %d bytes: %v", len(rest), err)
			}
			inW.Close()
			if coverage.Sent() != requests || got.session.Requests() != requests {
				t.Errorf("%d of %d requests are covered, want %d", coverage.Sent(), got.session.Requests(), requests)
			}
		})
	}
}

// A held writer blocks the first write until it is released, and records whether there is another
// write in the meantime.
type heldWriter struct {
	begun, release chan struct{}
	once           sync.Once
	inside, most   atomic.Int32
}

func (w *heldWriter) Write(p []byte) (int, error) {
	w.most.Store(max(w.most.Load(), w.inside.Add(1)))
	defer w.inside.Add(-1)
	w.once.Do(func() {
		close(w.begun)
		<-w.release
	})
	return len(p), nil
}

// While one message is being written, no other is, and no client message is read: output would pile
// up.
func TestStdioTakesTurns(t *testing.T) {
	rec := loaded(t, lines(`>{"jsonrpc":"2.0","id":1,"method":"a"}
{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}
{"jsonrpc":"2.0","id":1,"result":{}}
`), replay.Options{Pace: replay.Recorded})
	in := pipe()
	out := heldWriter{begun: make(chan struct{}), release: make(chan struct{})}
	over := make(chan error, 1)
	go func() {
		_, err := Stdio(t.Context(), rec.Script, in.r, &out, nil)
		over <- err
	}()
	send := func(n int) {
		for range n {
			_, _ = io.WriteString(in.w, `{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
		}
	}
	_, _ = io.WriteString(in.w, `{"jsonrpc":"2.0","id":1,"method":"a"}`+"\n")
	<-out.begun // by the timer, or by the request reader if the timer was late
	var sent atomic.Bool
	go func() {
		send(3) // one may be read, and waits for its turn
		sent.Store(true)
		in.w.Close()
	}()
	for range 20_000 { // time for it to misbehave
		runtime.Gosched()
	}
	if sent.Load() || out.most.Load() > 1 {
		t.Errorf("%d concurrent writes; the client's requests were read: %v", out.most.Load(), sent.Load())
	}
	close(out.release)
	if err := <-over; err != nil || out.most.Load() > 1 {
		t.Errorf("%v, %d concurrent writes", err, out.most.Load())
	}
}
