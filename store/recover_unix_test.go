//go:build unix

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/mcptap/mcptap/tap"
)

// copyFile copies a file as a user does.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if err := os.WriteFile(to, readAll(t, from), 0o600); err != nil {
		t.Fatal(err)
	}
}

// scribble writes into a queue's file.
func scribble(t *testing.T, path string, at int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path+QueueExt, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

// words returns a short form of the frames of a recording.
func words(fs []tap.Frame) (out []string) {
	for _, f := range fs {
		w := fmt.Sprintf("%v %q", f.Lane, f.Raw)
		if f.Lane == tap.Lifecycle {
			w = "event"
		}
		if f.Truncated {
			w += " truncated"
		}
		out = append(out, w)
	}
	return out
}

// A recording that was given the name of another one does not get the content of the
// other's queue, and the queue is kept for the recording that it belongs to.
func TestQueueOfAnotherRecording(t *testing.T) {
	for _, ended := range []bool{false, true} {
		dir := t.TempDir()
		queue := deadQueueOf(t, dir, "one\ntwo\n")
		path := filepath.Join(dir, "other"+Ext)
		d := dbfile{path: path}
		if err := d.create(sampleHeader("0123abcd")); err != nil {
			t.Fatal(err)
		}
		if ended {
			if err := d.update(func(tx *bolt.Tx) error { return writeEnd(tx, End{}) }); err != nil {
				t.Fatal(err)
			}
		}
		copyFile(t, queue+QueueExt, path+QueueExt)
		info := Stat(path)
		if got := frames(t, path); len(got) != 0 || !regular(path+QueueExt) {
			t.Errorf("ended %v: frames %q, queue there: %v", ended, words(got), regular(path+QueueExt))
		}
		if want := map[bool]Status{true: Ended, false: Cut}[ended]; info.Status != want {
			t.Errorf("ended %v: status %v", ended, info.Status)
		}
		if !ended && (info.Err == nil || !strings.Contains(info.Err.Error(), "belongs to another recording")) {
			t.Errorf("error %v", info.Err)
		}
		// Next to its own recording it is appended.
		if got := words(frames(t, queue)); !slices.Equal(got, []string{`to_server "one\n"`, `to_server "two\n"`}) {
			t.Errorf("frames %q", got)
		}
	}
}

// The machine stops while bbolt lays out a new file: it syncs all of its four
// pages together, so any subset of them may be there.
func TestPowerCutAtTheBeginning(t *testing.T) {
	laidOut := filepath.Join(t.TempDir(), "new")
	db, err := bolt.Open(laidOut, 0o600, &bolt.Options{PageSize: pageSize, FreelistType: bolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	good := readAll(t, laidOut)
	if len(good) != 4*pageSize {
		t.Fatalf("bbolt lays out %d bytes", len(good))
	}
	for mask := range 1 << 4 {
		content := slices.Clone(good)
		for page := range 4 {
			if mask&(1<<page) == 0 {
				clear(content[page*pageSize : (page+1)*pageSize])
			}
		}
		for i, size := range []int{len(content), mask * 1000} { // the other is cut somewhere
			for _, queue := range []string{"zero", "of this boot", "of another boot"}[:1+(mask+i)%3] {
				path := deadQueueOf(t, t.TempDir(), "one\ntwo\n")
				want := 0
				switch queue {
				case "zero":
					scribble(t, path, 0, make([]byte, queueHead))
				case "of another boot":
					scribble(t, path, headBoot, []byte("another boot"))
				default:
					want = 2
				}
				if err := os.WriteFile(path, content[:size], 0o600); err != nil {
					t.Fatal(err)
				}
				info := Stat(path)
				if info.Status != Cut || info.Err != nil || info.Header.Label != "dead" || info.Frames != uint64(want) || regular(path+QueueExt) {
					t.Fatalf("pages %04b, %d bytes, queue %s: %+v", mask, size, queue, info)
				}
				if got := frames(t, path); len(got) != want {
					t.Fatalf("pages %04b, %d bytes, queue %s: frames %q", mask, size, queue, words(got))
				}
			}
		}
	}
}

// A tap that is killed while it creates its file leaves the file under another name, and its queue.
func TestKilledWhileItsFileIsMade(t *testing.T) {
	dir := t.TempDir()
	path := deadQueueOf(t, dir, "one\n")
	if err := os.WriteFile(path+newExt, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := words(frames(t, path)); !slices.Equal(got, []string{`to_server "one\n"`}) {
		t.Errorf("frames %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
}

// A short file that is not a recording must not be removed, whatever files are next to it.
func TestQueueNextToAnotherFile(t *testing.T) {
	for _, zero := range []bool{false, true} {
		path := deadQueueOf(t, t.TempDir(), "one\n")
		if zero {
			scribble(t, path, 0, make([]byte, queueHead))
		}
		if err := os.WriteFile(path, []byte("a note to myself"), 0o600); err != nil {
			t.Fatal(err)
		}
		if info := Stat(path); info.Status != Damaged || string(readAll(t, path)) != "a note to myself" || !regular(path+QueueExt) {
			t.Errorf("queue zero: %v: %+v", zero, info)
		}
	}
}

// When the machine stops, the queue may never have reached the disk. Frames whose
// beginning is in the recording are there nevertheless.
func TestPowerCutInTheMiddleOfAFrame(t *testing.T) {
	for _, queue := range []string{"zero", "of another boot", "empty", "short"} {
		path := filepath.Join(t.TempDir(), "renamed-87654321"+Ext)
		g := newRig(t, path)
		g.q.chunk(tap.ToServer, []byte("first\nsec"))
		g.q.piece(stream{exchange: 7, lane: tap.ToClient}, tap.FormEvent, []byte("data: "), false)
		g.drain()
		head := make([]byte, queueHead)
		switch queue {
		case "of another boot":
			copy(head, encodeQueueHead(sampleHeader("0123abcd"), "another boot", maxBlock, minBlocks))
		case "empty":
			head = nil
		case "short":
			head = head[:1000]
		}
		if err := os.WriteFile(path+QueueExt, head, 0o600); err != nil {
			t.Fatal(err)
		}
		info := Stat(path)
		got := words(frames(t, path))
		if want := []string{`to_server "first\n"`, `to_server "sec"`, `to_client "data: "`}; !slices.Equal(got, want) {
			t.Errorf("queue %s: frames %q", queue, got)
		}
		if info.Status != Cut || info.Err != nil || regular(path+QueueExt) {
			t.Errorf("queue %s: %+v", queue, info)
		}
	}
}

// A live recording was copied, its file before its queue: what was committed
// between the two is in neither. Frames that lost bytes in this way are truncated.
func TestCopyOfALiveRecording(t *testing.T) {
	if bootID() == "" {
		t.Skip("SKIPPED: queues are not trusted on this system")
	}
	path := filepath.Join(t.TempDir(), "x"+Ext)
	g := newRig(t, path)
	copy(g.q.mem, encodeQueueHead(sampleHeader("0123abcd"), bootID(), g.q.blockSize, len(g.q.used)))
	st := stream{exchange: 7, lane: tap.ToClient}
	g.q.chunk(tap.ToServer, []byte("first\nsec"))
	g.q.piece(st, tap.FormEvent, []byte("da"), false)
	g.drain()
	file := readAll(t, path)
	g.q.chunk(tap.ToServer, []byte("ond\nthird\nfour"))
	g.q.chunk(tap.Stderr, []byte("oops"))
	g.q.piece(st, tap.FormEvent, []byte("ta"), false)
	g.drain()
	g.q.chunk(tap.ToServer, []byte("th\nfifth\n"))
	g.q.chunk(tap.ToClient, []byte("answer\n"))
	g.q.piece(st, tap.FormEvent, []byte(": x"), true)
	g.q.piece(st, tap.FormEvent, []byte("data: y"), true)
	for name, content := range map[string][]byte{path: file, path + QueueExt: g.q.mem} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`to_server "first\n"`, "event", `to_server "secth\n" truncated`, `to_server "fifth\n"`,
		`to_client "answer\n"`, `to_client "da: x" truncated`, `to_client "data: y"`}
	got := frames(t, path)
	if !slices.Equal(words(got), want) {
		t.Errorf("frames %q", words(got))
	}
	if !bytes.Contains(got[1].Raw, []byte("copied before its queue")) {
		t.Errorf("event %s", got[1].Raw)
	}
}

// The content of a queue may begin in the middle of frames of which the file has
// nothing: these are truncated too, and no others.
func TestQueueBeginsInTheMiddle(t *testing.T) {
	if bootID() == "" {
		t.Skip("SKIPPED: queues are not trusted on this system")
	}
	path := filepath.Join(t.TempDir(), "x"+Ext)
	g := newRig(t, path)
	copy(g.q.mem, encodeQueueHead(sampleHeader("0123abcd"), bootID(), g.q.blockSize, len(g.q.used)))
	g.q.chunk(tap.ToServer, []byte("first\n"))
	g.drain()
	file := readAll(t, path)
	event := func(id uint64, p string, end bool) {
		g.q.piece(stream{exchange: id, lane: tap.ToClient}, tap.FormEvent, []byte(p), end)
	}
	g.q.chunk(tap.ToServer, []byte("second\nthi"))
	g.q.chunk(tap.ToClient, []byte("answer\n"))
	event(7, "da", false)
	event(8, "data: x", true)
	g.drain()
	g.q.chunk(tap.ToServer, []byte("rd\nfourth\n"))
	g.q.chunk(tap.ToClient, []byte("another\n"))
	event(7, "ta: x", false)
	event(7, "y", true)
	event(7, "data: z", true)
	event(8, "data: z", true)
	for name, content := range map[string][]byte{path: file, path + QueueExt: g.q.mem} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`to_server "first\n"`, "event", `to_server "rd\n" truncated`, `to_server "fourth\n"`, `to_client "another\n"`,
		`to_client "ta: xy" truncated`, `to_client "data: z"`, `to_client "data: z"`}
	if got := words(frames(t, path)); !slices.Equal(got, want) {
		t.Errorf("frames %q", got)
	}
}

// In a directory that cannot be written, the queue of a killed tap is appended but
// remains. Nothing is reported as missing, and it is not appended twice.
func TestQueueThatCannotBeRemoved(t *testing.T) {
	dir := t.TempDir()
	path := deadQueueOf(t, dir, "one\ntwo\n")
	d := dbfile{path: path}
	if err := d.create(headerFromName(path)); err != nil {
		t.Fatal(err)
	}
	defer func(remove func(string) error) { removeDead = remove }(removeDead)
	removeDead = func(string) error { return fs.ErrPermission }
	for range 3 {
		info := Stat(path)
		if got := frames(t, path); info.Status != Cut || info.Err != nil || len(got) != 2 || !regular(path+QueueExt) {
			t.Errorf("%+v, frames %q", info, words(got))
		}
	}
}

// Whichever field of a queue's header is wrong, draining ends in frames that
// crossed or in an error, and a second time finds nothing more.
func TestEveryFieldOfAQueueHeader(t *testing.T) {
	fields := map[int64]int{0: 8, 8: 4, 12: 4, 16: 4, headDraining: 1, headLeft: 1, headDrained: 8, headBoot: 8,
		headLost + 8: 8, 256: 4, headHeader: 8}
	for at, size := range fields {
		for _, v := range []uint64{0, 1, 1<<20 + 1, 1 << 31, 1<<64 - 1} {
			path := deadQueueOf(t, t.TempDir(), "one\ntwo\nthr")
			scribble(t, path, at, binary.LittleEndian.AppendUint64(nil, v)[:size])
			rec, err := Open(path)
			if err != nil {
				continue
			}
			first, err := collect(rec.Frames(0))
			if err != nil {
				t.Errorf("%d at %d: %v", v, at, err)
			}
			if text := string(lane(first, tap.ToServer)); text != "" && !strings.HasSuffix("one\ntwo\nthr", text) {
				t.Errorf("%d at %d: %q", v, at, text)
			}
			again, err := collect(mustOpen(t, path).Frames(0))
			if err != nil || len(again) != len(first) {
				t.Errorf("%d at %d: %d frames, then %d, %v", v, at, len(first), len(again), err)
			}
		}
	}
}

// A FIFO that is named like a recording is refused, not waited for.
func TestFIFOIsNotARecording(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo"+Ext)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrNotRecording) {
		t.Errorf("Open: %v", err)
	}
	if _, _, err := OpenSalvage(path); !errors.Is(err, ErrNotRecording) {
		t.Errorf("OpenSalvage: %v", err)
	}
	if i := Stat(path); !errors.Is(i.Err, ErrNotRecording) {
		t.Errorf("Stat: %v", i.Err)
	}
	if err := Remove(path); err != nil && !errors.Is(err, ErrNotRecording) {
		t.Errorf("Remove: %v", err)
	}
}
