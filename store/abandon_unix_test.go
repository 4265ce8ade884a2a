//go:build unix

package store

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// victimOfFullDisk records more than the file size limit allows, with a queue in plain
// memory: another file has its name.
func victimOfFullDisk(dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 2 << 20, Max: 2 << 20}); err != nil {
		panic(err)
	}
	h := tap.Header{ID: "00000000", Label: "full", Start: time.Unix(0, 0).UTC()}
	if err := os.Mkdir(filepath.Join(dir, FileName(h)+QueueExt), 0o700); err != nil {
		panic(err)
	}
	r := Create(dir, h, Options{Queue: 2 << 20})
	noise := make([]byte, 50<<10) // does not compress
	for n := range 64 {
		rand.Read(noise)
		put(r, tap.ToServer, victimBytes(tap.ToServer, uint64(n)*97*1000, 97*1000))
		r.Piece(1, tap.ToClient, tap.FormEvent, noise, n%4 == 3)
		for !drained(r) && !r.q.isFailing() {
			time.Sleep(time.Millisecond)
		}
	}
	r.Close()
}

func (q *queue) isFailing() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failing
}

// A disk that is full at the end, and a queue that is lost with the process: the
// recording is finished nevertheless, and reports what it lacks.
func TestFullDiskAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	victim := exec.Command(os.Args[0], "-test.run=^$")
	victim.Env = append(os.Environ(), "MCPTAP_TEST_VICTIM="+dir, "MCPTAP_TEST_FULL=1")
	if out, err := victim.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*"+Ext))
	if err != nil || len(paths) != 1 {
		t.Fatalf("recordings %q, %v", paths, err)
	}
	info := Stat(paths[0])
	if info.Status != Cut || info.Err != nil || len(info.Gaps) != 1 {
		t.Fatalf("status %v, %v, gaps %v", info.Status, info.Err, info.Gaps)
	}
	fs := frames(t, paths[0])
	var gap tap.Event
	var lines, events, truncated uint64
	for i := range fs {
		f := &fs[i]
		switch {
		case f.Lane == tap.Lifecycle:
			gap, err = tap.ParseEvent(f.Raw)
			if err != nil {
				t.Fatal(err)
			}
		case f.Lane == tap.ToServer:
			lines++
		case f.Truncated:
			truncated++
		default:
			events++
		}
	}
	last := fs[len(fs)-1].Seq
	if gap.Name != tap.EventGap || gap.From != info.Gaps[0].From || gap.To != info.Gaps[0].To {
		t.Errorf("the gap is %+v, want %v", gap, info.Gaps)
	}
	if gap.Error == "" || strings.Contains(gap.Error, dir) {
		t.Errorf("the reason is %q", gap.Error)
	}
	missing := gap.To - gap.From + 1
	if all := lines + events + truncated + missing; all != 64*1000+16 || truncated > 1 || lines == 0 || events == 0 {
		t.Errorf("%d lines, %d events, %d truncated, %d missing: %d in all, want %d", lines, events, truncated, missing, all, 64*1000+16)
	}
	if want := lines + events + truncated + missing + 1; last != want {
		t.Errorf("the last number is %d, want %d", last, want)
	}
	if crossed := lane(fs, tap.ToServer); !bytes.Equal(crossed, victimBytes(tap.ToServer, 0, len(crossed))) {
		t.Error("the recorded bytes differ from those that crossed")
	}
}
