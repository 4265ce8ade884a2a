//go:build unix

// Command bench measures the tap and its alternatives in turn. On stdio these are the server's
// own pipes, a bare relay of two io.Copy, and the tap with its store; over HTTP the server
// itself, a httputil.ReverseProxy that flushes immediately and records nothing, and the tap with
// its store. The mock is compared with servers that echo what they receive, which is as long as
// the mock's responses.
//
// It prints a table of medians, and of ratios to the baseline (the relay, the reverse proxy or the
// echo server), marked with a star. A ratio is the median of the ratios of neighbouring runs, so
// that it is robust against changes of the machine's speed.
//
//	go run ./bench                 # the whole table, in a few minutes
//	go run ./bench -run 4KB        # the rows whose name contains 4KB
//	go run ./bench -run http       # the rows over HTTP
//	go run ./bench -run mock       # the mock
//	go run ./bench -fresh          # without repeated payloads
//	taskset -c 0 go run ./bench -run ping
//
// Everything runs on this machine; temporary files are removed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// A load is a row of the table, with a line for each variant.
type load struct {
	name     string
	variants []variant
	run      runner
	size     int // of a message or body, in bytes
	count    int // messages of a run, requests of each client, or events
	window   int // messages in flight
	think    time.Duration
	clients  int
}

// A runner runs a load once, through a variant.
type runner func(*bench, variant, load) (result, error)

// A variant is a way to reach a server. In its command, SELF is this program, TAP is mcptap, DIR
// the directory for recordings, FILE the recording of the mock, and URL the URL of an HTTP server,
// which is started first. Ratios are relative to the base variant.
type variant struct {
	name, command string
	base          bool
}

var (
	relayed = []variant{
		{"direct", "SELF echo", false}, {"relay", "SELF relay SELF echo", true}, {"tap", "TAP stdio --dir DIR -- SELF echo", false},
	}
	proxied = []variant{
		{"direct", "SELF http-server", false}, {"proxy", "SELF http-proxy URL", true}, {"tap", "TAP http --dir DIR URL", false},
	}
	mocked = []variant{{"echo", "SELF echo", true}, {"mock", "TAP mock FILE", false}}
	served = []variant{{"handler", "SELF http-server", true}, {"mock", "TAP mock FILE --listen 127.0.0.1:0", false}}
)

var loads = []load{
	{name: "ping 200B", variants: relayed, run: overStdio(ping), size: 200, count: 20000},
	{name: "ping 4KB", variants: relayed, run: overStdio(ping), size: 4 << 10, count: 20000},
	{name: "ping 256KB", variants: relayed, run: overStdio(ping), size: 256 << 10, count: 100, think: 10 * time.Millisecond},
	{name: "ping 4MB", variants: relayed, run: overStdio(ping), size: 4 << 20, count: 15, think: 100 * time.Millisecond},
	{name: "pipe 200B", variants: relayed, run: overStdio(pipeline), size: 200, window: 256, count: 1000000},
	{name: "pipe 500B", variants: relayed, run: overStdio(pipeline), size: 500, window: 256, count: 600000},
	{name: "pipe 4KB", variants: relayed, run: overStdio(pipeline), size: 4 << 10, window: 64, count: 120000},
	{name: "pipe 256KB", variants: relayed, run: overStdio(pipeline), size: 256 << 10, window: 16, count: 2400},
	{name: "start", variants: relayed, run: overStdio(start), size: 200, count: 1},
	{name: "http post 500B", variants: proxied, run: overHTTP(posts), size: 500, clients: 1, count: 4000},
	{name: "http post 500B, 64 clients", variants: proxied, run: overHTTP(posts), size: 500, clients: 64, count: 300},
	{name: "http post 256KB", variants: proxied, run: overHTTP(posts), size: 256 << 10, clients: 1, count: 300},
	{name: "http post 256KB, 8 clients", variants: proxied, run: overHTTP(posts), size: 256 << 10, clients: 8, count: 60},
	{name: "http post 64MB", variants: proxied, run: overHTTP(posts), size: 64 << 20, clients: 1, count: 4},
	{name: "http first event", variants: proxied, run: overHTTP(firstEvents), count: 1000},
	{name: "http event delay", variants: proxied, run: overHTTP(eventDelays), count: 1000},
	{name: "mock stdio", variants: mocked, run: overStdio(mockPing), count: mockCalls},
	{name: "mock http", variants: served, run: overHTTP(mockPosts), clients: 1, count: 8000},
	{name: "mock http, 64 clients", variants: served, run: overHTTP(mockPosts), clients: 64, count: 300},
}

// A result is the result of one run of a variant. Values that do not apply are 0.
type result struct {
	p50, p99 time.Duration
	rate     float64       // messages or requests a second, one way
	memory   int64         // peak resident bytes of the variant's process
	cpu      time.Duration // total CPU time of that process
	disk     float64       // bytes on disk for each payload byte, in both directions
	cuts     int64         // requests that were aborted and sent again
	sent     int           // messages, to check the recording
}

// timed summarizes round trips that took d together.
func timed(times []time.Duration, d time.Duration) (result, error) {
	if len(times) == 0 {
		return result{}, errors.New("no measurements")
	}
	slices.Sort(times)
	return result{p50: times[len(times)/2], p99: times[len(times)*99/100], rate: float64(len(times)) / d.Seconds()}, nil
}

