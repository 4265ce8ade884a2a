//go:build unix

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// A client drives one server process over its pipes, with blocking system
// calls, so that it adds as little as it can to what it measures.
type client struct {
	cmd     *exec.Cmd
	in, out *os.File
	inFD    int
	outFD   int
	began   time.Time
}

func dial(command []string) (*client, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout = childIn, childOut
	c := &client{cmd: cmd, in: in, out: out, began: time.Now()}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	childIn.Close()
	childOut.Close()
	c.inFD, c.outFD = int(in.Fd()), int(out.Fd()) // Fd makes them blocking
	return c, nil
}

// payloads returns some messages to send in turn: up to 64, or so many that none
// recurs within any batch of the recorder's.
func (b *bench) payloads(r row) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	n := min(64, max(4, (8<<20)/r.size))
	if b.fresh {
		n = min(r.count, max(4, (64<<20)/r.size))
	}
	out := make([][]byte, n)
	for i := range out {
		p := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`, 1000+i)
		for len(p) < r.size-5 {
			if b.random {
				p = append(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[rng.IntN(64)])
			} else {
				p = append(p, words[rng.IntN(len(words))]...)
			}
		}
		p = append(p[:r.size-5], "\"}}}\n"...)
		out[i] = p
	}
	return out
}

var words = strings.SplitAfter("the file was not found in this directory please check path and try again "+
	"result of query contains rows columns value name id type error message server client request response "+
	"2026 1024 42 true false null list of items with many different words so that text looks like text ", " ")

// drive sends the row's messages and reads them all back.
func (c *client) drive(r row, payloads [][]byte) (result, error) {
	if r.name == "start" {
		return c.start(payloads[0])
	}
	if r.window == 1 {
		return c.ping(r, payloads)
	}
	return c.pipeline(r, payloads)
}

// start times from before the spawn to the first answer.
func (c *client) start(p []byte) (result, error) {
	if err := c.roundTrip(p, make([]byte, len(p))); err != nil {
		return result{}, err
	}
	d := time.Since(c.began)
	return result{p50: d, p99: d, throughput: float64(len(p)) / d.Seconds()}, nil
}

func (c *client) roundTrip(p, buf []byte) error {
	done := make(chan error, 1)
	if len(p) > 64<<10 { // more than the pipes may hold
		go func() { done <- writeAll(c.inFD, p) }()
	} else {
		done <- writeAll(c.inFD, p)
	}
	for at := 0; at < len(p); {
		n, err := c.read(buf[at:])
		if err != nil {
			return err
		}
		at += n
	}
	if !bytes.Equal(p, buf[:len(p)]) {
		return fmt.Errorf("the answer is not what was sent")
	}
	return <-done
}

func (c *client) read(p []byte) (int, error) {
	for {
		n, err := syscall.Read(c.outFD, p)
		if err == syscall.EINTR {
			continue
		}
		if err == nil && n == 0 {
			err = fmt.Errorf("the server closed its output")
		}
		return n, err
	}
}

func (c *client) ping(r row, payloads [][]byte) (result, error) {
	buf := make([]byte, r.size)
	if err := c.roundTrip(payloads[0], buf); err != nil { // not counted: the start
		return result{}, err
	}
	times := make([]time.Duration, 0, r.count)
	began := time.Now()
	for i := range r.count - 1 {
		time.Sleep(r.think)
		t := time.Now()
		if err := c.roundTrip(payloads[i%len(payloads)], buf); err != nil {
			return result{}, err
		}
		times = append(times, time.Since(t))
	}
	d := time.Since(began)
	slices.Sort(times)
	return result{
		p50: times[len(times)/2], p99: times[len(times)*99/100],
		throughput: float64(r.size*r.count) / d.Seconds(),
	}, nil
}

func (c *client) pipeline(r row, payloads [][]byte) (result, error) {
	slots := make(chan struct{}, r.window)
	done := make(chan error, 1)
	began := time.Now()
	go func() {
		for i := range r.count {
			slots <- struct{}{}
			if err := writeAll(c.inFD, payloads[i%len(payloads)]); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	buf := make([]byte, 256<<10)
	for total, free := 0, 0; total < r.size*r.count; {
		n, err := c.read(buf)
		if err != nil {
			return result{}, err
		}
		total += n
		for ; free < total/r.size; free++ {
			<-slots
		}
	}
	d := time.Since(began)
	return result{
		p50: d / time.Duration(r.count), p99: d / time.Duration(r.count),
		throughput: float64(r.size*r.count) / d.Seconds(),
	}, <-done
}

// peak is the largest resident size that the process had, 0 where it cannot be
// known.
func (c *client) peak() int64 { return peakOf(c.cmd.Process.Pid) }

func peakOf(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	line, _, _ := strings.Cut(rest, "kB")
	kb, _ := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	return kb << 10
}

func (c *client) hangUp() error {
	c.in.Close()
	if n, err := c.out.Read(make([]byte, 1)); n != 0 || err == nil {
		return fmt.Errorf("%d bytes came after the last answer", n)
	}
	c.out.Close()
	return c.cmd.Wait()
}

func (c *client) kill() error {
	c.in.Close()
	c.out.Close()
	return c.cmd.Process.Kill()
}

// checkRecording returns the bytes on disk by the bytes that crossed, after
// checking that all of them are in the recording.
func checkRecording(dir string, r row) (float64, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+store.Ext))
	if err != nil || len(files) != 1 {
		return 0, fmt.Errorf("%d recordings instead of one (%v)", len(files), err)
	}
	rec, err := store.Open(files[0])
	if err != nil {
		return 0, err
	}
	var bytes [tap.Lanes]int64
	var next uint64 = 1
	for f, err := range rec.Frames(0) {
		if err != nil {
			return 0, err
		}
		if f.Seq != next {
			return 0, fmt.Errorf("frame %d follows frame %d", f.Seq, next-1)
		}
		next++
		bytes[f.Lane] += f.Size
	}
	want := int64(r.size) * int64(r.count)
	if bytes[tap.ToServer] != want || bytes[tap.ToClient] != want {
		return 0, fmt.Errorf("%d and %d of %d bytes are in the recording", bytes[tap.ToServer], bytes[tap.ToClient], want)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(files[0], &st); err != nil {
		return 0, err
	}
	return float64(st.Size) / float64(2*want), nil
}
