//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// overHTTP returns a runner that starts the server, if the variant needs one, and the variant,
// and sends the load.
func overHTTP(drive func(host string, l load, cuts *atomic.Int64) (result, error)) runner {
	return func(b *bench, v variant, l load) (res result, err error) {
		var line string
		if strings.Contains(v.command, "URL") {
			var server *exec.Cmd
			if server, line, err = launch(b.self, "http-server"); err != nil {
				return res, err
			}
			defer func() { err = errors.Join(err, end(server)) }()
		}
		argv := b.argv(v, line)
		p, line, err := launch(argv[0], argv[1:]...)
		if err != nil {
			return res, err
		}
		var cuts *atomic.Int64
		if v.name == "proxy" {
			// The reverse proxy aborts some requests with an early response (golang.org/issue/40747).
			// They are sent again.
			cuts = new(atomic.Int64)
		}
		u, err := url.Parse(line)
		if err == nil {
			res, err = drive(u.Host, l, cuts)
		}
		if cuts != nil {
			res.cuts = cuts.Load()
		}
		res.memory = peakOf(p.Process.Pid)
		if err := errors.Join(err, end(p)); err != nil {
			return res, err
		}
		res.cpu = cpuOf(p)
		return res, nil
	}
}

// launch starts a program and returns the URL that it prints.
func launch(name string, args ...string) (*exec.Cmd, string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("%s: %w", name, err), end(cmd))
	}
	return cmd, strings.TrimSpace(line), nil
}

// end stops a program with SIGTERM and waits for it.
func end(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := cmd.Wait()
	ws, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() && ws.Signal() == syscall.SIGTERM || ws.ExitStatus() == 128+int(syscall.SIGTERM) {
		return nil
	}
	return err
}

// An httpClient is one connection. It writes prepared requests, to keep its own cost low.
type httpClient struct {
	conn    net.Conn
	in      *bufio.Reader
	host    string
	session string
}

func dialHTTP(host string) (*httpClient, error) {
	c, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	return &httpClient{c, bufio.NewReaderSize(c, 64<<10), host, "3f1c9a52-7d51-4a37-9c55-0c0b9f6d1a11"}, nil
}

// post makes a request with a JSON-RPC message.
func (c *httpClient) post(body []byte) []byte {
	return fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAccept: application/json, text/event-stream\r\n"+
		"Content-Type: application/json\r\nMcp-Session-Id: %s\r\nMCP-Protocol-Version: 2025-11-25\r\n"+
		"User-Agent: bench\r\nContent-Length: %d\r\n\r\n%s", c.host, c.session, len(body), body)
}

// open makes the request that opens a session.
func (c *httpClient) open() []byte {
	return fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		c.host, len(mockOpening), mockOpening)
}

// ask sends a request and reads a response whose body has the given size. If buf is set, it
// compares the bodies.
func (c *httpClient) ask(request []byte, size int, buf []byte) error {
	done := make(chan error, 1)
	send := func() {
		_, err := c.conn.Write(request)
		done <- err
	}
	if len(request) > 64<<10 { // more than the buffers in between hold
		go send()
	} else {
		send()
	}
	resp, err := c.response()
	switch {
	case err != nil:
	case resp.ContentLength != int64(size):
		err = fmt.Errorf("the response has %d bytes, want %d", resp.ContentLength, size)
	case buf == nil:
		_, err = c.in.Discard(size)
	}
	for rest := request[len(request)-size:]; err == nil && buf != nil && len(rest) > 0; {
		n := min(len(rest), len(buf))
		if _, err = io.ReadFull(c.in, buf[:n]); err == nil && !bytes.Equal(buf[:n], rest[:n]) {
			err = errOther
		}
		rest = rest[n:]
	}
	return errors.Join(err, <-done)
}

// insist sends a request. If cuts is set, it retries on new connections until it has a response.
func (c *httpClient) insist(request []byte, size int, buf []byte, cuts *atomic.Int64) error {
	err := c.ask(request, size, buf)
	for ; err != nil && cuts != nil; err = c.ask(request, size, buf) {
		cuts.Add(1)
		c.conn.Close()
		other, err := dialHTTP(c.host)
		if err != nil {
			return err
		}
		c.conn, c.in = other.conn, other.in
	}
	return err
}

// response reads the head of a response.
func (c *httpClient) response() (*http.Response, error) {
	resp, err := http.ReadResponse(c.in, nil)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the response is %s", resp.Status)
	}
	return resp, err
}

