package main

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// A finding of a live recording is printed before the recording ends, and the report after the
// end or an interrupt.
func TestCheckFollow(t *testing.T) {
	t.Parallel()
	for _, interrupted := range []bool{false, true} {
		dir := t.TempDir()
		ctx, interrupt := context.WithCancel(context.Background())
		pr, pw := io.Pipe()
		code := make(chan int, 1)
		go func() {
			a, _ := testApp(map[string]string{"MCPTAP_DIR": dir})
			a.stdout = pw
			code <- a.finish(a.execute(ctx, newRoot(a), []string{"check", "-f", "@live"}), exitFailure)
			pw.Close()
		}()
		if interrupted {
			time.Sleep(50 * time.Millisecond) // so that it waits for a recording
		}
		w := newWriter(dir, 0)
		w.put(tap.ToServer, `{"jsonrpc":"2.0","id":%d,"method":"tools/list","jsonrpc":"2.0"}`+"\n")
		lines := bufio.NewScanner(pr)
		if !lines.Scan() || !strings.Contains(lines.Text(), "rpc-20    #1") {
			t.Fatalf("first line %q", lines.Text())
		}
		w.put(tap.ToServer, `{"jsonrpc":"2.0","id":7%d,"method":5}`+"\n")
		for lines.Scan() && !strings.Contains(lines.Text(), "  #2  ") {
		}
		want := exitNegative
		if interrupted {
			want = exitInterrupted
			interrupt()
		} else {
			w.rec.Close()
		}
		var report []string
		for lines.Scan() {
			report = append(report, lines.Text())
		}
		if c := <-code; c != want || !slices.ContainsFunc(report, func(line string) bool { return strings.HasPrefix(line, "Recording ") }) {
			t.Errorf("exit %d, want %d\n%s", c, want, strings.Join(report, "\n"))
		}
		interrupt()
		if interrupted {
			w.rec.Close()
		}
	}
}
