package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// peekCases are frames with the results of Peek: kind, id, method, then anything
// notable. They are also the seeds of the fuzz tests.
var peekCases = []struct{ raw, want string }{
	// Plain messages, in the orders in which the SDKs write them.
	{`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n", `request 1 ping`},
	{`{"method":"ping","params":{},"jsonrpc":"2.0","id":0}` + "\r\n", `request 0 ping`},
	{` { "jsonrpc" : "2.0" , "id" : "1" , "method" : "ping" } ` + "\n", `request "1" ping`},
	{`{"jsonrpc":"2.0","id":"","method":"ping"}`, `request "" ping`},
	{`{"jsonrpc":"2.0","id":9007199254740993,"method":"a"}`, `request 9007199254740993 a`},
	{`{"jsonrpc":"2.0","method":"exit"}`, `notification  exit`},
	{`{"result":{},"jsonrpc":"2.0","id":3}`, `response 3 `},
	{`{"result":{"content":[],"isError":true},"jsonrpc":"2.0","id":3}`, `response 3  isError`},
	{`{"jsonrpc":"2.0","id":3,"result":{"isError":false,"resultType":"complete"}}`, `response 3  resultType=complete`},
	{`{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no \"x\"","data":{"code":1,"isError":true}}}`, `error 3  code=-32601 message=no "x"`},
	// Escapes: in names, methods, ids.
	{`{"jsonrpc":"2.0","\u0069d":1,"m\u0065thod":"tools\/call"}`, `request 1 tools/call`},
	{`{"jsonrpc":"\u0032.0","id":"\u0061","method":"\ud83d\ude00\n"}`, "request \"\\u0061\" 😀\n"},
	{`{"jsonrpc":"2.0","id":1,"result":{"is\u0045rror":true}}`, `response 1  isError`},
	{`{"jsonrpc":"2.0","id":1,"method":"\ud800x"}`, "request 1 \ufffdx"},
	// Results of any type: the dialect of reference document 002.
	{`{"jsonrpc":"2.0","id":50,"result":null}`, `response 50 `},
	{`{"jsonrpc":"2.0","id":50,"result":[{"isError":true}]}`, `response 50 `},
	{`{"jsonrpc":"2.0","id":50,"result":"isError"}`, `response 50 `},
	// isError only counts at the top of the result, and only when it is true.
	{`{"jsonrpc":"2.0","id":1,"isError":true,"result":{"a":{"isError":true},"b":[{"isError":true}]}}`, `response 1 `},
	{`{"jsonrpc":"2.0","id":1,"result":{"isError":"true"}}`, `response 1 `},
	{`{"jsonrpc":"2.0","id":1,"result":{"a":{},"isError":true},"params":{"isError":false}}`, `response 1  isError`},
	// Odd, but unambiguous.
	{`{"id":1,"method":"a"}`, `request 1 a (no jsonrpc member)`},
	{`{"jsonrpc":"1.0","id":1,"method":"a"}`, `request 1 a (jsonrpc is not "2.0")`},
	{`{"jsonrpc":2.0,"id":1,"method":"a"}`, `request 1 a (jsonrpc is not "2.0")`},
	{`{"jsonrpc":"2.0","id":1.5,"method":"a"}`, `request 1.5 a (id is not written as an integer)`},
	{`{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}`, `request 1 a (params is an array)`},
	{`{"jsonrpc":"2.0","id":1,"method":"a","result":{}}`, `request 1 a (both method and result)`},
	{`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`, `error 1  code=1 message=m (both result and error)`},
	{`{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"m"}}`, `error 1  code=1 message=m (both result and error)`},
	{`{"jsonrpc":"2.0","id":1,"result":{"isError":true},"error":null}`, `response 1  isError (error is null next to a result)`},
	{`{"jsonrpc":"2.0","id":1,"error":null}`, `error 1  (error is null)`},
	{`{"jsonrpc":"2.0","id":1,"error":"boom"}`, `error 1  message=boom (error is a string)`},
	{`{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":2}}`, `error 1  (error code is not an integer; error message is not a string)`},
	{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`, `error null  code=-32700 message=m (id is null)`},
	{`{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`, `error   code=-32700 message=m (response without id)`},
	{"\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"method":"a"}`, `request 1 a (byte order mark)`},
	{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "request 1 \xff (not UTF-8 at byte 34)"},
	// The last of two equal names counts, and the name is reported.
	{`{"jsonrpc":"2.0","id":1,"method":"a","id":2,"i\u0064":3}`, `request 3 a dup=[id]`},
	{`{"jsonrpc":"2.0","id":1,"result":{"isError":true},"result":{}}`, `response 1  dup=[result]`},
	{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"},"error":{}}`, `error 1  dup=[error] (error code is not an integer; error message is not a string)`},
	{`{"jsonrpc":"2.0","id":1,"result":{"isError":true,"isError":false}}`, `response 1 `},
	{`{"jsonrpc":"2.0","id":1,"result":{"isError":false,"a":{"b":1,"\u0062":2},"isError":true}}`, `response 1  isError`},
	{`{"jsonrpc":"2.0","id":1,"result":{"a":{"b":1},"c":{"b":1}}}`, `response 1 `},
	// Not a message.
	{``, `invalid   (blank)`},
	{"\n", `invalid   (blank)`},
	{" \r\n", `invalid   (blank)`},
	{`Server started on port 80` + "\n", `invalid   (not JSON: unexpected 'S' at byte 0)`},
	{`{"jsonrpc":"2.0","id":1,"method":"a"} x`, `invalid   (not JSON: unexpected 'x' at byte 38)`},
	{`{"jsonrpc":"2.0","id":1,"method":"a"}{}`, `invalid   (not JSON: unexpected '{' at byte 37)`},
	{`{"jsonrpc":"2.0","id":1,"meth`, `invalid   (not JSON: ends inside a string at byte 29)`},
	{`{"jsonrpc":"2.0","id":1`, `invalid   (not JSON: ends too early at byte 23)`},
	{`{"jsonrpc":"2.0","id":1,}`, `invalid   (not JSON: unexpected '}' at byte 24)`},
	{`{"jsonrpc":"2.0","id":01}`, `invalid   (not JSON: unexpected '1' at byte 23)`},
	{`{"jsonrpc":"2.0","id":-01,"result":{}}`, `invalid   (not JSON: unexpected '1' at byte 24)`},
	{`{"jsonrpc":"2.0","id":-1.5e+0,"result":{}}`, `response -1.5e+0  (id is not written as an integer)`},
	{`{"id":1,"method":"a` + "\x01" + `"}`, `invalid   (not JSON: control character in a string at byte 19)`},
	{`{"id":1,"method":"\x"}`, `invalid   (not JSON: bad escape at byte 19)`},
	{`{"id":1,"method":"\u00g0"}`, `invalid   (not JSON: bad escape at byte 22)`},
	{"\x1b[31mred\x1b[0m\n", `invalid   (not JSON: unexpected 0x1B at byte 0)`},
	{"\xef\xbb", `invalid   (not JSON: ends inside a byte order mark at byte 2)`},
	{`null`, `invalid   (JSON, but null where a message should be)`},
	{`12`, `invalid   (JSON, but a number where a message should be)`},
	{`"ready"`, `invalid   (JSON, but a string where a message should be)`},
	{`{}`, `invalid   (object without method, result or error)`},
	{`{"jsonrpc":"2.0","id":1}`, `invalid 1  (object without method, result or error)`},
	{`{"jsonrpc":"2.0","id":null,"method":"a"}`, `invalid null a (a method with id null is neither request nor notification)`},
	{`{"jsonrpc":"2.0","id":true,"method":"a"}`, `invalid true a (id is true)`},
	{`{"jsonrpc":"2.0","id":{"a":1},"result":{"isError":true}}`, `invalid   (id is an object)`},
	{`{"jsonrpc":"2.0","id":1,"method":5}`, `invalid 1  (method is a number)`},
	// Batches.
	{`[]`, `invalid   (empty batch)`},
	{`[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"}]`, `batch   [request 1 a][notification  b]`},
	{`[{"jsonrpc":"2.0","id":1,"result":{"isError":true}},{"jsonrpc":"2.0","id":2,"id":3,"error":{"code":1,"message":"m"}}]`,
		`batch   [response 1  isError][error 3  code=1 message=m dup=[id]]`},
	{`[1,[{"method":"a"}],{}]`, `batch   [invalid   (JSON, but a number where a message should be)]` +
		`[invalid   (JSON, but an array where a message should be)][invalid   (object without method, result or error)]`},
	{`[{"jsonrpc":"2.0","id":1,"method":"a"},`, `invalid   (not JSON: ends too early at byte 39)`},
}

// describe returns a message as in peekCases.
func describe(m Message) string {
	s := fmt.Sprintf("%s %s %s", m.Kind, m.ID, m.Method)
	if m.IsError {
		s += " isError"
	}
	if m.ResultType != "" {
		s += " resultType=" + m.ResultType
	}
	if m.ErrorCode != "" {
		s += " code=" + m.ErrorCode
	}
	if m.ErrorMessage != "" {
		s += " message=" + m.ErrorMessage
	}
	if len(m.DuplicateKeys) > 0 {
		s += fmt.Sprintf(" dup=%v", m.DuplicateKeys)
	}
	if m.Reason != "" {
		s += " (" + m.Reason + ")"
	}
	for i, e := range m.Batch {
		if i == 0 {
			s += " "
		}
		s += "[" + describe(e) + "]"
	}
	return s
}

func TestPeek(t *testing.T) {
	for _, c := range peekCases {
		raw := []byte(c.raw)
		if got := describe(Peek(raw)); got != c.want {
			t.Errorf("%q\n got %s\nwant %s", c.raw, got, c.want)
		}
		if string(raw) != c.raw {
			t.Errorf("%q was changed", c.raw)
		}
	}
}

func TestPeekSlices(t *testing.T) {
	raw := []byte(` {"params": {"a" : [1, 2]} ,"id": "x" , "method":"m","result":[ ] , "error":"e"}`)
	m := Peek(raw)
	for _, c := range []struct {
		got  []byte
		want string
	}{{m.ID, `"x"`}, {m.Params, `{"a" : [1, 2]}`}, {m.Result, `[ ]`}, {m.Error, `"e"`}} {
		if string(c.got) != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
		if cap(c.got) < 1 || &c.got[0] != &raw[bytes.Index(raw, []byte(c.want))] {
			t.Errorf("%s is a copy", c.want)
		}
	}
	if m := Peek([]byte(`{"method":"m"}`)); m.ID != nil || m.Params != nil || m.Result != nil || m.Error != nil {
		t.Errorf("absent members are not nil: %+v", m)
	}
	if m := Peek([]byte(`{"id":1,"result":null}`)); m.Result == nil {
		t.Error("a null result is absent")
	}
}

// TestPeekHostile checks that size and depth take no stack and little memory.
func TestPeekHostile(t *testing.T) {
	deep := func(n int) string {
		return `{"id":1,"result":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
	}
	for _, c := range []struct{ name, raw, want string }{
		{"deepest", deep(MaxDepth), `response 1  (no jsonrpc member)`},
		{"too deep", deep(MaxDepth + 1), fmt.Sprintf(`invalid   (nested more than %d deep at byte %d)`, MaxDepth, 16+MaxDepth)},
		{"brackets", strings.Repeat("[", 100<<20), fmt.Sprintf(`invalid   (nested more than %d deep at byte %d)`, MaxDepth, MaxDepth)},
		{"braces", strings.Repeat(`{"a":`, 1<<20), fmt.Sprintf(`invalid   (nested more than %d deep at byte %d)`, MaxDepth, 5*MaxDepth)},
		{"long string", `{"id":1,"method":"m","params":{"s":"` + strings.Repeat("x", 10<<20) + `"}}`, `request 1 m (no jsonrpc member)`},
	} {
		if got := describe(Peek([]byte(c.raw))); got != c.want {
			t.Errorf("%s: got %.200s, want %s", c.name, got, c.want)
		}
	}
}

func TestPeekBatchBound(t *testing.T) {
	raw := []byte("[" + strings.Repeat("1,", 5<<20) + "1]")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m := Peek(raw)
	runtime.ReadMemStats(&after)
	if m.Kind != Batch || len(m.Batch) != MaxBatch || !strings.Contains(m.Reason, "only the first 10000") {
		t.Errorf("%s, %d elements, %s", m.Kind, len(m.Batch), m.Reason)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 20<<20 {
		t.Errorf("took %d bytes for a frame of %d", used, len(raw))
	}
}

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
	for n := range 20 { // at every offset in eight bytes
		for _, c := range []string{"\x1f", "\x00", "\\", `"`, `\\n`, " ", "!", "#", "[", "]", "\x80", "\xa2", "\xdc"} {
			texts = append(texts, `"`+strings.Repeat("x", n)+c+strings.Repeat("y", 20-n)+`"`)
		}
	}
	for _, text := range texts {
		if got, want := Valid([]byte(text), MaxDepth), json.Valid([]byte(text)); got != want {
			t.Errorf("%.60q: %v, want %v", text, got, want)
		}
	}
}

func TestKindNames(t *testing.T) {
	for k := range Kinds {
		if got, err := ParseKind(k.String()); err != nil || got != k {
			t.Errorf("%d: %v %v", k, got, err)
		}
	}
	if _, err := ParseKind("x"); err == nil || Kind(99).String() != "kind(99)" {
		t.Error("an unknown kind has a name")
	}
}

func seeds(f *testing.F, add func(raw []byte)) {
	for _, c := range peekCases {
		add([]byte(c.raw))
	}
	for _, r := range referenceFrames(f) {
		add(r.raw)
	}
}

// FuzzPeek compares Peek with encoding/json: validity and the envelope.
func FuzzPeek(f *testing.F) {
	seeds(f, func(raw []byte) { f.Add(raw) })
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := Peek(raw)
		Subject(m)
		spaced := append(append([]byte(" \t"), bytes.TrimPrefix(raw, []byte(bom))...), "\r\n"...)
		if s := Peek(spaced); s.Kind != m.Kind || !bytes.Equal(s.ID, m.ID) {
			t.Errorf("white space makes a %s a %s", m.Kind, s.Kind)
		}
		body := bytes.TrimPrefix(raw, []byte(bom))
		notJSON := strings.HasPrefix(m.Reason, "not JSON") || m.Reason == "blank"
		if json.Valid(body) == notJSON && !strings.HasPrefix(m.Reason, "nested") {
			t.Errorf("json.Valid is %v, but %q", json.Valid(body), m.Reason)
		}
		checkEnvelope(t, body, m)
	})
}

