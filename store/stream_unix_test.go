//go:build unix

package store

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/tap"
)

// victimOfStreams records HTTP endlessly and prints how much of each
// stream a peer could have received by now. It waits to be killed.
func victimOfStreams(dir string) {
	r := Create(dir, tap.Header{Label: "victim", Transport: "http"}, Options{Queue: 8 << 20})
	fmt.Println(r.Path())
	var mu sync.Mutex
	report := func(st stream, total int) {
		var forwarded [24]byte
		binary.LittleEndian.PutUint64(forwarded[:], st.exchange)
		binary.LittleEndian.PutUint64(forwarded[8:], uint64(st.lane))
		binary.LittleEndian.PutUint64(forwarded[16:], uint64(total))
		mu.Lock()
		os.Stdout.Write(forwarded[:])
		mu.Unlock()
	}
	for i := range uint64(3) {
		go func() {
			rng := rand.New(rand.NewPCG(i, 3))
			for exchange := i + 1; ; exchange += 3 {
				r.Event(exchange, tap.Event{Name: tap.EventRequest, Target: fmt.Sprint(exchange)})
				for _, lane := range []tap.Lane{tap.ToServer, tap.ToClient} {
					st, total := stream{exchange: exchange, lane: lane}, 0
					for n, size := range victimFrames(st) {
						for rest := victimFrame(st, n, size); ; {
							k := min(len(rest), 1+rng.IntN(1<<rng.IntN(18)))
							r.Piece(exchange, lane, victimForm(lane), rest[:k], k == len(rest))
							total += k
							report(st, total) // only now would the bytes be forwarded
							if rest = rest[k:]; len(rest) == 0 {
								break
							}
						}
					}
				}
			}
		}()
	}
	select {}
}

// victimFrames returns the lengths of the frames of a stream: one body up, up to five
// events down, occasionally a long one.
func victimFrames(st stream) (sizes []int) {
	rng := rand.New(rand.NewPCG(st.exchange, uint64(st.lane)))
	n := 1
	if st.lane == tap.ToClient {
		n = rng.IntN(6)
	}
	for range n {
		size := rng.IntN(1 << rng.IntN(16))
		if rng.IntN(50) == 0 {
			size = tap.PartSize + rng.IntN(tap.PartSize)
		}
		sizes = append(sizes, size)
	}
	return sizes
}

func victimForm(lane tap.Lane) tap.Form {
	if lane == tap.ToServer {
		return tap.FormBody
	}
	return tap.FormEvent
}

// victimFrame returns the n-th frame of a stream.
func victimFrame(st stream, n, size int) []byte {
	word := fmt.Appendf(nil, "exchange %d, %v, frame %d;", st.exchange, st.lane, n)
	return bytes.Repeat(word, size/len(word)+1)[:size]
}

// kill -9 at random moments under many streams: every byte that a peer may have
// seen is in the recording, in its frame, and frames are numbered without a gap.
func TestKilledRecorderLosesNoPiece(t *testing.T) {
	n := 40
	if longtest.Sampled(t) {
		n = 5
	}
	for i := range n {
		t.Run(fmt.Sprint(i), func(t *testing.T) { killStreams(t, time.Duration(rand.IntN(80_000))*time.Microsecond) })
	}
}

