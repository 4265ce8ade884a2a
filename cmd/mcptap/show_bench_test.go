package main

import (
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

// BenchmarkTapBesideReaders measures what looking at recordings costs the taps
// that make them: five of them record ten thousand frames a second each, while
// nobody looks, and while another process runs ls, show -f of all or stats
// without a pause. The figures are what ten frames cost a tap, from asking for
// room until they are handed over.
func BenchmarkTapBesideReaders(b *testing.B) {
	bin := filepath.Join(b.TempDir(), "mcptap")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	for _, args := range [][]string{nil, {"ls"}, {"show", "-f"}, {"show", "-f", "--calls"}, {"stats"}} {
		b.Run(strings.Join(append([]string{"beside"}, args...), " "), func(b *testing.B) {
			dir := b.TempDir()
			var writers []*writer
			var paths []string
			for i := range taps {
				w := newWriter(dir, i)
				w.call()
				writers, paths = append(writers, w), append(paths, w.rec.Path())
			}
			if len(args) > 0 && args[0] == "show" {
				args = append(append([]string{"show", "-f"}, paths...), args[2:]...)
			} else if len(args) > 0 && args[0] == "stats" {
				args = append(args[:1:1], dir)
			}
			stop := make(chan struct{})
			var reading, writing sync.WaitGroup
			reading.Go(func() { again(bin, dir, args, stop) })
			costs := make([][]time.Duration, taps)
			for i, w := range writers {
				writing.Go(func() { costs[i] = w.paced(b.N / taps) })
			}
			writing.Wait()
			close(stop)
			for _, w := range writers {
				w.rec.Close()
			}
			reading.Wait()
			report(b, slices.Concat(costs...))
		})
	}
}

// report tells what ten frames cost.
func report(b *testing.B, costs []time.Duration) {
	if len(costs) == 0 {
		return
	}
	slices.Sort(costs)
	var sum time.Duration
	for _, d := range costs {
		sum += d
	}
	b.ReportMetric(float64(sum)/float64(len(costs)), "mean-ns")
	b.ReportMetric(float64(costs[len(costs)/2]), "p50-ns")
	b.ReportMetric(float64(costs[len(costs)*99/100]), "p99-ns")
	b.ReportMetric(0, "ns/op")
}

// again runs a command again and again, until it is told to stop.
func again(bin, dir string, args []string, stop chan struct{}) {
	for len(args) > 0 {
		cmd := exec.Command(bin, args...)
		cmd.Env = append(os.Environ(), "MCPTAP_DIR="+dir)
		_ = cmd.Run()
		select {
		case <-stop:
			return
		default:
		}
	}
}

// paceFrames is how many frames a tap records each millisecond.
const paceFrames = 10

// paced records calls in the pace of ten thousand frames a second, and returns
// what each handful of them cost.
func (w *writer) paced(frames int) (costs []time.Duration) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range frames / paceFrames {
		<-tick.C
		began := time.Now()
		for range paceFrames / 2 {
			w.call()
		}
		costs = append(costs, time.Since(began))
	}
	return costs
}

// BenchmarkShow measures the views on a recording, in frames.
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
