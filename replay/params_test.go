package replay

import (
	"fmt"
	"testing"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// TestFieldValue: a header field value that is not plain text is base64-encoded.
func TestFieldValue(t *testing.T) {
	for value, want := range map[string]string{
		"": "", "plain text": "plain text", "größe": "=?base64?Z3LDtsOfZQ==?=", " x": "=?base64?IHg=?=", "a\nb": "=?base64?YQpi?=",
		"=?base64?x?=": "=?base64?PT9iYXNlNjQ/eD89?=",
	} {
		if got := EncodeField(value); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
		if got := DecodeField(EncodeField(value)); got != value {
			t.Errorf("%q decodes to %q", value, got)
		}
	}
}

// The fields of nested arguments count, those of arguments that are null or missing do not.
func TestParamFields(t *testing.T) {
	fields := ParamFields{}
	fields.Learn([]byte(`{"tools":[{"name":"a","inputSchema":{"properties":{"city":{"type":"string","x-mcp-header":"City"},
		"n":{"type":"integer","x-mcp-header":"Count"},"at":{"properties":{"deep":{"x-mcp-header":"Deep"}}},"not":{"x-mcp-header":"a b"}}}},{"name":"b"}]}`))
	call := func(arguments string) *jsonrpc.Message {
		m := jsonrpc.Peek([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":` + arguments + `}}`))
		return &m
	}
	m := call(`{"city":"Köln","n":7,"at":{"deep":true},"not":1}`)
	if got := fmt.Sprint(fields.Of(m.Params)); got != "[[Mcp-Param-City =?base64?S8O2bG4=?=] [Mcp-Param-Count 7] [Mcp-Param-Deep true]]" {
		t.Error(got)
	}
	if got := fields.Of(call(`{"city":null,"at":{"n":7}}`).Params); got != nil {
		t.Error(got)
	}
	for _, c := range []struct {
		arguments string
		fields    [][2]string
		differ    bool
	}{
		{`{"city":"Oslo"}`, [][2]string{{"mcp-param-city", "Oslo"}}, false},
		{`{"city":"Oslo"}`, [][2]string{{"Mcp-Param-City", "=?base64?T3Nsbw==?="}}, false},
		{`{"city":"Oslo"}`, [][2]string{{"Mcp-Param-City", "oslo"}}, true},
		{`{"city":"Oslo"}`, [][2]string{{"Mcp-Param-Cit", "Oslo"}}, true},
		{`{"city":"Oslo"}`, nil, true},
		{`{"n":7}`, [][2]string{{"Mcp-Param-Count", "7.0"}}, false},
		{`{"n":7}`, [][2]string{{"Mcp-Param-Count", "8"}}, true},
		{`{"city":"7"}`, [][2]string{{"Mcp-Param-City", "7.0"}}, true},
		{`{}`, nil, false},
	} {
		head := ReadHead(append(c.fields, [2]string{"MCP-Protocol-Version", "2026-07-28"}))
		if got := fields.Wrong(&head, call(c.arguments)); got != "" != c.differ {
			t.Errorf("%s with %v: %q", c.arguments, c.fields, got)
		}
	}
	old := ReadHead([][2]string{{"MCP-Protocol-Version", "2025-11-25"}})
	if fields.Wrong(&old, call(`{"city":"Oslo"}`)) != "" {
		t.Error("the fields are required of 2025-11-25")
	}
}
