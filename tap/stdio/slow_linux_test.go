package stdio

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

func TestSlowClientHoldsTheServerBack(t *testing.T) {
	const mb = 64
	tp := tapping(t, self("flood", fmt.Sprint(mb)), "rec=discard")
	in, out := tp.pipes()
	defer in.Close()
	pid := tp.serverPID()
	var before int64 = -1
	still := 0
	eventually(t, "the server to block", func() bool {
		n := written(pid)
		if n == before {
			still++
		} else {
			before, still = n, 0
		}
		return n > 0 && still > 50
	})
	if before > 8<<20 {
		t.Errorf("the server wrote %d bytes to a client that does not read", before)
	}
	if kb := residentKB(tp.Process.Pid); kb > 200<<10 {
		t.Errorf("the tap holds %d KB", kb)
	}
	h := bytes.Buffer{}
	n, err := io.Copy(&h, out)
	if n != mb<<20 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	for i, b := range h.Bytes() {
		if b != byte(i) {
			t.Fatalf("wrong byte at %d", i)
		}
	}
	if code := tp.code(); code != 0 {
		t.Errorf("status %d", code)
	}
}

// written returns how many bytes a process has written.
func written(pid int) (n int64) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	_, rest, _ := strings.Cut(string(b), "wchar: ")
	_, _ = fmt.Sscan(rest, &n)
	return n
}

// residentKB returns how much memory a process holds.
func residentKB(pid int) (kb int64) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	_, _ = fmt.Sscan(rest, &kb)
	return kb
}
