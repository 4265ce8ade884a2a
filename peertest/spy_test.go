package peertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// spy runs DIR NAME COMMAND [ARG]..., passes its three streams through, and
// keeps a copy of each in DIR/NAME-<pid>/. It shares no code with the tap.
func spy(args []string) int {
	runtime.LockOSThread() // the death signal is sent when this thread ends
	dir := filepath.Join(args[0], args[1]+"-"+strconv.Itoa(os.Getpid()))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return complain(err)
	}
	signals := make(chan os.Signal, 8)
	// With a handler for SIGPIPE, the spy survives the reader of its output.
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)

	cmd := exec.Command(args[2], args[3:]...)
	cmd.SysProcAttr = dieWithParent()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return complain(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return complain(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return complain(err)
	}
	if err := cmd.Start(); err != nil {
		return complain(err)
	}
	m := spyMeta{PID: os.Getpid(), Parent: os.Getppid(), Child: cmd.Process.Pid}
	m.write(dir)
	go func() {
		for s := range signals {
			if s != syscall.SIGPIPE {
				_ = cmd.Process.Signal(s)
			}
		}
	}()

	go relay(dir, "to_server", os.Stdin, stdin)
	var out sync.WaitGroup
	out.Go(func() { relay(dir, "to_client", stdout, os.Stdout) })
	out.Go(func() { relay(dir, "stderr", stderr, os.Stderr) })
	out.Wait()
	_ = cmd.Wait()
	m.Code = exitCode(cmd.ProcessState)
	m.Done = true
	m.write(dir)
	return m.Code
}

// relay copies a lane. It writes each piece to the lane's file first.
func relay(dir, lane string, from io.Reader, to io.WriteCloser) {
	log, err := os.Create(filepath.Join(dir, lane))
	if err != nil {
		panic(err)
	}
	buf := make([]byte, 1<<20)
	broken := false
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := log.Write(buf[:n]); err != nil {
				panic(err)
			}
			if !broken {
				_, werr := to.Write(buf[:n])
				broken = werr != nil
			}
		}
		if err != nil {
			break
		}
	}
	_ = to.Close()
}

// exitCode returns the status as a shell reports it: 128+n for a signal.
func exitCode(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}

type spyMeta struct {
	PID    int  `json:"pid"`
	Parent int  `json:"parent"`
	Child  int  `json:"child"`
	Code   int  `json:"code"`
	Done   bool `json:"done"`

	dir    string
	killed bool // it is gone without having recorded how it ended
}

func (m spyMeta) write(dir string) {
	b, _ := json.Marshal(m)
	tmp := filepath.Join(dir, "meta.tmp")
	err := os.WriteFile(tmp, b, 0o644)
	if err == nil {
		err = os.Rename(tmp, filepath.Join(dir, "meta.json"))
	}
	if err != nil {
		panic(err)
	}
}

// lane returns what the spy saw of a lane.
func (m spyMeta) lane(t *testing.T, name string) []byte {
	b, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// spies reads the files of the spies with a name, once all of them have exited. A client that ends its probe
// with SIGKILL kills the spy instead.
func spies(t *testing.T, dir, name string) []spyMeta {
	t.Helper()
	read := func() (all []spyMeta, err error) {
		dirs, _ := filepath.Glob(filepath.Join(dir, name+"-*"))
		for _, d := range dirs {
			b, err := os.ReadFile(filepath.Join(d, "meta.json"))
			if err != nil {
				return nil, err
			}
			m := spyMeta{dir: d}
			if err := json.Unmarshal(b, &m); err != nil {
				return nil, err
			}
			m.killed = !m.Done && errors.Is(syscall.Kill(m.PID, 0), syscall.ESRCH)
			if !m.Done && !m.killed {
				return nil, fmt.Errorf("spy %s (pid %d) is still running", name, m.PID)
			}
			all = append(all, m)
		}
		if len(all) == 0 {
			return nil, errors.New("no spy " + name + " ran")
		}
		return all, nil
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		all, err := read()
		if err == nil {
			return all
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
