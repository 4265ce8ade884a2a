package store

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// newEncoder returns the first half of a writer whose second half is the test.
func newEncoder() *encoder {
	size, count := queueGeometry(DefaultQueue)
	r := &Recorder{asm: newAssembler(), closing: make(chan struct{})}
	r.q = newQueue(make([]byte, queueBytes(size, count)), size, count, nil, time.Now())
	return &encoder{r: r, jobs: make(chan *job, 1), free: make(chan *job, 2), quiet: calm}
}

// batch makes one batch.
func (e *encoder) batch() *job {
	e.free <- new(job)
	e.step()
	return <-e.jobs
}

// A batch takes more of what compresses well, so that a busy tap waits for the disk
// less often, but not without a bound; and of what does not, as much as before.
func TestBatchesOfWhatCompresses(t *testing.T) {
	words := bytes.Repeat([]byte(`{"jsonrpc":"2.0","method":"notifications/message"}`+"\n"), 256<<10/51)
	noise := make([]byte, len(words))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	for _, tc := range []struct {
		name            string
		body            []byte
		atLeast, atMost int // bytes that the first batch takes
	}{
		{"words", words, maxCommit, maxCommit + commitBytes + len(words)},
		{"noise", noise, commitBytes, commitBytes + len(noise)},
	} {
		e := newEncoder()
		const bodies = 60
		for i := range uint64(bodies) {
			e.r.q.piece(stream{i + 1, tap.ToServer}, tap.FormBody, tc.body, true)
		}
		total, first := 0, 0
		for total < bodies*len(tc.body) {
			j := e.batch()
			if first == 0 {
				first = j.bytes
			}
			if len(j.out.buf) > 2*commitBytes {
				t.Errorf("%s: %d bytes are to be written at once", tc.name, len(j.out.buf))
			}
			for i := range j.entries {
				total += int(j.entries[i].N) - streamBytes
			}
			e.r.q.commit(j.entries)
		}
		if first < tc.atLeast || first > tc.atMost {
			t.Errorf("%s: the first batch took %d bytes, want %d to %d", tc.name, first, tc.atLeast, tc.atMost)
		}
		if n := e.r.asm.st.NextSeq - 1; n != bodies || total != bodies*len(tc.body) {
			t.Errorf("%s: %d frames, %d bytes", tc.name, n, total)
		}
	}
}

// While the traffic is heavy the writer gives way to it, until it is the traffic
// that waits for the writer; on one processor even then.
func TestWriterDoesNotGiveWayToAFullQueue(t *testing.T) {
	defer func(n int) { processors = n }(processors)
	processors = 2
	e := newEncoder()
	body := make([]byte, 256<<10)
	put := func(n int) {
		for range n {
			e.r.q.piece(stream{1, tap.ToServer}, tap.FormBody, body, true)
		}
	}
	put(1)
	if j := e.batch(); !e.r.busy.Load() {
		t.Error("the writer does not give way")
	} else {
		e.r.q.commit(j.entries)
	}
	put(len(e.r.q.state) * e.r.q.blockSize * 3 / 4 / len(body))
	j := e.batch()
	if e.r.busy.Load() {
		t.Error("the writer gives way though the queue is filling up")
	}
	processors = 1
	if e.pressure(j); !e.r.busy.Load() {
		t.Error("the writer does not give way on one processor")
	}
	processors = 2
	for j.more { // until little is left
		e.r.q.commit(j.entries)
		j = e.batch()
	}
	e.r.q.commit(j.entries)
	put(1)
	if e.batch(); !e.r.busy.Load() {
		t.Error("the writer does not give way any more")
	}
}
