package filter

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// fieldQueries are of the kinds that a person types, on fields alone.
var fieldQueries = []string{
	"method:tools/call",
	"method:tools/call,prompts/get -is:error",
	"method:tools/* tool:*cast",
	"id:1,probe-*",
	"dir:to_client kind:response,error latency:>500ms",
	"is:error,slow,pending OR status:4xx,5xx",
	"rev:2025-* session:1 at:1s..5m size:<1MB -seq:7",
}

// BenchmarkFields is per frame.
func BenchmarkFields(b *testing.B) {
	all := items(b)
	for _, q := range fieldQueries {
		b.Run(q, func(b *testing.B) {
			f := mustParse(b, q)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := f.Match(all[i%len(all)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkText searches some hundred kilobytes that never match.
func BenchmarkText(b *testing.B) {
	ordinary := strings.Repeat(`{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"The quick brown fox jumps over the lazy dog, in Zürich. It is fine; 12 degrees."}]}}`+"\n", 2000)
	nested := strings.Repeat(`{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"{\n  \"name\": \"na\u00efve\",\n \"text\":\"The quick\\nbrown fox jumps\\nover the lazy dog\" \n}"}]}}`+"\n", 2000)
	for _, p := range []struct {
		name string
		raw  string
	}{
		{"ordinary", ordinary},
		{"nested", nested},
		{"backslashes", strings.Repeat(`\`, 300000)},
		{"newlines", strings.Repeat(`\n`, 150000)},
		{"units", strings.Repeat(`\u00ef`, 50000)},
		{"pairs", strings.Repeat(`\ud83d\ude00`, 25000)},
		{"letters", strings.Repeat(`a`, 300000)},
		{"Chinese", strings.Repeat("天気予報はとてもいいです", 8000)},
		{"bytes", string(bytes.Repeat([]byte{0xff, 0xc3, 0xe5, 0x00, 0x80}, 60000))},
	} {
		for _, q := range []string{"error", "timeout", "x", `"naïve x"`, "aaaaaaaaaaaaab", "天気予報x", `\\\\\\\\x`, `timeout,refused,"not found"`, "/timeout \\d+/", "/[0-9]x[0-9]/"} {
			b.Run(p.name+"/"+q, func(b *testing.B) {
				f := mustParse(b, q)
				it := &Item{Frame: &tap.Frame{Raw: []byte(p.raw), Size: int64(len(p.raw))}}
				b.SetBytes(int64(len(p.raw)))
				for b.Loop() {
					if ok, _ := f.Match(it); ok && !strings.Contains(q, "x") {
						b.Fatal("found")
					}
				}
			})
		}
	}
}

// BenchmarkFrames searches small frames one by one, as a listing does.
func BenchmarkFrames(b *testing.B) {
	raw := []byte(`{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"The weather in Z\u00fcrich is fine; 12 degrees."}]}}` + "\n")
	for _, q := range []string{"timeout", "-/timeout/"} {
		b.Run(q, func(b *testing.B) {
			f := mustParse(b, q)
			it := &Item{Frame: &tap.Frame{Raw: raw, Size: int64(len(raw))}}
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				f.Match(it)
			}
		})
	}
}
