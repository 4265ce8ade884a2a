package filter

import (
	"fmt"
	"strings"
	"testing"
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
				f.Match(all[i%len(all)], nil)
			}
		})
	}
}

// BenchmarkSearch searches payloads that hold none of the terms, except in the
// case of one letter.
func BenchmarkSearch(b *testing.B) {
	line := `{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"The quick brown fox jumps over the lazy dog, in Zürich. It is fine; 12 degrees."}]}}` + "\n"
	nested := `{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"{\n  \"name\": \"na\u00efve\",\n \"text\":\"The quick\\nbrown fox jumps\\nover the lazy dog\" \n}"}]}}` + "\n"
	for _, p := range []struct{ name, text string }{
		{"ordinary", line},
		{"nested", nested},
		{"backslashes", `\`},
		{"newlines", `\n`},
		{"units", `\u00ef`},
		{"pairs", `\ud83d\ude00`},
		{"letters", "a"},
		{"Chinese", "天気予報はとてもいいです"},
		{"Greek", "Ο Σίσυφος κυλάει την πέτρα "},
		{"bytes", "\xff\xc3\xe5\x00\x80"},
	} {
		for _, size := range []int{200, 4 << 10, 256 << 10} {
			raw := []byte(strings.Repeat(p.text, size/len(p.text)+1)[:size])
			for _, q := range []string{"error", "x", `"naïve x"`, "aaaaaaaaaaaaab", "天気予報x", `timeout,refused,"not found"`, `/timeout \d+/`, "/[0-9]x[0-9]/"} {
				if p.name != "ordinary" && p.name != "nested" && (size != 256<<10 || q == "x") {
					continue
				}
				b.Run(fmt.Sprintf("%s/%d/%s", p.name, size, q), func(b *testing.B) {
					f := mustParse(b, q)
					b.SetBytes(int64(len(raw)))
					b.ReportAllocs()
					for b.Loop() {
						if f.Search(raw).has(0) && q != "x" {
							b.Fatal("found")
						}
					}
				})
			}
		}
	}
}
