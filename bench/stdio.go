//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A client uses the pipes of a process, with blocking system calls, to keep its own cost low.
type client struct {
	cmd     *exec.Cmd
	in, out *os.File
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
	in.Fd() // makes in blocking
	out.Fd()
	return c, nil
}

// overStdio returns a runner that starts the variant, sends the load, and ends the variant.
func overStdio(drive func(*bench, *client, load) (result, error)) runner {
	return func(b *bench, v variant, l load) (result, error) {
		c, err := dial(b.argv(v, ""))
		if err != nil {
			return result{}, err
		}
		res, err := drive(b, c, l)
		if err != nil {
			c.in.Close()
			c.out.Close()
			return res, errors.Join(err, c.cmd.Process.Kill())
		}
		res.memory = peakOf(c.cmd.Process.Pid)
		c.in.Close()
		if n, err := c.out.Read(make([]byte, 1)); n != 0 || err == nil {
			return res, fmt.Errorf("%d bytes after the last response", n)
		}
		c.out.Close()
		if err := c.cmd.Wait(); err != nil {
			return res, err
		}
		res.cpu = cpuOf(c.cmd)
		return res, nil
	}
}

// payloads returns messages to send in turn: up to 64, or with -fresh enough that none is repeated
// within a batch of the recorder.
func (b *bench) payloads(size, count int) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	n := min(64, max(4, (8<<20)/size))
	if b.fresh {
		n = min(count, max(4, (64<<20)/size))
	}
	out := make([][]byte, n)
	for i := range out {
		p := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`, 1000+i)
		for len(p) < size-5 {
			if b.random {
				p = append(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[rng.IntN(64)])
			} else {
				p = append(p, words[rng.IntN(len(words))]...)
			}
		}
		out[i] = append(p[:size-5], "\"}}}\n"...)
	}
	return out
}

var words = strings.SplitAfter("the file was not found in this directory please check path and try again "+
	"result of query contains rows columns value name id type error message server client request response "+
	"2026 1024 42 true false null list of items with many different words so that text looks like text ", " ")

// ask sends a line and returns the response, in buf.
func (c *client) ask(p, buf []byte) ([]byte, error) {
	done := make(chan error, 1)
	send := func() {
		_, err := c.in.Write(p)
		done <- err
	}
	if len(p) > 64<<10 { // more than the pipes hold
		go send()
	} else {
		send()
	}
	n := 0
	for n == 0 || buf[n-1] != '\n' {
		got, err := c.out.Read(buf[n:])
		if err != nil {
			return nil, fmt.Errorf("the response: %w", err)
		}
		n += got
	}
	return buf[:n], <-done
}

var errOther = errors.New("wrong response")

// start measures the time from the start of the process to the first response.
func start(b *bench, c *client, l load) (result, error) {
	p := b.payloads(l.size, 1)[0]
	got, err := c.ask(p, make([]byte, l.size))
	if err == nil && !bytes.Equal(got, p) {
		err = errOther
	}
	d := time.Since(c.began)
	return result{p50: d, p99: d, rate: 1 / d.Seconds(), sent: 1}, err
}

// ping sends one message at a time.
func ping(b *bench, c *client, l load) (result, error) {
	payloads := b.payloads(l.size, l.count)
	return c.pings(l, payloads[0], func(i int) []byte { return payloads[i%len(payloads)] },
		func(_ int, sent, got []byte) bool { return bytes.Equal(sent, got) })
}

// mockPing sends the recorded calls, one at a time.
func mockPing(_ *bench, c *client, l load) (result, error) {
	l.count = min(l.count, mockCalls)
	return c.pings(l, []byte(mockOpening+"\n"), func(i int) []byte { return append(mockCall(i), '\n') },
		func(i int, sent, got []byte) bool {
			return i%1000 > 0 || bytes.Equal(got, sent) || bytes.Equal(got[:len(got)-1], mockResponse(i))
		})
}

// pings measures round trips, except the first one, which includes the start.
func (c *client) pings(l load, first []byte, message func(i int) []byte,
	right func(i int, sent, got []byte) bool) (result, error) {
	buf := make([]byte, max(l.size, 64<<10))
	if _, err := c.ask(first, buf); err != nil {
		return result{}, err
	}
	times := make([]time.Duration, 0, l.count)
	began := time.Now()
	for i := range l.count {
		p := message(i)
		time.Sleep(l.think)
		t := time.Now()
		got, err := c.ask(p, buf)
		times = append(times, time.Since(t))
		if err == nil && !right(i, p, got) {
			err = errOther
		}
		if err != nil {
			return result{}, err
		}
	}
	res, err := timed(times, time.Since(began))
	res.sent = 1 + l.count
	return res, err
}

// pipeline keeps a number of messages in flight.
func pipeline(b *bench, c *client, l load) (result, error) {
	payloads := b.payloads(l.size, l.count)
	slots := make(chan struct{}, l.window)
	done := make(chan error, 1)
	began := time.Now()
	go func() {
		for i := range l.count {
			slots <- struct{}{}
			if _, err := c.in.Write(payloads[i%len(payloads)]); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	buf := make([]byte, 256<<10)
	for total, free := 0, 0; total < l.size*l.count; {
		n, err := c.out.Read(buf)
		if err != nil {
			return result{}, fmt.Errorf("the responses: %w", err)
		}
		total += n
		for ; free < total/l.size; free++ {
			<-slots
		}
	}
	d := time.Since(began)
	each := d / time.Duration(l.count)
	return result{p50: each, p99: each, rate: float64(l.count) / d.Seconds(), sent: l.count}, <-done
}

// mockCalls is the number of calls in the mock's recording. No client sends more, so none is
// repeated.
const mockCalls = 20000

const (
	mockOpening = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	mockOpened  = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"bench","version":"1"}}}`
)

// mockCall returns a request, and mockResponse its response, which has the same length.
func mockCall(i int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"forecast","arguments":{"day":%d,"city":"Oslo","notes":"%s"}}}`,
		100000+i, 100000+i, strings.Repeat("cloudy ", 15))
}

func mockResponse(i int) []byte {
	p := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"`, 100000+i)
	const end = `"}]}}`
	return append(append(p, bytes.Repeat([]byte{'x'}, len(mockCall(i))-len(p)-len(end))...), end...)
}

// mockRecording returns a session with all calls.
func mockRecording() []byte {
	var b bytes.Buffer
	add := func(lane string, message []byte) { fmt.Fprintf(&b, "-- %s --\n%s\n", lane, message) }
	add("to_server", []byte(mockOpening))
	add("to_client", []byte(mockOpened))
	for i := range mockCalls {
		add("to_server", mockCall(i))
		add("to_client", mockResponse(i))
	}
	return b.Bytes()
}
