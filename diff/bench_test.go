package diff

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// conversation writes a session with n calls of fifty tools, with progress in every tenth. text
// returns the answer of a call.
func conversation(calls int, text func(i int) string, name func(i int) string) []tap.Frame {
	var frames []tap.Frame
	at := time.Duration(0)
	add := func(lane tap.Lane, format string, args ...any) {
		at += time.Millisecond
		f := tap.Frame{Seq: uint64(len(frames) + 1), At: at, Lane: lane, Raw: fmt.Appendf(nil, format+"\n", args...)}
		f.Size = int64(len(f.Raw))
		frames = append(frames, f)
	}
	add(tap.ToServer, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	add(tap.ToClient, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`)
	add(tap.ToServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i := range calls {
		add(tap.ToServer, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"city":"city %d","days":%d,"units":"metric"},"_meta":{"progressToken":%d}}}`,
			i+1, name(i), i%1000, i%7, i+1)
		if i%10 == 0 {
			add(tap.ToClient, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1,"total":2}}`, i+1)
		}
		add(tap.ToClient, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":%q}],"structuredContent":{"temp":%d,"wind":{"speed":3.5,"dir":"N"},"hours":[1,2,3,4,5,6]}}}`,
			i+1, text(i), i%40)
	}
	return frames
}

func tool(i int) string   { return fmt.Sprintf("tool %d", i%50) }
func answer(i int) string { return fmt.Sprintf("Sunny in city %d, 21 degrees, call %d", i%1000, i) }

// BenchmarkSessions compares whole sessions, including reading. growth is how the time grows with
// the number of calls.
func BenchmarkSessions(b *testing.B) {
	one := func(int) string { return "tool" }
	for _, calls := range []int{1_000, 10_000, 100_000} {
		if testing.Short() && calls > 1000 {
			continue
		}
		for _, c := range []struct {
			name string
			a, b []tap.Frame
		}{
			{"same", conversation(calls, answer, tool), conversation(calls, answer, tool)},
			{"one_percent", conversation(calls, answer, tool), conversation(calls, func(i int) string {
				if i%100 == 0 {
					return "Rain"
				}
				return answer(i)
			}, tool)},
			{"all_answers_differ", conversation(calls, answer, tool), conversation(calls, func(i int) string { return answer(i + 1) }, tool)},
			{"all_calls_equal", conversation(calls, func(int) string { return "ok" }, one), conversation(calls+1, func(int) string { return "ok" }, one)},
			{"all_calls_differ", conversation(calls, answer, tool), conversation(calls, answer, func(i int) string { return fmt.Sprintf("other %d", i) })},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, calls), func(b *testing.B) {
				for b.Loop() {
					r, err := Compare(recorded("a", c.a), recorded("b", c.b), Options{})
					if err != nil {
						b.Fatal(err)
					}
					if (c.name == "same") != (len(r.Differences) == 0) {
						b.Fatal(r.Summary)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(calls), "ns/call")
			})
		}
	}
}
