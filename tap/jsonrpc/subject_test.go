package jsonrpc

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSubject(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"initialize", `{"id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"a","version":"1"}}}`, "a 1, 2025-06-18"},
		{"initialize without info", `{"id":1,"method":"initialize","params":{}}`, ""},
		{"discover", `{"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"}}}}`, "a 1, 2026-07-28"},
		{"discover result", `{"id":1,"result":{"supportedVersions":["2026-07-28","x"],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}}}}`, "s 2, 2026-07-28, x"},
		{"cancelled", `{"method":"notifications/cancelled","params":{"requestId":"5","reason":"bored"}}`, `"5" bored`},
		{"cancelled by number", `{"method":"notifications/cancelled","params":{"requestId":5}}`, "5"},
		{"progress", `{"method":"notifications/progress","params":{"progressToken":0,"progress":0.50,"total":1.0,"message":"half"}}`, "0 0.50/1.0 half"},
		{"log of a string", `{"method":"notifications/message","params":{"level":"info","data":"a\nb"}}`, "info a\nb"},
		{"elicitation", `{"id":1,"method":"elicitation/create","params":{"mode":"url","message":"Log in","url":"https://x"}}`, "Log in https://x"},
		{"sampling by list", `{"id":1,"method":"sampling/createMessage","params":{"messages":[{"content":{"type":"text","text":"a"}},{"content":[{"type":"image"},{"type":"text","text":"b"}]}]}}`, "b"},
		{"listen", `{"id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":false,"resourceSubscriptions":["a:b","c:d"]}}}`, "toolsListChanged resourceSubscriptions=a:b,c:d"},
		{"completion of a uri", `{"id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"file:///{p}"},"argument":{"name":"p","value":""}}}`, "file:///{p} p="},
		{"task status", `{"method":"notifications/tasks/status","params":{"taskId":"t1","status":"working"}}`, "t1 working"},
		{"task result", `{"id":1,"result":{"task":{"taskId":"t1","status":"working"}}}`, "t1 working"},
		{"task of the extension", `{"id":1,"result":{"resultType":"task","taskId":"t1","status":"failed","statusMessage":"why"}}`, "t1 failed why"},
		{"input required", `{"id":1,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"Sure?"}},"r":{"method":"roots/list"}}}}`, "input required: elicitation/create Sure?, roots/list"},
		{"list result", `{"id":1,"result":{"tools":[{},{}]}}`, "2 tools"},
		{"page of a list", `{"id":1,"result":{"tools":[{}],"nextCursor":"c"}}`, "1 tool, more pages"},
		{"last page of a list", `{"id":1,"result":{"tools":[{}],"nextCursor":""}}`, "1 tool"},
		{"empty result", `{"id":1,"result":{}}`, ""},
		{"null result", `{"id":1,"result":null}`, ""},
		{"elicitation result", `{"id":1,"result":{"action":"decline"}}`, "decline"},
		{"error", `{"id":1,"error":{"code":-32601,"message":"no \"x\""}}`, `-32601 no "x"`},
		{"error that is a string", `{"id":1,"error":"boom"}`, "boom"},
		{"last of two names", `{"id":1,"method":"tools/call","params":{"name":"a","name":"b"}}`, "b"},
		{"escaped name", `{"id":1,"method":"tools/call","params":{"n\u0061me":"\u00e9"}}`, "é"},
		{"unknown method", `{"id":1,"method":"x/y","params":{"uri":"u","name":7}}`, "7"},
		{"params is an array", `{"id":1,"method":"tools/call","params":["a"]}`, ""},
		{"batch", `[{"id":1,"method":"ping"},{"id":1,"result":{}},4]`, "ping, response, invalid"},
		{"banner", `hello`, ""},
	} {
		if got := Subject(Peek([]byte(c.raw))); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSubjectBound(t *testing.T) {
	for pad := range 5 { // cut at each place inside a character
		long := strings.Repeat("x", pad) + strings.Repeat("😀", 1000)
		for _, raw := range []string{
			`{"id":1,"method":"tools/call","params":{"name":"` + long + `"}}`,
			`{"id":1,"method":"notifications/message","params":{"data":{"k":"` + long + `"}}}`,
			`{"id":1,"error":{"code":1,"message":"` + long + `"}}`,
		} {
			s := Subject(Peek([]byte(raw)))
			if len(s) > MaxSubject || len(s) < MaxSubject-3 || !utf8.ValidString(s) {
				t.Errorf("%d bytes, valid %v", len(s), utf8.ValidString(s))
			}
		}
	}
}

func TestPreview(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"arguments", `{"id":1,"method":"tools/call","params":{"name":"a","arguments":{ "x" : "a \" b" ,"y":[1, 2]}}}`, `{"x":"a \" b","y":[1,2]}`},
		{"escapes", `{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":"K\u00f6ln \ud83d\ude00 \u0022\u0007"}}}`, `{"x":"Köln 😀 \u0022\u0007"}`},
		{"no arguments", `{"id":1,"method":"tools/call","params":{"name":"a"}}`, ""},
		{"empty arguments", `{"id":1,"method":"prompts/get","params":{"name":"a","arguments":{}}}`, ""},
		{"subject is enough", `{"id":1,"method":"resources/read","params":{"uri":"a:b"}}`, ""},
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
