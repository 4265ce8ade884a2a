package browsertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// serve is the recorded server: it responds to each request except "never" and, until "release", "hold".
// Before the response to "flood" it sends params.n log messages, at most params.rate a second if that is
// set, each with the time at which it was written. It also writes the text of "say" to stderr.
func serve() int {
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	var held json.RawMessage
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				N, Rate int
				Text    string
			}
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method == "never" {
			continue
		}
		if m.Method == "hold" {
			held = m.ID
			continue
		}
		if m.Method == "release" {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"held":true}}`+"\n", held)
		}
		if m.Method == "say" {
			fmt.Fprintln(os.Stderr, m.Params.Text)
		}
		began := time.Now()
		for i := range m.Params.N {
			if rate := m.Params.Rate; rate > 0 && i%max(rate/200, 1) == 0 {
				out.Flush()
				time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(rate))))
			}
			fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"flood %d at %d"}}`+"\n", i, time.Now().UnixMilli())
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`+"\n", m.ID)
		out.Flush()
	}
}

// A session is a live recording, whose client is the test.
type session struct {
	t      *testing.T
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *bufio.Reader
	end    func()
	id     int
}

// record starts `mcptap stdio` in front of the server.
func record(t *testing.T, dir string, flags ...string) *session {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"stdio", "--dir", dir, "--label", "live"}, flags...)
	cmd := exec.Command(mcptap(t), append(args, "--", self, "part=server")...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, in: in, out: bufio.NewReader(out), stderr: bufio.NewReader(errs)}
	s.end = sync.OnceFunc(func() {
		in.Close()
		_ = cmd.Wait()
	})
	t.Cleanup(s.end)
	return s
}

// ask sends a request and waits for its response, unless the server never sends one.
func (s *session) ask(method, params string) {
	s.t.Helper()
	s.id++
	if _, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.id, method, params); err != nil {
		s.t.Fatal(err)
	}
	if method == "never" || method == "hold" {
		return
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		var m struct{ ID *int }
		if json.Unmarshal(line, &m) == nil && m.ID != nil && *m.ID == s.id {
			return
		}
	}
}
