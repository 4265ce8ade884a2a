package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// statsFrames is the number of frames in the recordings of BenchmarkStats.
const statsFrames = 1_000_000

// A traffic is a kind of traffic: round returns the messages of its i-th round, each prefixed with > or
// <.
type traffic struct {
	name  string
	round func(rng *rand.Rand, i int) []string
}

// traffics are kinds of traffic with 200 to 500 bytes per frame: sequential calls, eight concurrent
// ones, calls with progress, and calls with errors, nested requests and everything else that a Meter
// leaves to the Tracker.
var traffics = []traffic{
	{"calls", func(rng *rand.Rand, i int) []string { return []string{askTool(rng, i), answerTool(rng, i)} }},
	{"parallel", func(rng *rand.Rand, i int) (round []string) {
		for k := range 8 {
			round = append(round, askTool(rng, 8*i+k))
		}
		for _, k := range rng.Perm(8) {
			round = append(round, answerTool(rng, 8*i+k))
		}
		return round
	}},
	{"progress", func(rng *rand.Rand, i int) []string {
		round := []string{askTool(rng, i)}
		for k := range 8 {
			round = append(round, fmt.Sprintf(`<{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":%d,"total":8,"message":"%s"}}`, i, k, prose(rng, 150)))
		}
		return append(round, answerTool(rng, i))
	}},
	{"nested", func(rng *rand.Rand, i int) []string {
		return []string{
			askTool(rng, i),
			fmt.Sprintf(`<{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"%s"}}],"maxTokens":100}}`, i, prose(rng, 200)),
			fmt.Sprintf(`>{"jsonrpc":"2.0","id":%d,"result":{"role":"assistant","content":{"type":"text","text":"%s"},"model":"m"}}`, i, prose(rng, 200)),
			answerTool(rng, i),
		}
	}},
}

func askTool(rng *rand.Rand, id int) string {
	return fmt.Sprintf(`>{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool_%d","arguments":{"location":"%s","limit":%d},"_meta":{"progressToken":%d}}}`,
		id, rng.IntN(20), prose(rng, 50+rng.IntN(100)), rng.IntN(1000), id)
}

func answerTool(rng *rand.Rand, id int) string {
	return fmt.Sprintf(`<{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}],"isError":false}}`, id, prose(rng, 200+rng.IntN(200)))
}

// prose returns text about as varied as tool results.
func prose(rng *rand.Rand, size int) string {
	const words = "the of and to in is was for on that with as it by from at an be this which or are not have has were had their one its all been more no after who time about two may first would when than into some other new people only could"
	list := strings.Fields(words)
	var b strings.Builder
	for b.Len() < size {
		if rng.IntN(4) == 0 {
			fmt.Fprintf(&b, "%d ", rng.IntN(100_000))
		} else {
			b.WriteString(list[rng.IntN(len(list))] + " ")
		}
	}
	return b.String()
}

// writeTraffic writes a recording of n frames.
func writeTraffic(tb testing.TB, t traffic, n int) (path string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), t.name+store.Ext)
	w, err := store.NewWriter(path, tap.Header{ID: "0123abcd", Label: t.name, Start: testNow, Transport: "stdio"})
	if err != nil {
		tb.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	f := tap.Frame{}
	for i := 0; int(f.Seq) < n; i++ {
		for _, line := range t.round(rng, i) {
			f.Seq++
			f.At += time.Duration(rng.IntN(2_000_000))
			f.Lane = map[byte]tap.Lane{'>': tap.ToServer, '<': tap.ToClient}[line[0]]
			f.Raw = []byte(line[1:] + "\n")
			if err := w.Add(f); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := w.Close(store.End{At: f.At}); err != nil {
		tb.Fatal(err)
	}
	return path
}

// BenchmarkStats compares `stats` with a bare scan of the same recording, which parses no frame.
func BenchmarkStats(b *testing.B) {
	for _, t := range traffics {
		b.Run(t.name, func(b *testing.B) {
			path := writeTraffic(b, t, statsFrames)
			b.Run("scan", func(b *testing.B) {
				for b.Loop() {
					rec, err := store.Open(path)
					if err != nil {
						b.Fatal(err)
					}
					for _, err := range rec.Frames(0) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
			})
			b.Run("stats", func(b *testing.B) {
				a, _ := testApp(nil)
				o := statsOptions{sort: "time"}
				for b.Loop() {
					if m, err := o.measure(context.Background(), a, []string{path}); err != nil || m.Top.Statuses.Calls() == 0 {
						b.Fatal(m, err)
					}
				}
			})
		})
	}
}