type bench struct {
	self, tap, dir, file string
	rounds               int
	random, fresh        bool
	scale                float64
}

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
		}
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	b := &bench{}
	only := flag.String("run", "", "only rows whose name contains this text")
	flag.IntVar(&b.rounds, "rounds", 7, "runs of each row")
	flag.BoolVar(&b.fresh, "fresh", false, "do not repeat payloads (default: after 64 messages)")
	flag.BoolVar(&b.random, "random", false, "incompressible payloads (default: random words)")
	flag.Float64Var(&b.scale, "scale", 1, "multiply the number of messages")
	flag.StringVar(&b.tap, "tap", "", "the mcptap binary (default: built from this module)")
	flag.Parse()

	tmp, err := os.MkdirTemp("", "mcptap-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	b.dir, b.file = filepath.Join(tmp, "recordings"), filepath.Join(tmp, "mock.txtar")
	if err := os.WriteFile(b.file, mockRecording(), 0o600); err != nil {
		return err
	}
	if b.tap == "" {
		b.tap = filepath.Join(tmp, "mcptap")
		build := exec.Command("go", "build", "-o", b.tap, "github.com/mcptap/mcptap/cmd/mcptap")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build mcptap: %w", err)
		}
	}
	fmt.Printf(line, "load", "variant", "p50", "p99", "per second", "MB/s", "p50/*", "p99/*", "rate/*",
		"CPU", "memory", "disk/payload", "cut off")
	for _, l := range loads {
		if !strings.Contains(l.name, *only) {
			continue
		}
		if err := b.measure(l); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

// line is the format of a line of the table.
const line = "%-26s  %-8s  %10v  %10v  %10s  %5s  %5s  %5s  %6s  %6v  %7s  %12s  %10s\n"

// measure runs the variants of a load in turn, and prints a line for each.
func (b *bench) measure(l load) error {
	l.count = max(1, int(float64(l.count)*b.scale))
	results := make([][]result, len(l.variants))
	for round := range b.rounds {
		for i := range l.variants {
			v := (i + round) % len(l.variants) // rotate the first one
			os.RemoveAll(b.dir)
			res, err := l.run(b, l.variants[v], l)
			if err == nil && l.variants[v].name == "tap" {
				res.disk, err = checkRecording(b.dir, l, res.sent)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", l.variants[v].name, err)
			}
			results[v] = append(results[v], res)
		}
	}
	base := slices.IndexFunc(l.variants, func(v variant) bool { return v.base })
	p50 := func(r result) float64 { return float64(r.p50) }
	p99 := func(r result) float64 { return float64(r.p99) }
	rate := func(r result) float64 { return r.rate }
	for v, rs := range results {
		pick := func(f func(result) float64) float64 {
			return median(b.rounds, func(i int) float64 { return f(rs[i]) })
		}
		ratio := func(f func(result) float64) string {
			return number(median(b.rounds, func(i int) float64 { return f(rs[i]) / f(results[base][i]) }), 2, "")
		}
		name := l.variants[v].name
		if v == base {
			name += "*"
		}
		fmt.Printf(line, l.name, name,
			time.Duration(pick(p50)).Round(100*time.Nanosecond), time.Duration(pick(p99)).Round(100*time.Nanosecond),
			number(pick(rate), 0, ""), number(pick(rate)*float64(l.size)/1e6, 0, ""), ratio(p50), ratio(p99), ratio(rate),
			time.Duration(pick(func(r result) float64 { return float64(r.cpu) })).Round(time.Millisecond),
			number(pick(func(r result) float64 { return float64(r.memory) })/(1<<20), 0, " MiB"),
			number(pick(func(r result) float64 { return r.disk }), 2, ""),
			number(pick(func(r result) float64 { return float64(r.cuts) }), 0, ""))
	}
	return nil
}

func median(n int, f func(i int) float64) float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = f(i)
	}
	slices.Sort(all)
	return all[n/2]
}

// number formats a value, or "-" if it does not apply.
func number(v float64, digits int, unit string) string {
	if v != v || v == 0 {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + unit
}

// argv returns the command of a variant.
func (b *bench) argv(v variant, url string) []string {
	all := strings.Fields(v.command)
	for i, word := range all {
		switch word {
		case "SELF":
			all[i] = b.self
		case "TAP":
			all[i] = b.tap
		case "DIR":
			all[i] = b.dir
		case "FILE":
			all[i] = b.file
		case "URL":
			all[i] = url
		}
	}
	return all
}

// peakOf returns the peak resident size of a process, 0 if it is unknown.
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

func cpuOf(cmd *exec.Cmd) time.Duration {
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// checkRecording checks that the recording has every byte of sent messages in each direction, or
// every event. It returns the bytes on disk per recorded byte.
func checkRecording(dir string, l load, sent int) (float64, error) {
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
	var next uint64 = 1
	events := 0
	for f, err := range rec.Frames(0) {
		if err != nil {
			return 0, err
		}
		if f.Seq != next {
			return 0, fmt.Errorf("frame %d follows frame %d", f.Seq, next-1)
		}
		next++
		bytes[f.Lane] += f.Size
		if f.Form == tap.FormEvent {
			events++
		}
	}
	want := int64(l.size) * int64(sent)
	switch {
	case l.size == 0 && events != l.count:
		return 0, fmt.Errorf("the recording has %d of %d events", events, l.count)
	case l.size > 0 && (bytes[tap.ToServer] != want || bytes[tap.ToClient] != want || events > 0):
		return 0, fmt.Errorf("the recording has %d and %d of %d bytes", bytes[tap.ToServer], bytes[tap.ToClient], want)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / float64(bytes[tap.ToServer]+bytes[tap.ToClient]), nil
}
