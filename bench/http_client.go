//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An httpClient is one connection. It writes requests that were made before and
// reads as little of the responses as it can, so that it adds as little as it can
// to what it measures.
type httpClient struct {
	conn net.Conn
	in   *bufio.Reader
	host string
}

func dialHTTP(host string) (*httpClient, error) {
	c, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	return &httpClient{c, bufio.NewReaderSize(c, 64<<10), host}, nil
}

// post makes a request with a JSON-RPC message of a size.
func (c *httpClient) post(body []byte) []byte {
	head := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"+
		"Mcp-Session-Id: 3f1c9a52-7d51-4a37-9c55-0c0b9f6d1a11\r\nMCP-Protocol-Version: 2025-11-25\r\nUser-Agent: bench\r\nContent-Length: %d\r\n\r\n", c.host, len(body))
	return append([]byte(head), body...)
}

// roundTrip sends a request whose body comes back.
func (c *httpClient) roundTrip(request []byte, size int, buf []byte) error {
	if len(request) > 64<<10 { // more than what lies between may hold
		done := make(chan error, 1)
		go func() {
			_, err := c.conn.Write(request)
			done <- err
		}()
		return errors.Join(c.response(request, size, buf), <-done)
	}
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	return c.response(request, size, buf)
}

func (c *httpClient) response(request []byte, size int, buf []byte) error {
	length, err := c.head()
	if err != nil {
		return err
	}
	if length != size {
		return fmt.Errorf("the answer has %d bytes, want %d", length, size)
	}
	for rest := request[len(request)-size:]; len(rest) > 0; {
		n := min(len(rest), len(buf))
		if _, err := io.ReadFull(c.in, buf[:n]); err != nil {
			return err
		}
		if !bytes.Equal(buf[:n], rest[:n]) {
			return errors.New("the answer is not what was sent")
		}
		rest = rest[n:]
	}
	return nil
}

// insist sends a request, where r counts those that were broken off until it is
// answered.
func (c *httpClient) insist(request, buf []byte, r httpRow) error {
	err := c.roundTrip(request, r.size, buf)
	for ; err != nil && r.cuts != nil; err = c.again(request, r.size, buf) {
		r.cuts.Add(1)
	}
	return err
}

// again sends a request on another connection.
func (c *httpClient) again(request []byte, size int, buf []byte) error {
	c.conn.Close()
	other, err := dialHTTP(c.host)
	if err != nil {
		return err
	}
	*c = *other
	return c.roundTrip(request, size, buf)
}

// head reads the head of a response and returns the length of its body, -1 where
// it does not say.
func (c *httpClient) head() (length int, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
		return 0, fmt.Errorf("the answer is %q", line)
	}
	for length = -1; ; {
		line, err := c.in.ReadSlice('\n')
		switch {
		case err != nil:
			return 0, err
		case len(line) <= 2:
			return length, nil
		case len(line) > 15 && bytes.EqualFold(line[:15], []byte("content-length:")):
			if length, err = strconv.Atoi(textproto.TrimString(string(line[15:]))); err != nil {
				return 0, err
			}
		}
	}
}

// posts lets clients post one after the other, all at once.
func posts(host string, r httpRow) (res httpResult, err error) {
	body := (&bench{}).payloads(row{size: r.size + 1})[0]
	body = body[:r.size] // without the newline
	var mu sync.Mutex
	var times []time.Duration
	var all sync.WaitGroup
	errs := make(chan error, r.clients)
	begin := make(chan struct{})
	for range r.clients {
		c, err := dialHTTP(host)
		if err != nil {
			return res, err
		}
		defer func() { c.conn.Close() }() // which may be another one by then
		request, buf := c.post(body), make([]byte, 64<<10)
		if err := c.insist(request, buf, r); err != nil { // not counted: the connection
			return res, err
		}
		all.Go(func() {
			<-begin
			own := make([]time.Duration, 0, r.count)
			for range r.count {
				t := time.Now()
				if err := c.insist(request, buf, r); err != nil {
					errs <- err
					return
				}
				own = append(own, time.Since(t))
			}
			mu.Lock()
			defer mu.Unlock()
			times = append(times, own...)
		})
	}
	began := time.Now()
	close(begin)
	all.Wait()
	d := time.Since(began)
	select {
	case err := <-errs:
		return res, err
	default:
	}
	slices.Sort(times)
	return httpResult{p50: times[len(times)/2], p99: times[len(times)*99/100], rate: float64(len(times)) / d.Seconds()}, nil
}

// firstEvents times how long the first event of a stream takes, from the request,
// on a connection that is there already.
func firstEvents(host string, r httpRow) (httpResult, error) {
	c, err := dialHTTP(host)
	if err != nil {
		return httpResult{}, err
	}
	defer c.conn.Close()
	var times []time.Duration
	for i := range r.count {
		t := time.Now()
		err := c.stream(1, 0, func(time.Duration) {
			if i > 0 { // not counted: the connection
				times = append(times, time.Since(t))
			}
		})
		if err != nil {
			return httpResult{}, err
		}
	}
	return summarised(times)
}

// eventDelays times how long each event of a stream is on its way. Server and
// client read the same clock.
func eventDelays(host string, r httpRow) (httpResult, error) {
	c, err := dialHTTP(host)
	if err != nil {
		return httpResult{}, err
	}
	defer c.conn.Close()
	var times []time.Duration
	if err := c.stream(r.count, 2*time.Millisecond, func(d time.Duration) { times = append(times, d) }); err != nil {
		return httpResult{}, err
	}
	return summarised(times)
}

func summarised(times []time.Duration) (httpResult, error) {
	if len(times) == 0 {
		return httpResult{}, errors.New("no event came")
	}
	slices.Sort(times)
	return httpResult{p50: times[len(times)/2], p99: times[len(times)*99/100]}, nil
}

// stream asks for a stream of events, reads it to its end, and says of each event
// how long ago it was written.
func (c *httpClient) stream(n int, pause time.Duration, event func(age time.Duration)) error {
	_, err := fmt.Fprintf(c.conn, "GET /mcp?events=%d&pause=%v HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nUser-Agent: bench\r\n\r\n", n, pause, c.host)
	if err != nil {
		return err
	}
	if _, err := c.head(); err != nil {
		return err
	}
	seen, last := 0, false
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return err
		}
		if _, data, ok := strings.Cut(line, `"data":"`); ok {
			written, _, _ := strings.Cut(data, `"`)
			ns, err := strconv.ParseInt(written, 10, 64)
			if err != nil {
				return err
			}
			event(time.Since(time.Unix(0, ns)))
			seen++
		}
		switch {
		case line == "0\r\n":
			last = true // of the chunks
		case last && seen != n:
			return fmt.Errorf("%d of %d events came", seen, n)
		case last:
			return nil
		}
	}
}
