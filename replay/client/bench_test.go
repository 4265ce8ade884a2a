package client

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/replay"
)

// BenchmarkPlay plays sessions of increasing length, ten requests at a time, to a server that
// answers immediately. The time per call must not grow.
func BenchmarkPlay(b *testing.B) {
	for _, calls := range []int{1000, 10000, 100000} {
		b.Run(fmt.Sprint(calls), func(b *testing.B) {
			var text strings.Builder
			text.WriteString(opening)
			for i := 0; i < calls; i += 10 {
				for k := range 10 {
					fmt.Fprintf(&text, `>{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":%d}}}`+"\n", i+k+2, i+k)
				}
				for k := range 10 {
					fmt.Fprintf(&text, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`+"\n", i+k)
					fmt.Fprintf(&text, `{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`+"\n", i+k+2)
				}
			}
			frames := lines(text.String())
			serve := answering(func(method, id, raw string) (string, error) {
				if id == "" {
					return "", nil
				}
				return result(id), nil
			})
			b.ReportAllocs()
			for b.Loop() {
				plan := planned(frames, nil)
				opt := patient()
				opt.Pace = replay.Instant
				if err := Play(b.Context(), plan, &wire{serve: func(in io.Reader, out io.Writer) { serve(in, out) }}, opt); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(calls*b.N), "µs/call")
		})
	}
}
