package jsonrpc

import (
	"encoding/json"
	"strings"
	"testing"
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
