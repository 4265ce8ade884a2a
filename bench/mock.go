//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// The mock is compared with a server that answers without a thought: on stdio with an
// echo, of lines that are as long, over HTTP with a handler that returns the same
// bytes.

// mockCalls is how many calls the recording has that is played. No client asks for as
// many, so that none is asked for again.
const mockCalls = 20000

// A mockVariant is one way to be answered.
type mockVariant struct {
	name    string
	command func(b *bench, file string) []string
}

var mockStdioVariants = []mockVariant{
	{"echo", func(b *bench, _ string) []string { return []string{b.self, "echo-lines"} }},
	{"mock", func(b *bench, file string) []string { return []string{b.tap, "mock", file} }},
}

var mockHTTPVariants = []mockVariant{
	{"handler", func(b *bench, _ string) []string { return []string{b.self, "http-answer"} }},
	{"mock", func(b *bench, file string) []string { return []string{b.tap, "mock", file, "--listen", "127.0.0.1:0"} }},
}

// A mockRow is one load.
type mockRow struct {
	name     string
	variants []mockVariant
	once     func(command []string) (httpResult, error)
}

var mockRows = []mockRow{
	{"mock stdio", mockStdioVariants, mockPings},
	{"mock http", mockHTTPVariants, func(command []string) (httpResult, error) { return mockPosts(command, 1, 8000) }},
	{"mock http, 64 clients", mockHTTPVariants, func(command []string) (httpResult, error) { return mockPosts(command, 64, 300) }},
}

// runMock measures the rows whose name contains only.
func (b *bench) runMock(w *tabwriter.Writer, only string) error {
	var rows []mockRow
	for _, r := range mockRows {
		if strings.Contains(r.name, only) {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	file := filepath.Join(filepath.Dir(b.dir), "mock.txtar")
	if err := os.WriteFile(file, mockRecording(), 0o600); err != nil {
		return err
	}
	fmt.Fprintln(w, "load\tvariant\tp50\tp99\trequests/s\tp50/first\tp99/first\trequests/first\tpeak memory\t")
	for _, r := range rows {
		if err := b.measureMock(w, r, file); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		w.Flush()
	}
	return nil
}

// measureMock runs a row, the variants in turn, and prints a line for each.
func (b *bench) measureMock(w *tabwriter.Writer, r mockRow, file string) error {
	results := make([][]httpResult, len(r.variants))
	for round := range b.rounds {
		for i := range r.variants {
			v := (i + round) % len(r.variants) // nobody always runs first
			res, err := r.once(r.variants[v].command(b, file))
			if err != nil {
				return fmt.Errorf("%s: %w", r.variants[v].name, err)
			}
			results[v] = append(results[v], res)
		}
	}
	p50 := func(r httpResult) float64 { return float64(r.p50) }
	p99 := func(r httpResult) float64 { return float64(r.p99) }
	rate := func(r httpResult) float64 { return r.rate }
	memory := func(r httpResult) float64 { return float64(r.memory) }
	for v, rs := range results {
		pick := func(f func(httpResult) float64) float64 { return medianOf(rs, func(i int) float64 { return f(rs[i]) }) }
		ratio := func(f func(httpResult) float64) float64 {
			return medianOf(rs, func(i int) float64 { return f(rs[i]) / f(results[0][i]) })
		}
		short := func(d float64) time.Duration { return time.Duration(d).Round(100 * time.Nanosecond) }
		fmt.Fprintf(w, "%s\t%s\t%v\t%v\t%.0f\t%.2f\t%.2f\t%.2f\t%.0f MiB\t\n", r.name, r.variants[v].name,
			short(pick(p50)), short(pick(p99)), pick(rate), ratio(p50), ratio(p99), ratio(rate), pick(memory)/(1<<20))
	}
	return nil
}

const (
	mockOpening = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	mockOpened  = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"bench","version":"1"}}}`
)

// mockCall is a request, mockAnswer what is answered: as many bytes as it.
func mockCall(i int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"forecast","arguments":{"day":%d,"city":"Oslo","notes":"%s"}}}`,
		100000+i, 100000+i, strings.Repeat("cloudy ", 15))
}

func mockAnswer(i int) []byte {
	p := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"`, 100000+i)
	const end = `"}]}}`
	return append(append(p, bytes.Repeat([]byte{'x'}, len(mockCall(i))-len(p)-len(end))...), end...)
}

// mockRecording is a session in which each call is made once.
func mockRecording() []byte {
	var b bytes.Buffer
	say := func(lane string, message []byte) { fmt.Fprintf(&b, "-- %s --\n%s\n", lane, message) }
	say("to_server", []byte(mockOpening))
	say("to_client", []byte(mockOpened))
	for i := range mockCalls {
		say("to_server", mockCall(i))
		say("to_client", mockAnswer(i))
	}
	return b.Bytes()
}

// mockPings lets one client ask on stdio, one request at a time.
func mockPings(command []string) (res httpResult, err error) {
	c, err := dial(command)
	if err != nil {
		return res, err
	}
	buf := make([]byte, 64<<10)
	ask := func(message []byte) error {
		if err := writeAll(c.inFD, message); err != nil {
			return err
		}
		for n := 0; n == 0 || buf[n-1] != '\n'; {
			got, err := c.read(buf[n:])
			if err != nil {
				return err
			}
			n += got
		}
		return nil
	}
	if err := ask([]byte(mockOpening + "\n")); err != nil { // not counted: the start
		return res, errors.Join(err, c.kill())
	}
	times := make([]time.Duration, 0, mockCalls)
	began := time.Now()
	for i := range mockCalls {
		message := append(mockCall(i), '\n')
		t := time.Now()
		if err := ask(message); err != nil {
			return res, errors.Join(err, c.kill())
		}
		times = append(times, time.Since(t))
		if got := buf[:len(message)-1]; i%1000 == 0 && !bytes.Equal(got, mockAnswer(i)) && !bytes.Equal(got, mockCall(i)) {
			return res, errors.Join(fmt.Errorf("the answer is %s", got), c.kill())
		}
	}
	d := time.Since(began)
	slices.Sort(times)
	res = httpResult{p50: times[len(times)/2], p99: times[len(times)*99/100], rate: mockCalls / d.Seconds(), memory: c.peak()}
	return res, c.hangUp()
}