// checkEnvelope compares a message with the result of encoding/json.
func checkEnvelope(t *testing.T, body []byte, m Message) {
	if m.Kind == Invalid || m.Kind == Batch || !strings.HasPrefix(strings.TrimLeft(string(body), " \t\r\n"), "{") {
		return
	}
	var e map[string]json.RawMessage
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatalf("%s: %v", m.Kind, err)
	}
	for name, got := range map[string][]byte{"params": m.Params, "result": m.Result, "error": m.Error, "id": m.ID} {
		if !bytes.Equal(got, e[name]) {
			t.Errorf("%s is %s, want %s", name, got, e[name])
		}
	}
	var method string
	json.Unmarshal(e["method"], &method)
	if strings.ToValidUTF8(m.Method, "") != strings.ReplaceAll(strings.ToValidUTF8(method, ""), "\ufffd", "") && !strings.Contains(method, "\ufffd") {
		t.Errorf("method is %q, want %q", m.Method, method)
	}
	var result map[string]json.RawMessage
	json.Unmarshal(e["result"], &result)
	if want := m.Kind == Response && string(result["isError"]) == "true"; m.IsError != want {
		t.Errorf("isError is %v, want %v", m.IsError, want)
	}
}

// Names in the envelope are compared with the first other ones, in bounded time.
func TestDuplicatesBound(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"id":1,"result":{"x":1,"x":2}`)
	for i := range 100_000 {
		fmt.Fprintf(&b, `,"k%d":{"x":1}`, i)
	}
	if m := Peek([]byte(b.String() + `}`)); m.Kind != Response || m.DuplicateKeys != nil {
		t.Error(describe(m))
	}
	if m := Peek([]byte(b.String() + `,"k5":1,"\u006b5":1,"id":2}`)); fmt.Sprint(m.DuplicateKeys) != "[k5 id]" || string(m.ID) != "2" {
		t.Error(describe(m))
	}
}

func TestWithin(t *testing.T) {
	const message = `{"jsonrpc":"2.0","id":1,"result":{}}`
	for line, want := range map[string]string{
		"": "", "text": "", "text {": "", `text {"id":1,"result":{}}`: "", "text " + message[:20]: "", message: "",
		"text " + message: message, message + message: message, message + " text": message,
	} {
		if at, got := Within([]byte(line)); string(got) != want || !strings.HasPrefix(line[at:], want) {
			t.Errorf("%q: %q at %d", line, got, at)
		}
	}
}
