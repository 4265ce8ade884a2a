package peertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestKilledAnywhere kills the tap with SIGKILL at a random moment of heavy traffic, 100 times on stdio
// and 100 times over HTTP. Everything that either peer has received is in the recording, which every
// command can read.
func TestKilledAnywhere(t *testing.T) {
	n := 100
	if sampled(t) {
		n = 3
	}
	for i := range n {
		t.Run(fmt.Sprintf("stdio/%d", i), killStdio)
		t.Run(fmt.Sprintf("http/%d", i), killHTTP)
	}
}

// pinged returns the n-th request, with a random length.
func pinged(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"n":"%0*d"}}`, n, 1+rand.IntN(1<<(4+rand.IntN(12))), n)
}

// afterAWhile kills a process.
func afterAWhile(cmd *exec.Cmd) {
	time.AfterFunc(time.Duration(rand.IntN(150))*time.Millisecond, func() { _ = cmd.Process.Kill() })
}

// killStdio uses cat as the server: what the client gets back was forwarded to the server.
func killStdio(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(tapBinary(t), "stdio", "--dir", dir, "--", "cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for n := 0; ; n++ {
			if _, err := io.WriteString(in, pinged(n)+"\n"); err != nil {
				return
			}
		}
	}()
	first := make([]byte, 1) // before the first byte there may be no recording
	_, err = io.ReadFull(out, first)
	if err != nil {
		t.Fatal(err)
	}
	afterAWhile(cmd)
	rest, _ := io.ReadAll(out)
	_ = cmd.Wait()
	seen := append(first, rest...)
	lanes := recordedLanes(t, dir)
	for _, lane := range []string{"to_server", "to_client"} {
		if !bytes.HasPrefix(lanes[lane], seen) {
			t.Errorf("%s: %d bytes are recorded, %d were sent", lane, len(lanes[lane]), len(seen))
		}
	}
}

// killHTTP uses a server that responds on streams, and four clients.
func killHTTP(t *testing.T) {
	var mu sync.Mutex
	var asked, answered []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		mu.Lock()
		asked = append(asked, string(b))
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "id: %d\ndata: %s\n\n", i, b)
			w.(http.Flusher).Flush()
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	tap := tapHTTP(t, dir, server.URL+"/mcp")
	var clients sync.WaitGroup
	for c := range 4 {
		clients.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			for n := 0; ; n++ {
				res, err := client.Post(tap.line, "application/json", strings.NewReader(pinged(4*n+c)))
				if err != nil {
					return
				}
				for lines := bufio.NewScanner(res.Body); lines.Scan(); {
					if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && strings.HasSuffix(data, "}}") {
						mu.Lock()
						answered = append(answered, data)
						mu.Unlock()
					}
				}
				_ = res.Body.Close()
			}
		})
	}
	afterAWhile(tap.cmd)
	<-tap.read
	clients.Wait()
	server.Close()
	lanes := recordedLanes(t, dir)
	for lane, messages := range map[string][]string{"to_server": asked, "to_client": answered} {
		for _, m := range messages {
			if !bytes.Contains(lanes[lane], []byte(m)) {
				t.Fatalf("%s: of %d messages, one is not recorded: %s", lane, len(messages), m)
			}
		}
	}
}

// onlyRecording returns the path of the only recording in a directory. A tap that was killed may not
// have created the file yet: then the recording is in the queue.
func onlyRecording(t *testing.T, dir string) string {
	t.Helper()
	var info struct{ Path string }
	if err := json.Unmarshal(output(t, "ls", "--json", "--dir", dir), &info); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, filepath.Base(info.Path))
}

// recordedLanes exports the only recording in a directory.
func recordedLanes(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	lanes, next := map[string][]byte{}, uint64(1)
	for line := range bytes.Lines(output(t, "export", onlyRecording(t, dir))) {
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		if f.Type != "frame" {
			continue
		}
		if f.Seq != next {
			t.Fatalf("frame %d comes where %d is due", f.Seq, next)
		}
		next++
		lanes[f.Lane] = append(lanes[f.Lane], f.bytes()...)
	}
	return lanes
}
