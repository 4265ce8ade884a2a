//go:build unix

package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// warned returns options that keep the warnings.
func warned() (Options, func() []string) {
	var mu sync.Mutex
	var all []string
	opt := Options{Queue: minQueueSize, Warn: func(err error) {
		mu.Lock()
		all = append(all, err.Error())
		mu.Unlock()
	}}
	return opt, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// The directory is removed with its content, and recreated: the recording continues in
// a new file of the same name, with a gap for the old one. A line and a frame that began
// in the old one are recorded as truncated.
func TestDirectoryRemovedAndRecreated(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	opt, warnings := warned()
	r := Create(dir, tap.Header{Label: "again"}, opt)
	put(r, tap.ToServer, []byte("one\ntwo\nbegun "))
	r.Piece(7, tap.ToClient, tap.FormBody, []byte("begun "), false)
	waitFor(t, func() bool { return Stat(r.Path()).Frames == 2 && drained(r) })
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	put(r, tap.ToServer, []byte("and ended\nthree\n"))
	waitFor(t, func() bool { return len(warnings()) == 1 })
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.Piece(7, tap.ToClient, tap.FormBody, []byte("and ended"), true)
	waitFor(t, func() bool { return drained(r) })
	if info := Stat(r.Path()); info.Status != Live || !regular(r.Path()+QueueExt) {
		t.Errorf("while it is recorded: %v", info.Status)
	}
	// What crosses now is in the new queue, in case the tap is killed.
	put(r, tap.ToServer, []byte("four\n"))
	if b := readAll(t, r.Path()+QueueExt); bootID() != "" && !bytes.Contains(b, []byte("four\n")) {
		t.Error("the queue lacks what crossed")
	}
	r.Close()
	fs := frames(t, r.Path())
	var got []string
	got = append(got, words(fs)...)
	want := []string{"event", `to_server "and ended\n" truncated`, `to_server "three\n"`, `to_client "and ended" truncated`, `to_server "four\n"`}
	if fmt.Sprint(got) != fmt.Sprint(want) || fs[0].Seq != 3 || !bytes.Contains(fs[0].Raw, []byte("removed")) {
		t.Errorf("frames %q, the first is %s", got, show(&fs[0]))
	}
	info := Stat(r.Path())
	if info.Status != Ended || len(info.Gaps) != 1 || info.Gaps[0] != (tap.Range{From: 1, To: 2}) || info.Tally.Frames.Total() != uint64(len(fs)) {
		t.Errorf("%+v", info)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
}

// Only the queue is removed: it is recreated, so that a killed tap loses nothing and the
// recording is still live.
func TestQueueRemoved(t *testing.T) {
	if bootID() == "" {
		t.Skip("SKIPPED: the queue is plain memory here")
	}
	dir := t.TempDir()
	opt, warnings := warned()
	r := Create(dir, tap.Header{}, opt)
	put(r, tap.ToServer, []byte("one\n"))
	waitFor(t, func() bool { return Stat(r.Path()).Frames == 1 && drained(r) })
	if err := os.Remove(r.Path() + QueueExt); err != nil {
		t.Fatal(err)
	}
	put(r, tap.ToServer, []byte("two\n"))
	waitFor(t, func() bool { return drained(r) })
	put(r, tap.ToServer, []byte("three\n"))
	if info := Stat(r.Path()); info.Status != Live {
		t.Errorf("while it is recorded: %v", info.Status)
	}
	if !bytes.Contains(readAll(t, r.Path()+QueueExt), []byte("three\n")) {
		t.Error("the queue lacks what crossed")
	}
	r.Close()
	if got := lane(frames(t, r.Path()), tap.ToServer); string(got) != "one\ntwo\nthree\n" {
		t.Errorf("recorded %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 || len(warnings()) != 0 {
		t.Errorf("left behind: %q, warnings %q", left, warnings())
	}
}

// A recording that is renamed while it is written continues under its new name, and
// nothing is missing in it. There is no warning.
func TestRenamedWhileWritten(t *testing.T) {
	dir := t.TempDir()
	opt, warnings := warned()
	r := Create(dir, tap.Header{}, opt)
	put(r, tap.ToServer, []byte("one\n"))
	waitFor(t, func() bool { return Stat(r.Path()).Frames == 1 })
	other := filepath.Join(dir, "kept"+Ext)
	if err := os.Rename(r.Path(), other); err != nil {
		t.Fatal(err)
	}
	put(r, tap.ToServer, []byte("two\n"))
	waitFor(t, func() bool { return drained(r) })
	if !regular(r.Path() + QueueExt) {
		t.Error("the queue is gone while the tap runs")
	}
	three := strings.Repeat("three", 20) + "\n"
	put(r, tap.ToServer, []byte(strings.Repeat(three, 30_000))) // more than the queue holds
	r.Close()
	if got := lane(frames(t, other), tap.ToServer); string(got) != "one\ntwo\n"+strings.Repeat(three, 30_000) {
		t.Errorf("%d bytes", len(got))
	}
	if info := Stat(other); info.Status != Ended || len(info.Gaps) != 0 {
		t.Errorf("%+v", info)
	}
	if w := warnings(); len(w) != 0 {
		t.Errorf("warnings %q", w)
	}
}

// The same, but the tap cannot continue in the file, since it had to close it. What it
// could not write is in the queue for the next reader of the recording.
func TestRenamedAndLost(t *testing.T) {
	dir := t.TempDir()
	opt, warnings := warned()
	r := Create(dir, tap.Header{}, opt)
	put(r, tap.ToServer, []byte("one\n"))
	waitFor(t, func() bool { return Stat(r.Path()).Frames == 1 })
	other, was := filepath.Join(dir, "kept"+Ext), beforeCommit
	renamed := make(chan error, 1)
	beforeCommit = func() error {
		beforeCommit = was
		renamed <- os.Rename(r.Path(), other)
		return errors.New("the disk failed")
	}
	put(r, tap.ToServer, []byte("two\n"))
	if err := <-renamed; err != nil {
		t.Fatal(err)
	}
	r.Close()
	if len(warnings()) != 1 || !regular(r.Path()+QueueExt) {
		t.Errorf("warnings %q, queue there: %v", warnings(), regular(r.Path()+QueueExt))
	}
	if err := os.Rename(other, r.Path()); err != nil {
		t.Fatal(err)
	}
	if got := lane(frames(t, r.Path()), tap.ToServer); string(got) != "one\ntwo\n" {
		t.Errorf("recorded %q", got)
	}
}

// A follower ends when its context does, even while another program appends the queue
// of a killed tap.
func TestFollowEndsWhileAnotherProgramDrains(t *testing.T) {
	path := deadQueueOf(t, t.TempDir(), "one\ntwo\n")
	f, err := lockDead(path + QueueExt)
	if err != nil || f == nil {
		t.Fatal(f, err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	r := &Recording{path: path, src: fileSource(path), maxRaw: DefaultMaxRaw}
	for _, err := range r.Follow(ctx, 0) {
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v to end", took)
	}
}

// victimOfStuckDisk records two lines, of which the disk never accepts the second.
func victimOfStuckDisk(dir string) {
	r := Create(dir, tap.Header{ID: "00000000", Label: "stuck", Start: time.Unix(0, 0).UTC()}, Options{})
	put(r, tap.ToServer, []byte("first\n"))
	for !drained(r) {
		time.Sleep(time.Millisecond)
	}
	beforeCommit = func() error { select {} }
	put(r, tap.ToServer, []byte("second\n"))
	began := time.Now()
	r.Close()
	fmt.Println(time.Since(began).Milliseconds())
}

// The end of a tap does not wait for a disk that hangs. What was not written is in the
// queue, and nothing is missing for the next reader.
func TestDiskThatIsStuckAtTheEnd(t *testing.T) {
	if bootID() == "" {
		t.Skip("SKIPPED: queues do not outlive their process on this system")
	}
	dir := t.TempDir()
	victim := exec.Command(os.Args[0], "-test.run=^$")
	victim.Env = append(os.Environ(), "MCPTAP_TEST_VICTIM="+dir, "MCPTAP_TEST_STUCK=1")
	began := time.Now()
	out, err := victim.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v, of which Close %s ms", took, out)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*"+Ext))
	if err != nil || len(paths) != 1 {
		t.Fatalf("recordings %q, %v", paths, err)
	}
	if got := lane(frames(t, paths[0]), tap.ToServer); string(got) != "first\nsecond\n" {
		t.Errorf("recorded %q", got)
	}
	if info := Stat(paths[0]); info.Status != Ended || info.Err != nil {
		t.Errorf("%+v", info)
	}
}

// A command line of a megabyte is stored where commits do not write.
func TestLongCommandIsWrittenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long"+Ext)
	h := sampleHeader("0123abcd")
	h.Command = append(h.Command, strings.Repeat("x", 1<<20))
	d := dbfile{path: path}
	if err := d.create(h); err != nil {
		t.Fatal(err)
	}
	where := func() (at int64) {
		if err := viewFile(path, func(p *pages) error {
			meta, err := p.bucket(bucketMeta)
			if err != nil {
				return err
			}
			e, err := meta.get(keyHeader)
			at = e.val
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return at
	}
	before, asm := where(), newAssembler()
	for i := range uint64(10) {
		asm.begin()
		asm.chunk(tap.ToServer, 0, time.Duration(i), []byte("line\n"))
		if err := d.update(asm.commit(i + 1).write); err != nil {
			t.Fatal(err)
		}
		if now := where(); now != before {
			t.Fatalf("commit %d rewrote the header, at %d instead of %d", i+1, now, before)
		}
	}
	if info := Stat(path); len(info.Header.Command) != 3 || info.Frames != 10 {
		t.Errorf("%d frames", info.Frames)
	}
}