// posts runs clients that post the same body repeatedly.
func posts(host string, l load, cuts *atomic.Int64) (result, error) {
	body := (&bench{}).payloads(l.size+1, 1)[0][:l.size] // without the newline
	return together(host, l, func(c *httpClient) (func(int) error, error) {
		request, buf := c.post(body), make([]byte, 64<<10)
		ask := func(int) error { return c.insist(request, l.size, buf, cuts) }
		return ask, ask(0) // not counted: the connection
	})
}

// mockPosts runs clients that repeat the recorded calls, each in its own session.
func mockPosts(host string, l load, _ *atomic.Int64) (result, error) {
	l.count = min(l.count, mockCalls)
	return together(host, l, func(c *httpClient) (func(int) error, error) {
		if _, err := c.conn.Write(c.open()); err != nil {
			return nil, err
		}
		resp, err := c.response()
		if err != nil {
			return nil, err
		}
		c.session = resp.Header.Get("Mcp-Session-Id")
		_, err = io.Copy(io.Discard, resp.Body)
		requests := make([][]byte, l.count)
		for i := range requests {
			requests[i] = c.post(mockCall(i))
		}
		return func(i int) error { return c.ask(requests[i], len(mockCall(0)), nil) }, err
	})
}

// together runs concurrent clients with one request at a time.
func together(host string, l load, prepare func(*httpClient) (func(i int) error, error)) (result, error) {
	var all sync.WaitGroup
	times, errs := make([][]time.Duration, l.clients), make([]error, l.clients)
	begin := make(chan struct{})
	for n := range l.clients {
		c, err := dialHTTP(host)
		if err != nil {
			return result{}, err
		}
		defer func() { c.conn.Close() }() // insist may have replaced conn
		ask, err := prepare(c)
		if err != nil {
			return result{}, err
		}
		all.Go(func() {
			<-begin
			own := make([]time.Duration, 0, l.count)
			for i := 0; i < l.count && errs[n] == nil; i++ {
				t := time.Now()
				errs[n] = ask(i)
				own = append(own, time.Since(t))
			}
			times[n] = own
		})
	}
	began := time.Now()
	close(begin)
	all.Wait()
	d := time.Since(began)
	if err := errors.Join(errs...); err != nil {
		return result{}, err
	}
	var sum []time.Duration
	for _, own := range times {
		sum = append(sum, own...)
	}
	res, err := timed(sum, d)
	res.sent = l.clients * (l.count + 1)
	return res, err
}

// firstEvents measures the time from a request to the first event, on an open connection.
func firstEvents(host string, l load, _ *atomic.Int64) (result, error) {
	return events(host, func(c *httpClient, add func(time.Duration)) error {
		for i := range l.count {
			t := time.Now()
			err := c.stream(1, 0, func(time.Duration) {
				if i > 0 { // not counted: the connection
					add(time.Since(t))
				}
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// eventDelays measures the delay of each event of a stream. Server and client share the clock.
func eventDelays(host string, l load, _ *atomic.Int64) (result, error) {
	return events(host, func(c *httpClient, add func(time.Duration)) error {
		return c.stream(l.count, 2*time.Millisecond, add)
	})
}

func events(host string, read func(c *httpClient, add func(time.Duration)) error) (result, error) {
	c, err := dialHTTP(host)
	if err != nil {
		return result{}, err
	}
	defer c.conn.Close()
	var times []time.Duration
	if err := read(c, func(d time.Duration) { times = append(times, d) }); err != nil {
		return result{}, err
	}
	res, err := timed(times, time.Second)
	res.rate = 0
	return res, err
}

// stream requests a stream of events, reads it to the end, and passes the age of each event to add.
func (c *httpClient) stream(n int, pause time.Duration, add func(age time.Duration)) error {
	_, err := fmt.Fprintf(c.conn, "GET /mcp?events=%d&pause=%v HTTP/1.1\r\nHost: %s\r\n"+
		"Accept: text/event-stream\r\nUser-Agent: bench\r\n\r\n", n, pause, c.host)
	if err != nil {
		return err
	}
	resp, err := c.response()
	if err != nil {
		return err
	}
	seen := 0
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		_, data, ok := strings.Cut(lines.Text(), `"data":"`)
		if !ok {
			continue
		}
		stamp, _, _ := strings.Cut(data, `"`)
		ns, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			return err
		}
		add(time.Since(time.Unix(0, ns)))
		seen++
	}
	if err := lines.Err(); err != nil || seen != n {
		return fmt.Errorf("%d of %d events received (%v)", seen, n, err)
	}
	return nil
}
