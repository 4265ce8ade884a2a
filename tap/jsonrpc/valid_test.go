package jsonrpc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestValid(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	texts := []string{
		"", " ", "{}", "[]", "{ }", "[ ]", "[1]", "[1,2]", "[1,]", "[,1]", "{,}", `{"a":1}`, `{"a":1,}`, `{"a":1,"b":[]}`, `{"a"}`, `{"a":}`, `{a:1}`,
		"[}", "{]", "]", "}", "[[]", "[]]", "1 2", "1,", "true", "tru", "truex", "false", "null", "nul", "nulll", "[true,false,null]", "True",
		"0", "-0", "-", "00", "01", "-01", "1.", ".5", "1.5", "1e", "1e5", "1E+5", "1e-", "1e-05", "1.5e3.2", "+1", "0x1", "1.0.0", "1-", "[1 2]",
		`""`, `"a`, `"a"b`, `"\\"`, `"\"`, `"\x"`, `"\u12"`, `"\u12G4"`, `"\u00e9"`, `"\ud800"`, `"\`, `"\u`, `"\/\b\f\n\r\t\""`, "\"a\tb\"", "\"a\x00b\"", "\"\xff\"", "\"\x7f\"",
		" \t\r\n1 \t\r\n", "\v1", "\u00a01", deep(MaxDepth), deep(MaxDepth + 1), strings.Repeat("[", MaxDepth+1),
		strings.Repeat(`{"a":`, MaxDepth-1) + "{}" + strings.Repeat("}", MaxDepth-1),
	}
	for n := range 20 { // whatever stands where in eight bytes
		for _, c := range []string{"\x1f", "\x00", "\\", `"`, `\\n`, " ", "!", "#", "[", "]", "\x80", "\xa2", "\xdc"} {
			texts = append(texts, `"`+strings.Repeat("x", n)+c+strings.Repeat("y", 20-n)+`"`)
		}
	}
	for _, text := range texts {
		if got, want := valid([]byte(text)), json.Valid([]byte(text)); got != want {
			t.Errorf("%.60q: %v, want %v", text, got, want)
		}
	}
}

func BenchmarkValid(b *testing.B) {
	for name, text := range map[string]string{
		"text":  `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("Partly cloudy, wind from the south-west.", 100) + `"}]}}`,
		"small": `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + strings.Repeat(`{"name":"a","inputSchema":{"type":"object"}},`, 100) + `{}]}}`,
	} {
		raw := []byte(text)
		for by, f := range map[string]func([]byte) bool{"valid": valid, "gjson": gjson.ValidBytes} {
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
