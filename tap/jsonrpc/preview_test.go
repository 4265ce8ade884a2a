package jsonrpc

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPreview(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"arguments", `{"id":1,"method":"tools/call","params":{"name":"a","arguments":{ "x" : "a \" b" ,"y":[1, 2]}}}`, `{"x":"a \" b","y":[1,2]}`},
		{"escapes", `{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":"K\u00f6ln \ud83d\ude00 \u0022\u0007"}}}`, `{"x":"Köln 😀 \u0022\u0007"}`},
		{"no arguments", `{"id":1,"method":"tools/call","params":{"name":"a"}}`, ""},
		{"empty arguments", `{"id":1,"method":"prompts/get","params":{"name":"a","arguments":{}}}`, ""},
		{"subject says it all", `{"id":1,"method":"resources/read","params":{"uri":"a:b"}}`, ""},
		{"unknown method", `{"id":1,"method":"x/y","params":{"_meta":{},"a":1,"b":{"c": 2}}}`, `{"a":1,"b":{"c":2}}`},
		{"retry", `{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1},"inputResponses":{"k":{"action":"accept"}}}}`, `{"x":1} inputResponses {"k":{"action":"accept"}}`},
		{"notification", `{"method":"notifications/initialized"}`, ""},
		{"progress", `{"method":"notifications/progress","params":{"progressToken":0,"progress":1,"total":4,"message":"m"}}`, "1/4 m"},
		{"cancellation", `{"method":"notifications/cancelled","params":{"requestId":5,"reason":"bored"}}`, "bored"},
		{"text", `{"id":1,"result":{"content":[{"type":"text","text":"Echo: m0"}]}}`, `"Echo: m0"`},
		{"text of several lines", `{"id":1,"result":{"content":[{"type":"text","text":"a\n  b"}]}}`, `"a b"`},
		{"structured content", `{"id":1,"result":{"content":[{"type":"text","text":"x"}],"structuredContent":{"a": 1}}}`, `{"a":1}`},
		{"several blocks", `{"id":1,"result":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{}]}}`, `"a" +2 more`},
		{"image", `{"id":1,"result":{"content":[{"type":"image","mimeType":"image/png","data":"AAAAAAAA"}]}}`, "image/png 6 bytes"},
		{"link", `{"id":1,"result":{"content":[{"type":"resource_link","uri":"file:///a","name":"a"}]}}`, "resource_link file:///a"},
		{"embedded resource", `{"id":1,"result":{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"x"}}]}}`, "resource file:///a"},
		{"contents", `{"id":1,"result":{"contents":[{"uri":"file:///a","text":"x"}]}}`, `"x"`},
		{"no content", `{"id":1,"result":{"content":[]}}`, ""},
		{"list", `{"id":1,"result":{"tools":[{},{}]}}`, "2 tools"},
		{"initialize", `{"id":1,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"a","version":"1"}}}`, "a 1, 2025-06-18"},
		{"sampling", `{"id":1,"result":{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}}`, `"hi"`},
		{"elicitation", `{"id":1,"result":{"action":"accept","content":{"day":"Sunday"}}}`, `accept {"day":"Sunday"}`},
		{"input required", `{"id":1,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}}`, "input required: roots/list"},
		{"empty", `{"id":1,"result":{}}`, "{}"},
		{"empty but for meta", `{"id":1,"result":{"_meta":{"a":1},"resultType":"complete"}}`, "{}"},
		{"custom", `{"id":1,"result":{"_meta":{"a":1},"x":[1, 2]}}`, `{"x":[1,2]}`},
		{"output of the dialect", `{"id":1,"result":{"status":"success","output":{"t": 89}}}`, `success {"t":89}`},
		{"null", `{"id":1,"result":null}`, "null"},
		{"list of the dialect", `{"id":1,"result":[{"name": "a"}]}`, `[{"name":"a"}]`},
		{"error", `{"id":1,"error":{"code":1,"message":"m"}}`, ""},
		{"banner", `hello`, ""},
	} {
		if got := Preview(Peek([]byte(c.raw))); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPreviewBound(t *testing.T) {
	long := strings.Repeat("😀", 100_000)
	for _, raw := range []string{
		`{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"k":"` + long + `"}}}`,
		`{"id":1,"method":"x/y","params":{"k":"` + long + `","l":1}}`,
		`{"id":1,"result":{"content":[{"type":"text","text":"` + long + `"}]}}`,
		`{"id":1,"result":{"` + long + `":1}}`,
		`{"id":1,"result":` + strings.Repeat("[", 60) + `"` + long + `"` + strings.Repeat("]", 60) + `}`,
	} {
		s := Preview(Peek([]byte(raw)))
		if len(s) > MaxSubject || len(s) < MaxSubject-8 || !utf8.ValidString(s) {
			t.Errorf("%.40s: %d bytes, valid %v", raw, len(s), utf8.ValidString(s))
		}
	}
}
