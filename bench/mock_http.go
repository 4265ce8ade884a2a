//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// echoLines is a server on stdio that writes each line that it reads.
func echoLines() {
	r := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		if _, err := os.Stdout.Write(line); err != nil {
			return
		}
	}
}

// httpAnswer is a server that answers every call with the same bytes.
func httpAnswer() {
	answer := mockAnswer(0)
	listenAndPrint(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		w.Header().Set("Mcp-Session-Id", "x")
		_, _ = w.Write(answer)
	}))
}

// mockPosts lets clients ask over HTTP, each in a session of its own.
func mockPosts(command []string, clients, count int) (res httpResult, err error) {
	server, line, err := launch(command[0], command[1:]...)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, end(server)) }()
	u, err := url.Parse(line)
	if err != nil {
		return res, err
	}
	asking := make([]*asking, clients)
	for i := range asking {
		if asking[i], err = begin(line, u.Host); err != nil {
			return res, err
		}
		defer asking[i].conn.Close()
	}
	var all sync.WaitGroup
	errs := make([]error, clients)
	began := time.Now()
	for i, a := range asking {
		all.Go(func() { errs[i] = a.ask(count) })
	}
	all.Wait()
	d := time.Since(began)
	var times []time.Duration
	for _, a := range asking {
		times = append(times, a.times...)
	}
	if err := errors.Join(errs...); err != nil {
		return res, err
	}
	slices.Sort(times)
	return httpResult{
		p50: times[len(times)/2], p99: times[len(times)*99/100], rate: float64(len(times)) / d.Seconds(), memory: peakOf(server.Process.Pid),
	}, nil
}

// An asking client has a connection and a session.
type asking struct {
	*httpClient
	session string
	times   []time.Duration
}

// begin opens a session.
func begin(to, host string) (*asking, error) {
	r, err := http.NewRequest("POST", to, strings.NewReader(mockOpening))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("initialize: %s, %w", res.Status, err)
	}
	c, err := dialHTTP(host)
	if err != nil {
		return nil, err
	}
	return &asking{httpClient: c, session: res.Header.Get("Mcp-Session-Id")}, nil
}

// ask asks so often, one request at a time.
func (a *asking) ask(count int) error {
	for i := range count {
		body := mockCall(i)
		request := fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"+
			"Mcp-Session-Id: %s\r\nMCP-Protocol-Version: 2025-11-25\r\nContent-Length: %d\r\n\r\n%s", a.host, a.session, len(body), body)
		t := time.Now()
		if _, err := a.conn.Write(request); err != nil {
			return err
		}
		length, err := a.head()
		if err != nil {
			return err
		}
		if length != len(body) {
			return fmt.Errorf("the answer has %d bytes, want %d", length, len(body))
		}
		if _, err := a.in.Discard(length); err != nil {
			return err
		}
		a.times = append(a.times, time.Since(t))
	}
	return nil
}
