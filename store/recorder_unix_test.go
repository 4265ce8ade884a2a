//go:build unix

package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/tap"
)

// holdLock holds the file's lock as another program would, until release is called.
func holdLock(t *testing.T, path string) (release func()) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}

func TestMain(m *testing.M) {
	if dir := os.Getenv("MCPTAP_TEST_VICTIM"); dir != "" {
		if os.Getenv("MCPTAP_TEST_STREAMS") != "" {
			victimOfStreams(dir)
		}
		if os.Getenv("MCPTAP_TEST_FULL") != "" {
			victimOfFullDisk(dir)
			return
		}
		if os.Getenv("MCPTAP_TEST_STUCK") != "" {
			victimOfStuckDisk(dir)
			return
		}
		victim(dir)
		return
	}
	os.Exit(m.Run())
}

// victim records endlessly and prints how much of each lane a peer
// could have received by now. It waits to be killed.
func victim(dir string) {
	r := Create(dir, tap.Header{Label: "victim"}, Options{Queue: 8 << 20})
	fmt.Println(r.Path())
	forwarded := [8]byte{}
	total := [tap.Lanes]uint64{}
	for i := uint64(0); ; i++ {
		l := tap.ToServer + tap.Lane(i%2)
		p := victimBytes(l, total[l], int(i*7919%5000)+1)
		put(r, l, p)
		total[l] += uint64(len(p))
		// Only now would the bytes be forwarded.
		binary.LittleEndian.PutUint64(forwarded[:], total[l]<<8|uint64(l))
		os.Stdout.Write(forwarded[:])
	}
}

// victimBytes returns a part of the endless stream of one lane: 97-byte lines that
// contain their position.
func victimBytes(l tap.Lane, from uint64, n int) []byte {
	b := make([]byte, 0, n+97)
	for at := from / 97; len(b) < n+int(from%97); at++ {
		b = append(b, fmt.Sprintf("%-95d%d\n", at, l)...)
	}
	return b[from%97:][:n]
}

// kill -9 at random moments under load: every byte that a peer may have seen is
// in the recording, numbered without a gap.
func TestKilledRecorderLosesNothing(t *testing.T) {
	n := 100
	if longtest.Sampled(t) {
		n = 10
	}
	for i := range n {
		t.Run(fmt.Sprint(i), func(t *testing.T) { killOnce(t, time.Duration(rand.IntN(60_000))*time.Microsecond) })
	}
}

