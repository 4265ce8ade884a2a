package session

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// benchFrames are frames of the sizes that matter, in the shapes that SDKs send.
func benchFrames() []struct {
	name string
	lane tap.Lane
	raw  []byte
} {
	text := "Current weather in New York: the temperature is 72 degrees, partly cloudy, with a current of air. "
	result := func(size int) []byte {
		body := strings.Repeat(text, size/len(text)+1)
		head := `{"jsonrpc":"2.0","id":12345,"result":{"content":[{"type":"text","text":"`
		tail := `"}],"isError":false}}` + "\n"
		return []byte(head + body[:size-len(head)-len(tail)] + tail)
	}
	request := func(size int) []byte {
		body := strings.Repeat(text, size/len(text)+1)
		head := `{"jsonrpc":"2.0","id":12345,"method":"tools/call","params":{"name":"get_weather","arguments":{"location":"`
		tail := `"}}}` + "\n"
		return []byte(head + body[:size-len(head)-len(tail)] + tail)
	}
	list := `{"jsonrpc":"2.0","id":2,"result":{"tools":[`
	tool := `{"name":"get_weather","description":"Get \"weather\" for a city\n","inputSchema":{"type":"object","properties":{"location":{"type":"string","description":"City"}},"required":["location"]}}`
	list += strings.Repeat(tool+",", (256<<10)/len(tool)) + tool + "]}}\n"
	b := []struct {
		name string
		lane tap.Lane
		raw  []byte
	}{
		{"request/200B", tap.ToServer, request(200)},
		{"result/200B", tap.ToClient, result(200)},
		{"result/500B", tap.ToClient, result(500)},
		{"result/4KB", tap.ToClient, result(4 << 10)},
		{"result/256KB", tap.ToClient, result(256 << 10)},
		{"tools/256KB", tap.ToClient, []byte(list)},
		{"failure/200B", tap.ToClient, bytes.Replace(result(201), []byte("false"), []byte("true"), 1)},
	}
	return b
}

func BenchmarkPeek(b *testing.B) {
	for _, f := range benchFrames() {
		b.Run(f.name, func(b *testing.B) {
			b.SetBytes(int64(len(f.raw)))
			b.ReportAllocs()
			for b.Loop() {
				if m := jsonrpc.Peek(f.raw); m.Kind == jsonrpc.Invalid {
					b.Fatal(m.Reason)
				}
			}
		})
	}
}

func BenchmarkTally(b *testing.B) {
	for _, f := range benchFrames() {
		b.Run(f.name, func(b *testing.B) {
			b.SetBytes(int64(len(f.raw)))
			b.ReportAllocs()
			t := legacyTally()
			frame := tap.Frame{Lane: f.lane, Raw: f.raw, Size: int64(len(f.raw))}
			for b.Loop() {
				t.Add(&frame)
			}
		})
	}
}

// legacyTally is a tally whose facts are known.
func legacyTally() *Tally {
	var t Tally
	for i, line := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"2"}}}`,
	} {
		t.Add(&tap.Frame{Seq: uint64(i + 1), Lane: tap.ToServer + tap.Lane(i), Raw: []byte(line), Size: int64(len(line))})
	}
	return &t
}
