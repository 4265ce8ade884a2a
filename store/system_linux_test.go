package store

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// niceValue returns the nice value of a thread; the raw call returns 20 minus that.
func niceValue(t *testing.T, thread int) int {
	t.Helper()
	p, _, errno := syscall.RawSyscall(syscall.SYS_GETPRIORITY, syscall.PRIO_PROCESS, uintptr(thread), 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	return 20 - int(p)
}

// TestGiveWay calls GiveWay in a separate process. It must lower the priority of every
// thread, and never raise it.
func TestGiveWay(t *testing.T) {
	if os.Getenv("MCPTAP_TEST_GIVE_WAY") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestGiveWay$", "-test.v")
		cmd.Env = append(os.Environ(), "MCPTAP_TEST_GIVE_WAY=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestGiveWay") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	want := max(niceValue(t, 0), 10)
	GiveWay()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil || len(threads) < 2 {
		t.Fatal(threads, err)
	}
	for _, e := range threads {
		id := 0
		for _, c := range e.Name() {
			id = 10*id + int(c-'0')
		}
		if got := niceValue(t, id); got != want {
			t.Errorf("a thread has the nice value %d, want %d", got, want)
		}
	}
}

// The documented disk space is what the queue needs to be a file: its beginning and the reserve.
func TestDocumentedReserve(t *testing.T) {
	blockSize, _ := queueGeometry(defaultQueue)
	need := diskReserve + queueBytes(blockSize, firstBlocks)
	want := fmt.Sprintf("less than about %d MiB free on the disk", (need+1<<19)>>20)
	doc, err := os.ReadFile("../docs/transparency.md")
	if err != nil || !strings.Contains(string(doc), want) {
		t.Errorf("docs/transparency.md lacks %q (%v)", want, err)
	}
}