func killOnce(t *testing.T, after time.Duration) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MCPTAP_TEST_VICTIM="+dir)
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
	var forwarded [tap.Lanes]uint64
	var b [8]byte
	for {
		if _, err := io.ReadFull(in, b[:]); err != nil {
			break
		}
		v := binary.LittleEndian.Uint64(b[:])
		forwarded[v&0xff] = v >> 8
	}
	cmd.Wait()
	if Stat(path).Status == Live {
		t.Error("a dead recording counts as live")
	}
	fs := frames(t, path)
	gapless(t, fs)
	for l := tap.ToServer; l <= tap.ToClient; l++ {
		got := lane(fs, l)
		if uint64(len(got)) < forwarded[l] {
			t.Errorf("%v: %d bytes recorded, but %d were forwarded", l, len(got), forwarded[l])
		}
		if !bytes.Equal(got, victimBytes(l, 0, len(got))) {
			t.Errorf("%v: the bytes differ", l)
		}
	}
	if info := Stat(path); info.Status != Cut {
		t.Errorf("status %v, want cut", info.Status)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*"+QueueExt+"*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// A tap killed before it created the file leaves only its queue.
func TestQueueWithoutFile(t *testing.T) {
	dir := t.TempDir()
	path := deadQueueOf(t, dir, "one\ntwo\nthr")
	if fs := frames(t, path); string(lane(fs, tap.ToServer)) != "one\ntwo\nthr" || len(fs) != 3 {
		t.Errorf("frames %v", fs)
	}
	if infos, err := List(dir); err != nil || len(infos) != 1 || infos[0].Status != Cut || infos[0].Header.Label != "dead" {
		t.Errorf("listed as %+v, %v", infos, err)
	}
}

// deadQueueOf makes a queue that holds text, as of a tap that was killed before
// its first commit.
func deadQueueOf(t *testing.T, dir, text string) (path string) {
	t.Helper()
	h := tap.Header{ID: NewID(), Label: "dead", Start: time.Now().UTC()}
	path = filepath.Join(dir, FileName(h))
	q, err := openQueue(path, h, minQueueSize, time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	q.chunk(tap.ToServer, []byte(text))
	abandon(t, q)
	return path
}

// A tap whose file is held by another program at its end leaves the rest in the
// queue. It was not killed, so the recording is not cut off, whichever reader appends it;
// after a restart of the machine it is lost.
func TestQueueThatATapLeaves(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		r := Create(t.TempDir(), tap.Header{}, Options{Queue: minQueueSize})
		put(r, tap.ToServer, []byte("first\n"))
		waitFor(t, func() bool { return Stat(r.Path()).Frames == 1 })
		was := beforeCommit
		beforeCommit = func() error { return errBusy }
		put(r, tap.ToServer, []byte("second\n"))
		r.Close()
		beforeCommit = was
		want, status := "first\nsecond\n", Ended
		if restarted {
			want, status = "first\n", Cut
			f, err := os.OpenFile(r.Path()+QueueExt, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.WriteAt([]byte("another boot"), headBoot)
			f.Close()
		}
		fs := frames(t, r.Path())
		if info := Stat(r.Path()); info.Status != status || string(lane(fs, tap.ToServer)) != want {
			t.Errorf("restarted %v: %v, %q", restarted, info.Status, lane(fs, tap.ToServer))
		}
		if _, err := os.Stat(r.Path() + QueueExt); err == nil {
			t.Error("the queue is still there")
		}
	}
}

// While one program appends the queue of a killed tap, the queue is locked as if the
// tap were alive. Another program waits, and does not mistake what is there for
// everything.
func TestQueueThatAnotherProgramDrains(t *testing.T) {
	path := deadQueueOf(t, t.TempDir(), "one\ntwo\n")
	f, err := lockDead(path + QueueExt)
	if err != nil || f == nil {
		t.Fatal(f, err)
	}
	defer func(was func(context.Context)) { sleepDrain = was }(sleepDrain)
	waits := 0
	sleepDrain = func(context.Context) {
		if waits++; waits < 3 {
			return
		}
		d, err := readDead(f)
		if err == nil {
			err = d.appendTo(path)
		}
		if err != nil {
			t.Error(err)
		}
		os.Remove(path + QueueExt)
		f.Close()
	}
	if info := Stat(path); info.Status != Cut || info.Frames != 2 || waits != 3 {
		t.Errorf("%v, %d frames, after %d waits", info.Status, info.Frames, waits)
	}
}

// A program that was killed while it drained a queue leaves its mark there.
func TestQueueWhoseDrainerWasKilled(t *testing.T) {
	path := deadQueueOf(t, t.TempDir(), "one\ntwo\n")
	f, err := lockDead(path + QueueExt)
	if err != nil || f == nil {
		t.Fatal(f, err)
	}
	f.Close()
	if info := Stat(path); info.Status != Cut || info.Frames != 2 {
		t.Errorf("%v, %d frames", info.Status, info.Frames)
	}
}

// After a restart of the machine, the pages of a queue may be of any age: only what
// was committed is trusted.
func TestQueueOfAnEarlierBootIsNotTrusted(t *testing.T) {
	path := deadQueueOf(t, t.TempDir(), "one\n")
	f, err := os.OpenFile(path+QueueExt, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteAt([]byte("another boot"), headBoot)
	f.Close()
	if fs := frames(t, path); len(fs) != 0 {
		t.Errorf("frames %v", fs)
	}
	if info := Stat(path); info.Status != Cut {
		t.Errorf("status %v, want cut", info.Status)
	}
}

// Whatever the bytes of a queue are, draining it terminates.
func TestHostileQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		path := deadQueueOf(t, t.TempDir(), "one\ntwo\n")
		f, err := os.OpenFile(path+QueueExt, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + rng.IntN(4) {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], rng.Uint64()>>rng.IntN(64))
			at := int64(rng.IntN(256))
			if rng.IntN(2) == 0 {
				at = queueHead + int64(rng.IntN(4*entryBytes))
			}
			f.WriteAt(b[:1+rng.IntN(8)], at)
		}
		if rng.IntN(4) == 0 {
			f.Truncate(int64(rng.IntN(3 << 20)))
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

// The file of a killed tap's recording was removed. Its ring still names what was
// committed there, but that memory has been reused.
func TestQueueWhoseFileWasRemoved(t *testing.T) {
	path := deadQueueOf(t, t.TempDir(), "one\ntwo\n")
	f, err := os.OpenFile(path+QueueExt, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteAt([]byte{1}, headDrained)
	f.Close()
	fs := frames(t, path)
	if len(lane(fs, tap.ToServer)) != 0 || len(fs) != 1 || !bytes.Contains(fs[0].Raw, []byte("removed")) {
		t.Errorf("frames %v", fs)
	}
}

// Opening a queue that is a pipe would block forever.
func TestQueueThatIsNotAFile(t *testing.T) {
	r := Create(t.TempDir(), tap.Header{}, Options{})
	put(r, tap.ToServer, []byte("x\n"))
	r.Close()
	if err := syscall.Mkfifo(r.Path()+QueueExt, 0o600); err != nil {
		t.Fatal(err)
	}
	if info := Stat(r.Path()); info.Status != Ended || info.Frames != 1 {
		t.Errorf("%+v", info)
	}
}

// A queue that a tap holds must not be removed, however long its creation takes: the
// tap may have been stopped meanwhile.
func TestUnbornQueueThatIsHeldStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a"+Ext+QueueExt)
	q, _, err := createQueueFile(path, sampleHeader("0123abcd"), maxBlock, minBlocks)
	if err != nil {
		t.Fatal(err)
	}
	defer q.remove()
	old := time.Now().Add(-2 * newLimit)
	if err := errors.Join(os.Rename(path, path+newExt), os.Chtimes(path+newExt, old, old)); err != nil {
		t.Fatal(err)
	}
	if removeUnborn(path + newExt); !regular(path + newExt) {
		t.Error("it was removed")
	}
	q.leave()
	if removeUnborn(path + newExt); regular(path + newExt) {
		t.Error("it is still there when its tap is gone")
	}
}
