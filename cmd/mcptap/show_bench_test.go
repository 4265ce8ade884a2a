package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// BenchmarkTapBesideReaders measures how readers slow down taps: five taps record ten thousand frames a
// second each, alternately alone and while another process runs ls, show -f of all or stats repeatedly,
// or ls once. An iteration is a pair of turns of half a second. It reports the durations of recording
// ten frames, and their ratios to those without readers.
func BenchmarkTapBesideReaders(b *testing.B) {
	bin := filepath.Join(b.TempDir(), "mcptap")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	for _, args := range [][]string{{"ls"}, {"ls", "once"}, {"show", "-f"}, {"show", "-f", "--calls"}, {"stats"}} {
		b.Run(strings.Join(append([]string{"beside"}, args...), " "), func(b *testing.B) {
			dir := b.TempDir()
			var writers []*writer
			var paths []string
			for i := range taps {
				w := newWriter(dir, i)
				w.call()
				writers, paths = append(writers, w), append(paths, w.rec.Path())
			}
			switch args[0] {
			case "show":
				args = append(append([]string{"show", "-f"}, paths...), args[2:]...)
			case "stats":
				args = append(args[:1:1], dir)
			}
			most := 1 << 30
			if args[len(args)-1] == "once" {
				most, args = 1, args[:1]
			}
			alone, withReaders := []time.Duration{}, []time.Duration{}
			for b.Loop() {
				alone = append(alone, turn(writers)...)
				ctx, stop := context.WithCancel(b.Context())
				var reading sync.WaitGroup
				reading.Go(func() { repeat(ctx, most, bin, dir, args) })
				withReaders = append(withReaders, turn(writers)...)
				stop()
				reading.Wait()
			}
			for _, w := range writers {
				w.rec.Close()
			}
			report(b, alone, withReaders)
		})
	}
}

// turnTicks is the duration of a turn in milliseconds.
const turnTicks = 500

// turn lets all taps record for a while, and returns the durations that paced returns.
func turn(writers []*writer) []time.Duration {
	costs := make([][]time.Duration, len(writers))
	var writing sync.WaitGroup
	for i, w := range writers {
		writing.Go(func() { costs[i] = w.paced(turnTicks) })
	}
	writing.Wait()
	return slices.Concat(costs...)
}

// report reports the duration of ten frames with readers, and its ratio to that without.
func report(b *testing.B, alone, withReaders []time.Duration) {
	without, with := spread(alone), spread(withReaders)
	b.ReportMetric(float64(with.mean)/float64(without.mean), "x-mean")
	b.ReportMetric(float64(with.p50)/float64(without.p50), "x-p50")
	b.ReportMetric(float64(with.p99)/float64(without.p99), "x-p99")
	b.ReportMetric(float64(with.mean), "mean-ns")
	b.ReportMetric(float64(with.p50), "p50-ns")
	b.ReportMetric(float64(with.p99), "p99-ns")
	b.ReportMetric(0, "ns/op")
}

type spreading struct{ mean, p50, p99 time.Duration }

func spread(costs []time.Duration) spreading {
	slices.Sort(costs)
	var sum time.Duration
	for _, d := range costs {
		sum += d
	}
	return spreading{sum / time.Duration(len(costs)), costs[len(costs)/2], costs[len(costs)*99/100]}
}

// repeat runs a command up to a number of times, until the context ends.
func repeat(ctx context.Context, most int, bin, dir string, args []string) {
	for n := 0; n < most && ctx.Err() == nil; n++ {
		cmd := exec.CommandContext(ctx, bin, args...)
		cmd.Env = append(os.Environ(), "MCPTAP_DIR="+dir)
		_ = cmd.Run()
	}
}

// paceFrames is the number of frames that a tap records per millisecond.
const paceFrames = 10

// paced records ten thousand frames a second for a number of milliseconds, and returns the time that
// recording each millisecond's frames took.
func (w *writer) paced(ticks int) (costs []time.Duration) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range ticks {
		<-tick.C
		began := time.Now()
		for range paceFrames / 2 {
			w.call()
		}
		costs = append(costs, time.Since(began))
	}
	return costs
}

// BenchmarkShow measures the views of a recording, in frames.
func BenchmarkShow(b *testing.B) {
	frames := busy(20_000)
	path := record(b, frames)
	rec, err := store.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			for _, err := range rec.Frames(0) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		perFrame(b, frames)
	})
	for _, args := range [][]string{
		{}, {"--json"}, {"--calls"}, {"--tree"}, {"--calls", "--json"}, {"is:error"}, {"is:pending"}, {"nosuchtext"}, {"--calls", "nosuchtext"}, {"--diff"},
	} {
		b.Run(fmt.Sprint(args), func(b *testing.B) {
			for b.Loop() {
				a, _ := testApp(nil)
				a.stdout, a.stderr = io.Discard, io.Discard
				a.run(append([]string{"show", path}, args...))
			}
			perFrame(b, frames)
		})
	}
}

func perFrame(b *testing.B, frames []tap.Frame) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(frames)), "ns/frame")
}
