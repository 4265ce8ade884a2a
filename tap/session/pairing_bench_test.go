package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

func BenchmarkPairing(b *testing.B) {
	meta := `"_meta":{"progressToken":%d,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	for _, c := range []struct{ name, request, between, answer string }{
		{"ping", `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, "", `{"jsonrpc":"2.0","id":%d,"result":{}}`},
		{"call", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get_weather","arguments":{"location":"New York"}}}`, "",
			`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"72 degrees, partly cloudy"}]}}`},
		{"progress", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t",` + meta + `}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`,
			`{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete","content":[]}}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			const n = 1000
			var messages []jsonrpc.Message
			var frames []tap.Frame
			put := func(lane tap.Lane, text string, args ...any) {
				raw := fmt.Appendf(nil, text, args...)
				messages = append(messages, jsonrpc.Peek(raw))
				frames = append(frames, tap.Frame{Lane: lane, Raw: raw, Size: int64(len(raw))})
			}
			for i := range n {
				if put(tap.ToServer, c.request, i, i); strings.Count(c.request, "%d") == 1 {
					frames, messages = frames[:len(frames)-1], messages[:len(messages)-1]
					put(tap.ToServer, c.request, i)
				}
				if c.between != "" {
					put(tap.ToClient, c.between, i)
				}
				put(tap.ToClient, c.answer, i)
			}
			var t Pairing
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				f := &frames[i%len(frames)]
				f.Seq = uint64(i + 1)
				if parts := t.Add(f, &messages[i%len(frames)]); len(parts) != 1 || parts[0].Role == RoleOrphan {
					b.Fatal(parts)
				}
			}
		})
	}
}