func killStreams(t *testing.T, after time.Duration) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MCPTAP_TEST_VICTIM="+t.TempDir(), "MCPTAP_TEST_STREAMS=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReaderSize(out, 1<<16)
	path, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	path = path[:len(path)-1]
	kill := time.AfterFunc(after, func() { cmd.Process.Kill() })
	defer kill.Stop()
	forwarded := make(map[stream]uint64)
	for {
		var b [24]byte
		if _, err := io.ReadFull(in, b[:]); err != nil {
			break
		}
		st := stream{exchange: binary.LittleEndian.Uint64(b[:]), lane: tap.Lane(b[8])}
		forwarded[st] = binary.LittleEndian.Uint64(b[16:])
	}
	cmd.Wait()
	fs := frames(t, path)
	gapless(t, fs)
	got := make(map[stream][]tap.Frame)
	for _, f := range fs {
		if st := (stream{exchange: f.Exchange, lane: f.Lane}); f.Lane != tap.Lifecycle {
			got[st] = append(got[st], f)
		}
	}
	open := 0
	for st, recorded := range got {
		sizes, total := victimFrames(st), uint64(0)
		for n, f := range recorded {
			whole := n < len(sizes) && len(f.Raw) == sizes[n]
			if total += uint64(len(f.Raw)); !whole {
				open++
			}
			if n >= len(sizes) || !whole && n < len(recorded)-1 || f.Truncated || f.Form != victimForm(st.lane) ||
				!bytes.Equal(f.Raw, victimFrame(st, n, sizes[n])[:min(len(f.Raw), sizes[n])]) {
				t.Errorf("frame %s of %v", show(&f), sizes)
			}
		}
		if total < forwarded[st] {
			t.Errorf("%v: %d bytes recorded, but %d were forwarded", st, total, forwarded[st])
		}
		delete(forwarded, st)
	}
	for st, n := range forwarded {
		if n > 0 {
			t.Errorf("%v is missing, with %d bytes", st, n)
		}
	}
	if open > 3 {
		t.Errorf("%d frames without their end, where three at a time were sent", open)
	}
	if info := Stat(path); info.Status != Cut || info.Tally.Frames.Total() != uint64(len(fs)) {
		t.Errorf("%+v", info)
	}
}

