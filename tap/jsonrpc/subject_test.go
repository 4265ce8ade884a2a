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
