//go:build unix

// Command bench measures the tap against the alternatives, in one run that takes
// them in turn. On stdio these are the server's own pipes, a bare relay made of
// two io.Copy, and the tap with its store on; over HTTP the server itself, a
// httputil.ReverseProxy that flushes at once and records nothing, and the tap
// with its store on. The mock is compared with an echo of lines, and with a handler
// that returns the same bytes. It prints a table of medians and of ratios to the relay,
// to the reverse proxy or to these; a ratio is the median of the ratios of neighbouring runs,
// so that it holds while the machine's speed drifts.
//
//	go run ./bench                 # the whole table, some minutes
//	go run ./bench -run 4KB        # the rows whose name contains 4KB
//	go run ./bench -run http       # the rows over HTTP
//	go run ./bench -run mock       # the mock
//	go run ./bench -fresh          # with payloads that do not recur
//	taskset -c 0 go run ./bench -run ping
//
// Everything runs on this machine and nothing is left behind.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "echo":
			echo()
			return
		case "relay":
			relay(os.Args[2:])
			return
		case "http-server":
			httpServer()
			return
		case "http-proxy":
			httpProxy(os.Args[2])
			return
		case "echo-lines":
			echoLines()
			return
		case "http-answer":
			httpAnswer()
			return
		}
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A variant is one way to reach the echo server.
type variant struct {
	name    string
	command func(b *bench) []string
}

var variants = []variant{
	{"direct", func(b *bench) []string { return []string{b.self, "echo"} }},
	{"relay", func(b *bench) []string { return []string{b.self, "relay", b.self, "echo"} }},
	{"tap", func(b *bench) []string {
		return []string{b.tap, "stdio", "--dir", b.dir, "--", b.self, "echo"}
	}},
}

// A row is one load.
type row struct {
	name   string
	size   int // bytes of a message, newline included
	window int // messages in flight
	think  time.Duration
	count  int // messages a run
}

var rows = []row{
	{name: "ping 200B", size: 200, window: 1, count: 20000},
	{name: "ping 4KB", size: 4 << 10, window: 1, count: 20000},
	{name: "ping 256KB", size: 256 << 10, window: 1, count: 100, think: 10 * time.Millisecond},
	{name: "ping 4MB", size: 4 << 20, window: 1, count: 15, think: 100 * time.Millisecond},
	{name: "pipe 200B", size: 200, window: 256, count: 1000000},
	{name: "pipe 500B", size: 500, window: 256, count: 600000},
	{name: "pipe 4KB", size: 4 << 10, window: 64, count: 120000},
	{name: "pipe 256KB", size: 256 << 10, window: 16, count: 2400},
	{name: "start", size: 200, window: 1, count: 1},
}

type bench struct {
	self, tap, dir string
	rounds         int
	random, fresh  bool
	scale          float64
}

func run() error {
	b := &bench{}
	only := flag.String("run", "", "only rows whose name contains this")
	flag.IntVar(&b.rounds, "rounds", 7, "how often each row is measured")
	flag.BoolVar(&b.fresh, "fresh", false, "payloads that do not recur (default: every 64 messages)")
	flag.BoolVar(&b.random, "random", false, "payloads that cannot be compressed (default: random words)")
	flag.Float64Var(&b.scale, "scale", 1, "multiplies the number of messages")
	flag.StringVar(&b.tap, "tap", "", "the mcptap binary (default: built from the module around, as the releases are)")
	flag.Parse()

	tmp, err := os.MkdirTemp("", "mcptap-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	b.dir = filepath.Join(tmp, "recordings")
	if b.tap == "" {
		b.tap = filepath.Join(tmp, "mcptap")
		build := exec.Command("go", "build", "-o", b.tap, "github.com/mcptap/mcptap/cmd/mcptap")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build mcptap: %w", err)
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	began := false
	for _, r := range rows {
		if !strings.Contains(r.name, *only) {
			continue
		}
		if !began {
			began = true
			fmt.Fprintln(w, "load\tvariant\tp50\tp99\tthroughput\tp50/relay\tp99/relay\tthroughput/relay\tpeak memory\tdisk/payload\t")
		}
		if err := b.measure(w, r); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		w.Flush()
	}
	if err := b.runHTTP(w, *only); err != nil {
		return err
	}
	return b.runMock(w, *only)
}

// A result is what one run of one variant gave.
type result struct {
	p50, p99   time.Duration
	throughput float64 // bytes a second, one way
	memory     int64   // peak resident bytes of the process that the client started
	disk       float64 // bytes on disk by payload bytes
}

// measure runs a row, the variants in turn, and prints a line for each.
func (b *bench) measure(w *tabwriter.Writer, r row) error {
	r.count = max(1, int(float64(r.count)*b.scale))
	results := make([][]result, len(variants))
	for round := range b.rounds {
		for i := range variants {
			v := (i + round) % len(variants) // nobody always runs first
			res, err := b.once(variants[v], r)
			if err != nil {
				return fmt.Errorf("%s: %w", variants[v].name, err)
			}
			results[v] = append(results[v], res)
		}
	}
	base := results[1]
	for v, rs := range results {
		pick := func(f func(result) float64) float64 { return median(rs, f) }
		ratio := func(f func(result) float64) float64 {
			var qs []result
			for i := range rs {
				qs = append(qs, result{throughput: f(rs[i]) / f(base[i])})
			}
			return median(qs, func(q result) float64 { return q.throughput })
		}
		p50 := func(r result) float64 { return float64(r.p50) }
		p99 := func(r result) float64 { return float64(r.p99) }
		through := func(r result) float64 { return r.throughput }
		fmt.Fprintf(w, "%s\t%s\t%v\t%v\t%.0f MB/s\t%.2f\t%.2f\t%.2f\t%.0f MiB\t%.2f\t\n", r.name, variants[v].name,
			time.Duration(pick(p50)).Round(100*time.Nanosecond), time.Duration(pick(p99)).Round(100*time.Nanosecond),
			pick(through)/1e6, ratio(p50), ratio(p99), ratio(through),
			pick(func(r result) float64 { return float64(r.memory) })/(1<<20),
			pick(func(r result) float64 { return r.disk }))
	}
	return nil
}

func median(rs []result, f func(result) float64) float64 {
	vs := make([]float64, len(rs))
	for i, r := range rs {
		vs[i] = f(r)
	}
	sort.Float64s(vs)
	return vs[len(vs)/2]
}

// once starts a variant, drives the load through it, and ends it. A tap's
// recording must hold every byte, or the run is an error.
func (b *bench) once(v variant, r row) (result, error) {
	os.RemoveAll(b.dir)
	c, err := dial(v.command(b))
	if err != nil {
		return result{}, err
	}
	res, err := c.drive(r, b.payloads(r))
	if err != nil {
		return res, errors.Join(err, c.kill())
	}
	res.memory = c.peak()
	if err := c.hangUp(); err != nil {
		return res, err
	}
	if v.name == "tap" {
		res.disk, err = checkRecording(b.dir, r)
	}
	return res, err
}