// abandon leaves a queue as a killed tap does. The mapping would keep the lock as long
// as this process runs.
func abandon(t *testing.T, q *queue) {
	t.Helper()
	if err := syscall.Flock(int(q.file.f.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	q.file.f.Close()
}

// deadStreams makes the queue of an HTTP tap that was killed before its first
// commit.
func deadStreams(t *testing.T, play func(q *queue)) (path string) {
	t.Helper()
	if bootID() == "" {
		t.Skip("SKIPPED: queues do not outlive their process on this system")
	}
	h := tap.Header{ID: "0123abcd", Label: "dead", Transport: "http", Start: time.Now().UTC()}
	path = filepath.Join(t.TempDir(), FileName(h))
	q, err := openQueue(path, h, minQueueSize, time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	play(q)
	abandon(t, q)
	return path
}

// A tap that is killed while its store fails leaves a record of what it could not
// record: the frames that may lack bytes are truncated, and no others.
func TestKilledInAnOutage(t *testing.T) {
	for _, streams := range []uint64{4, 2000} {
		path := deadStreams(t, func(q *queue) {
			for n := range streams {
				q.piece(stream{exchange: n, lane: tap.ToServer}, tap.FormBody, []byte("begun"), false)
			}
			for q.failing = true; !q.missed; {
				q.piece(stream{exchange: 1 << 40, lane: tap.ToClient}, tap.FormEvent, make([]byte, 50_000), true)
			}
			for n := range streams {
				if n%2 == 1 {
					q.piece(stream{exchange: n, lane: tap.ToServer}, tap.FormBody, []byte("lost"), n%4 == 1)
				}
			}
		})
		truncated, gaps := 0, 0
		for _, f := range frames(t, path) {
			if f.Exchange == 1<<40 && f.Truncated {
				t.Errorf("truncated: %s", show(&f))
			}
			if f.Lane == tap.Lifecycle {
				gaps++
			}
			if f.Lane != tap.ToServer {
				continue
			}
			if string(f.Raw) != "begun" {
				t.Errorf("%s", show(&f))
			}
			// The queue's header does not name them.
			if !f.Truncated {
				t.Errorf("%s, want truncated", show(&f))
			}
			truncated++
		}
		if info := Stat(path); truncated != int(streams) || gaps != 1 || len(info.Gaps) != 1 || info.Gaps[0].From != info.Gaps[0].To {
			t.Errorf("%d frames, %d gaps, %+v", truncated, gaps, info.Gaps)
		}
	}
}

// Whatever the bytes of a queue with pieces are, draining it terminates.
func TestHostileQueueOfStreams(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		path := deadStreams(t, func(q *queue) {
			q.piece(stream{exchange: 1, lane: tap.Lifecycle}, tap.FormLine, []byte(`{"event":"request"}`), true)
			q.piece(stream{exchange: 1, lane: tap.ToServer}, tap.FormBody, []byte("{"), false)
			q.piece(stream{exchange: 2, lane: tap.ToClient}, tap.FormEvent, []byte("data: {}\n\n"), true)
			q.piece(stream{exchange: 1, lane: tap.ToServer}, tap.FormBody, []byte("}"), true)
			q.piece(stream{exchange: 3, lane: tap.ToServer}, tap.FormBody, nil, true)
		})
		f, err := os.OpenFile(path+QueueExt, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + rng.IntN(4) {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], rng.Uint64()>>rng.IntN(64))
			at := int64(rng.IntN(headHeader))
			if rng.IntN(3) > 0 {
				at = queueHead + int64(rng.IntN(6*entryBytes))
			}
			f.WriteAt(b[:1+rng.IntN(8)], at)
		}
		f.Close()
		rec, err := Open(path)
		if err != nil {
			continue
		}
		for _, err := range rec.Frames(0) {
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// What a tap of version 1 left when it was killed, its file and its queue, is joined: a
// line that begins in the file continues in the queue.
func TestQueueOfVersion1(t *testing.T) {
	if bootID() == "" {
		t.Skip("SKIPPED: queues are not trusted on this system")
	}
	want := []string{
		`lifecycle "{\"event\":\"start\",\"transport\":\"stdio\",\"pid\":7}"`,
		`to_server "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n"`,
		`to_client "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"`,
		`to_server "{}\n"`,
		`to_client "half a line"`,
		`stderr "a word"`,
	}
	for _, withFile := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), FileName(sampleHeader("0123abcd")))
		queue := unzip(t, formats+"/v1-killed.mcptap.queue.gz")
		copy(queue[headBoot:headBoot+bootBytes], append([]byte(bootID()), make([]byte, bootBytes)...))
		if err := os.WriteFile(path+QueueExt, queue, 0o600); err != nil {
			t.Fatal(err)
		}
		if withFile {
			if err := os.WriteFile(path, unzip(t, formats+"/v1-killed.mcptap.gz"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, f := range frames(t, path) {
			if f.Truncated || f.Form != tap.FormLine || f.Exchange != 0 {
				t.Errorf("%s", show(&f))
			}
			got = append(got, fmt.Sprintf("%v %q", f.Lane, f.Raw))
		}
		if withFile && !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
		// Without the file that had them, the first ones are gone.
		if !withFile && (len(got) != 5 || !slices.Equal(got[2:], want[3:])) {
			t.Errorf("without its file: got %q", got)
		}
		if info := Stat(path); info.Status != Cut || info.Header.ID != "0123abcd" {
			t.Errorf("%+v", info)
		}
	}
}

func unzip(t *testing.T, path string) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(readAll(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A queue of a newer program is left unchanged.
func TestQueueOfNewerVersion(t *testing.T) {
	path := deadStreams(t, func(q *queue) { q.piece(stream{exchange: 1, lane: tap.ToServer}, tap.FormBody, []byte("{}"), true) })
	f, err := os.OpenFile(path+QueueExt, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteAt([]byte("mtapque9"), 0)
	if _, err := Open(path); !errors.Is(err, ErrNewer) {
		t.Errorf("Open: %v", err)
	}
	writeSample(t, path, sampleFrames(3), 4, 4096)
	if info := Stat(path); info.Frames == 0 || info.Status != Ended {
		t.Errorf("%+v", info)
	}
	f.WriteAt([]byte(queueMagic), 0)
	f.Close()
	if _, err := Open(path); err != nil {
		t.Errorf("Open: %v", err)
	}
	if regular(path + QueueExt) {
		t.Error("the queue is still there")
	}
}
