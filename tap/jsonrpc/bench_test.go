package jsonrpc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcptap/mcptap/tap"
)

// The writer of a recording reads the envelope of every frame.
func BenchmarkPeekFrame(b *testing.B) {
	shapes := map[string]func(n int) string{
		"text": func(n int) string { return `{"text":"` + strings.Repeat("Sunny, 21 degrees. ", n/19) + `"}` },
		"small": func(n int) string {
			return `{"list":[` + strings.Repeat(`{"id":17,"ok":true,"name":"a b"},`, n/33) + `{}]}`
		},
	}
	for _, size := range []int{200, 4 << 10, 256 << 10} {
		for _, shape := range []string{"text", "small"} {
			raw := []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"forecast","arguments":` + shapes[shape](size) + `}}`)
			for _, form := range []tap.Form{tap.FormLine, tap.FormBody} {
				f := tap.Frame{Form: form, Raw: raw, Size: int64(len(raw))}
				b.Run(fmt.Sprintf("%s/%d/%v", shape, size, form), func(b *testing.B) {
					b.SetBytes(f.Size)
					b.ReportAllocs()
					for b.Loop() {
						if m := PeekFrame(&f); m.Kind != Request {
							b.Fatal(m.Kind, m.Reason)
						}
					}
				})
			}
		}
	}
}

// Checking that a frame is JSON takes a fraction of the time that a library needs.
func BenchmarkValid(b *testing.B) {
	for name, text := range map[string]string{
		"text":  `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("Partly cloudy, wind from the south-west.", 100) + `"}]}}`,
		"small": `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + strings.Repeat(`{"name":"a","inputSchema":{"type":"object"}},`, 100) + `{}]}}`,
	} {
		raw := []byte(text)
		for by, f := range map[string]func([]byte) bool{"Valid": func(b []byte) bool { return Valid(b, MaxDepth) }, "gjson": gjson.ValidBytes} {
			b.Run(fmt.Sprint(name, "/", by), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if !f(raw) {
						b.Fatal("not valid")
					}
				}
			})
		}
	}
}
