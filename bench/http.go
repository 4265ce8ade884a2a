//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// httpVariants are the ways to reach the server. The reverse proxy is what the
// tap is compared with.
var httpVariants = []struct {
	name    string
	command func(b *bench, server string) []string
}{
	{"direct", nil},
	{"proxy", func(b *bench, server string) []string { return []string{b.self, "http-proxy", server} }},
	{"tap", func(b *bench, server string) []string {
		return []string{b.tap, "http", "--dir", b.dir, server}
	}},
}

// An httpRow is one load.
type httpRow struct {
	name    string
	load    func(host string, r httpRow) (httpResult, error)
	size    int // bytes of a body
	clients int
	count   int // requests of each client, or events
	// cuts, where it is not nil, counts requests that were broken off. They are
	// sent again, as if nothing had been.
	cuts *atomic.Int64
}

var httpRows = []httpRow{
	{name: "http post 500B", load: posts, size: 500, clients: 1, count: 4000},
	{name: "http post 500B, 64 clients", load: posts, size: 500, clients: 64, count: 300},
	{name: "http post 256KB", load: posts, size: 256 << 10, clients: 1, count: 300},
	{name: "http post 256KB, 8 clients", load: posts, size: 256 << 10, clients: 8, count: 60},
	{name: "http post 64MB", load: posts, size: 64 << 20, clients: 1, count: 4},
	{name: "http first event", load: firstEvents, count: 1000},
	{name: "http event delay", load: eventDelays, count: 1000},
}

// An httpResult is what one run of one variant gave.
type httpResult struct {
	p50, p99 time.Duration
	rate     float64       // requests a second, 0 for streams
	memory   int64         // peak resident bytes of what stands between
	cpu      time.Duration // processor time of that, to its end
	disk     float64       // bytes on disk by bytes of bodies, both ways
	cuts     int64         // requests that were broken off and sent again
}

// runHTTP measures the rows whose name contains only.
func (b *bench) runHTTP(w *tabwriter.Writer, only string) error {
	began := false
	for _, r := range httpRows {
		if !strings.Contains(r.name, only) {
			continue
		}
		if !began {
			began = true
			fmt.Fprintln(w, "load\tvariant\tp50\tp99\trequests/s\tp50/proxy\tp99/proxy\trequests/proxy\tCPU\tpeak memory\tdisk/payload\tbroken off\t")
		}
		if err := b.measureHTTP(w, r); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		w.Flush()
	}
	return nil
}

// measureHTTP runs a row, the variants in turn, and prints a line for each.
func (b *bench) measureHTTP(w *tabwriter.Writer, r httpRow) error {
	r.count = max(1, int(float64(r.count)*b.scale))
	results := make([][]httpResult, len(httpVariants))
	for round := range b.rounds {
		for i := range httpVariants {
			v := (i + round) % len(httpVariants) // nobody always runs first
			res, err := b.onceHTTP(v, r)
			if err != nil {
				return fmt.Errorf("%s: %w", httpVariants[v].name, err)
			}
			results[v] = append(results[v], res)
		}
	}
	base := results[1]
	for v, rs := range results {
		pick := func(f func(httpResult) float64) float64 { return medianOf(rs, func(i int) float64 { return f(rs[i]) }) }
		ratio := func(f func(httpResult) float64) string {
			q := medianOf(rs, func(i int) float64 { return f(rs[i]) / f(base[i]) })
			if q != q { // there is none
				return "-"
			}
			return strconv.FormatFloat(q, 'f', 2, 64)
		}
		p50 := func(r httpResult) float64 { return float64(r.p50) }
		p99 := func(r httpResult) float64 { return float64(r.p99) }
		rate := func(r httpResult) float64 { return r.rate }
		fmt.Fprintf(w, "%s\t%s\t%v\t%v\t%.0f\t%s\t%s\t%s\t%v\t%.0f MiB\t%.2f\t%.0f\t\n", r.name, httpVariants[v].name,
			time.Duration(pick(p50)).Round(100*time.Nanosecond), time.Duration(pick(p99)).Round(100*time.Nanosecond), pick(rate),
			ratio(p50), ratio(p99), ratio(rate),
			time.Duration(pick(func(r httpResult) float64 { return float64(r.cpu) })).Round(time.Millisecond),
			pick(func(r httpResult) float64 { return float64(r.memory) })/(1<<20),
			pick(func(r httpResult) float64 { return r.disk }),
			pick(func(r httpResult) float64 { return float64(r.cuts) }))
	}
	return nil
}

func medianOf(rs []httpResult, f func(i int) float64) float64 {
	vs := make([]result, len(rs))
	for i := range rs {
		vs[i] = result{throughput: f(i)}
	}
	return median(vs, func(r result) float64 { return r.throughput })
}

// onceHTTP starts a server and a variant, and drives the load through it. A
// tap's recording must hold every body, or the run is an error.
func (b *bench) onceHTTP(v int, r httpRow) (res httpResult, err error) {
	os.RemoveAll(b.dir)
	server, line, err := launch(b.self, "http-server")
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, end(server)) }()
	var between *exec.Cmd
	if httpVariants[v].command != nil {
		argv := httpVariants[v].command(b, line)
		if between, line, err = launch(argv[0], argv[1:]...); err != nil {
			return res, err
		}
	}
	if httpVariants[v].name == "proxy" {
		// It breaks off some of the requests that are answered soon after their
		// end (golang.org/issue/40747).
		r.cuts = new(atomic.Int64)
	}
	u, err := url.Parse(line)
	if err == nil {
		res, err = r.load(u.Host, r)
	}
	if r.cuts != nil {
		res.cuts = r.cuts.Load()
	}
	if between == nil {
		return res, err
	}
	res.memory = peakOf(between.Process.Pid)
	if err := errors.Join(err, end(between)); err != nil {
		return res, err
	}
	res.cpu = between.ProcessState.UserTime() + between.ProcessState.SystemTime()
	if httpVariants[v].name == "tap" {
		res.disk, err = checkHTTPRecording(b.dir, r)
	}
	return res, err
}

// launch starts a program that prints its URL.
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

// end asks a program to end, and waits for it. A signal is how it should.
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

// checkHTTPRecording returns the bytes on disk by the bytes of the bodies, after
// checking that all of them are in the recording.
func checkHTTPRecording(dir string, r httpRow) (float64, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+store.Ext))
	if err != nil || len(files) != 1 {
		return 0, fmt.Errorf("%d recordings instead of one (%v)", len(files), err)
	}
	rec, err := store.Open(files[0])
	if err != nil {
		return 0, err
	}
	rec.SetMaxRaw(1 << 10)
	var bytes [tap.Lanes]int64
	events := 0
	for f, err := range rec.Frames(0) {
		if err != nil {
			return 0, err
		}
		bytes[f.Lane] += f.Size
		if f.Form == tap.FormEvent {
			events++
		}
	}
	payload := bytes[tap.ToServer] + bytes[tap.ToClient]
	switch want := int64(r.size) * int64(r.clients) * int64(r.count+1); {
	case r.size == 0 && events != r.count:
		return 0, fmt.Errorf("%d of %d events are in the recording", events, r.count)
	case r.size > 0 && payload != 2*want:
		return 0, fmt.Errorf("%d of %d bytes are in the recording", payload, 2*want)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(files[0], &st); err != nil {
		return 0, err
	}
	return float64(st.Size) / float64(payload), nil
}
