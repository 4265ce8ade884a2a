package store

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// Another program truncates the queue's file while a tap runs, so that accessing its
// memory faults: in the ring, in the blocks, for the recording goroutines and for
// the writer. The tap continues, warns once, and the recording does not claim to be
// complete.
func TestQueueFileCutShort(t *testing.T) {
	ring := int64(queueHead + ringEntries*entryBytes)
	for _, size := range []int64{0, 100, queueHead, queueHead + 4096, ring, ring + 4096} {
		for _, first := range []string{"record", "note", "piece", "end", "close"} {
			t.Run(fmt.Sprintf("%d/%s", size, first), func(t *testing.T) { cutShort(t, size, first) })
		}
	}
}

func cutShort(t *testing.T, size int64, first string) {
	// As a tap does on the goroutines that record.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var warned atomic.Int32
	r := Create(t.TempDir(), tap.Header{}, Options{Queue: minQueueSize, Warn: func(err error) {
		if warned.Add(1); !strings.Contains(err.Error(), "truncated") {
			t.Errorf("warned: %v", err)
		}
	}})
	put(r, tap.ToServer, []byte("one\n"))
	waitFor(t, func() bool { return drained(r) })
	if err := os.Truncate(r.Path()+QueueExt, size); err != nil {
		t.Fatal(err)
	}
	steps := map[string]func(){
		"record": func() { put(r, tap.ToServer, []byte("two\n")) },
		"note":   func() { r.Event(0, tap.Event{Name: tap.EventSignal}) },
		"piece":  func() { r.Piece(1, tap.ToClient, tap.FormEvent, []byte("three"), true) },
		"end":    func() { r.Chunk(tap.Stderr, nil) },
		"close":  func() {},
	}
	steps[first]()
	for _, step := range []string{"note", "piece", "record", "end"} {
		steps[step]()
	}
	for range 100 { // more than there is room for
		put(r, tap.ToClient, make([]byte, 64<<10))
	}
	r.Close()
	if n := warned.Load(); n != 1 {
		t.Errorf("%d warnings", n)
	}
	if fs := frames(t, r.Path()); len(fs) < 1 || string(fs[0].Raw) != "one\n" {
		t.Errorf("%d frames", len(fs))
	}
	if info := Stat(r.Path()); info.Status != Cut {
		t.Errorf("status %v", info.Status)
	}
}

// A queue that is truncated when the tap gives up on a failing disk is not marked, and the
// tap continues.
func TestQueueCutShortAtTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x"+Ext)
	q, err := openQueue(path, tap.Header{}, minQueueSize, time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !q.outlives {
		t.Skip("SKIPPED: the queue is plain memory here")
	}
	warned := ""
	r := &Recorder{q: q, db: dbfile{path: path}, opt: Options{Warn: func(err error) { warned = err.Error() }}}
	if err := os.Truncate(path+QueueExt, 0); err != nil {
		t.Fatal(err)
	}
	r.abandon()
	if !strings.Contains(warned, "truncated") {
		t.Errorf("warned: %q", warned)
	}
}

// A tap that replaces this recorder reports that with a gap. What was recorded until
// then is not everything that crossed.
func TestRecorderThatWasReplaced(t *testing.T) {
	r := Create(t.TempDir(), tap.Header{}, Options{})
	put(r, tap.ToServer, []byte("one\n"))
	r.Event(0, tap.Event{Name: tap.EventGap, Error: "it panicked"})
	r.Close()
	if info := Stat(r.Path()); info.Status != Cut || info.Frames != 2 {
		t.Errorf("status %v, %d frames", info.Status, info.Frames)
	}
}

// A queue that cannot be recreated, as the disk is full, leaves no file: the attempt is
// repeated with each commit.
func TestQueueThatCannotBeRecreated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x"+Ext)
	q, err := openQueue(path, tap.Header{}, minQueueSize, time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !q.outlives {
		t.Skip("SKIPPED: the queue is plain memory here")
	}
	defer q.file.drop(q.mem)
	os.Remove(path + QueueExt)
	q.fresh = 1 << 40 // blocks, which no disk has
	for range 3 {
		if q.remake(tap.Header{}) == nil {
			t.Fatal("it was recreated")
		}
	}
	maps := strings.Count(string(readAll(t, "/proc/self/maps")), path+QueueExt)
	if left, _ := filepath.Glob(path + "*"); len(left) != 0 || maps != 1 {
		t.Errorf("%d maps, left behind: %q", maps, left)
	}
}
