package tap

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// peekFrameCases are frames of HTTP, and what they are.
var peekFrameCases = []struct {
	form Form
	raw  string
	want Kind
}{
	{FormLine, `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n", Request},
	{FormLine, "a banner\n", Invalid},
	{FormLine, "", Invalid},

	{FormText, `{"jsonrpc":"2.0","id":1,"result":{}}`, Response},
	{FormText, `hello`, Invalid},
	{FormBinary, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, Notification},
	{FormBinary, "\x00\x01", Invalid},
	{FormPing, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, Other},
	{FormPong, "", Other},
	{FormClose, "\x03\xe8", Other},
	{FormBytes, "PRI * HTTP/2.0\r\n\r\n", Other},

	{FormEvent, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", Response},
	{FormEvent, "event: message\r\nid: 4\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\r\ndata: \"method\":\"ping\"}\r\n\r\n", Request},
	{FormEvent, "event:message\rdata:{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\r\r", Notification},
	{FormEvent, "event:\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"m\"}}\n\n", ErrorResponse},
	{FormEvent, "\ufeffdata: {\"id\":1,\"result\":{}}\n\n", Response},
	{FormEvent, "id: 1\n\ufeffdata: {\"id\":1,\"result\":{}}\n\n", Other},
	{FormEvent, "data: {\"jsonrpc\":\"2.0\",\n\n", Invalid},
	{FormEvent, "data: not JSON\n\n", Invalid},
	{FormEvent, "event: endpoint\ndata: /message?sessionId=1\n\n", Other},
	{FormEvent, "event: endpoint\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", Other},
	{FormEvent, "event: messages\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", Other},
	{FormEvent, "event: message and a name that is longer than any\ndata: {}\n\n", Other},
	{FormEvent, "event: x\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", Response},
	{FormEvent, "id: 1\ndata:\n\n", Other},
	{FormEvent, "data: \ndata:\t\n\n", Other},
	{FormEvent, ": keepalive\n\n", Other},
	{FormEvent, "retry: 3000\n\n", Other},
	{FormEvent, "\n", Other},
	{FormEvent, "", Other},
	{FormEvent, "dat: {}\ndataa: {}\n data: {}\nDATA: {}\n\n", Other},

	{FormBody, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, Request},
	{FormBody, " \r\n{\"id\":1,\"result\":{}}\n", Response},
	{FormBody, "\ufeff" + `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m"}}`, ErrorResponse},
	{FormBody, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"m"}}`, ErrorResponse},
	{FormBody, `{"method":"notifications/initialized"}`, Notification},
	{FormBody, `{"method":"initialize","id":0}`, Request},
	{FormBody, `[{"jsonrpc":"2.0","id":1,"method":"ping"},1]`, Batch},
	{FormBody, `[1,{"jsonrpc":"2.0","id":1,"method":"ping"}]`, Batch},
	{FormBody, `{"jsonrpc":"2.0","id":1}`, Invalid},
	{FormBody, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, Invalid},
	{FormBody, `{"jsonrpc":"2.0","id":1,"method":"ping"`, Invalid},
	{FormBody, `{"result":{"content":[{"type":"te`, Invalid},
	{FormBody, `{"method":"tools/call","params":{"na`, Invalid},
	{FormBody, `{"error":{"code":-326`, Invalid},
	{FormBody, `{"jsonrpc":"2.0","id":1,"result":{}}{"jsonrpc":"2.0","id":2,"result":{}}`, Invalid},
	{FormBody, `[{"jsonrpc":"2.0","id":1,"result":{}},{"x`, Invalid},
	{FormBody, `[{"jsonrpc":"2.0","id":1,"result":{}},tru`, Invalid},
	{FormBody, `[{"jsonrpc":"2.0","id":1,"result":{}}`, Invalid},
	{FormBody, `[{"jsonrpc":"2.0`, Invalid},
	{FormBody, `{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", MaxDepth+1), Invalid},

	{FormBody, ``, Other},
	{FormBody, " \n", Other},
	{FormBody, `Accepted`, Other},
	{FormBody, `<!doctype html><html></html>`, Other},
	{FormBody, `{"access_token":"x","token_type":"Bearer"}`, Other},
	{FormBody, `{"access_token":"x","tok`, Other},
	{FormBody, `{"error":"invalid_grant","error_description":"d"}`, Other},
	{FormBody, `{"error":"invalid_gr`, Other},
	{FormBody, `{"error":{"code":404,"message":"not found"}}`, Other},
	{FormBody, `{"method":"something","x":1}`, Other},
	{FormBody, `{"id":7,"name":"n"}`, Other},
	{FormBody, `grant_type=authorization_code&code=x`, Other},
	{FormBody, `"text"`, Other},
	{FormBody, `42`, Other},
	{FormBody, `[]`, Other},
	{FormBody, `[{"name":"jsonrpc"},{"jsonrpc_version":2}]`, Other},
	{FormBody, `[{"name":"a"},{"na`, Other},
	{FormBody, `[1,2,3`, Other},
	{FormBody, "\x1f\x8b\x08\x00", Other},
	{FormBody, strings.Repeat("[", MaxDepth+1), Other},
}

func TestPeekFrame(t *testing.T) {
	for _, c := range peekFrameCases {
		m := PeekFrame(&Frame{Form: c.form, Raw: []byte(c.raw)})
		if m.Kind != c.want {
			t.Errorf("%v %.100q: %v (%s), want %v", c.form, c.raw, m.Kind, m.Reason, c.want)
		}
		if m.Kind == Other && !reflect.DeepEqual(m, Message{Kind: Other}) {
			t.Errorf("%v %.100q: %+v", c.form, c.raw, m)
		}
	}
}

// What PeekFrame takes for JSON-RPC reads as Peek reads it.
func TestPeekFrameIsPeek(t *testing.T) {
	for _, c := range peekCases {
		want := Peek([]byte(c.raw))
		body := PeekFrame(&Frame{Form: FormBody, Raw: []byte(c.raw)})
		if body.Kind != Other && !reflect.DeepEqual(body, want) {
			t.Errorf("%q as a body:\n got %+v\nwant %+v", c.raw, body, want)
		}
		if want.Kind != Invalid && want.Kind != Batch && body.Kind == Other && !strings.Contains(want.Reason, "no jsonrpc member") {
			t.Errorf("%q as a body is other", c.raw)
		}
		if strings.ContainsAny(strings.TrimRight(c.raw, "\r\n"), "\r\n") || len(trimJSON([]byte(c.raw))) == 0 {
			continue
		}
		event := "data: " + strings.TrimRight(c.raw, "\r\n") + "\n\n"
		if got, want := PeekFrame(&Frame{Form: FormEvent, Raw: []byte(event)}), Peek([]byte(strings.TrimRight(c.raw, "\r\n"))); !reflect.DeepEqual(got, want) {
			t.Errorf("%q as an event:\n got %+v\nwant %+v", c.raw, got, want)
		}
	}
}

// One line of data is not copied; several are, and leave the frame as it is.
func TestPeekFrameMemory(t *testing.T) {
	raw := []byte("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
	f := Frame{Form: FormEvent, Raw: raw}
	if m := PeekFrame(&f); &m.Result[0] != &raw[bytes.Index(raw, []byte("{}"))] {
		t.Error("a copy was made")
	}
	raw = []byte("data: {\"jsonrpc\":\"2.0\",\"id\":1,\ndata: \"result\":{}}\n\n")
	before := string(raw)
	f.Raw = raw
	if m := PeekFrame(&f); m.Kind != Response || string(raw) != before {
		t.Errorf("%+v of %q", m, raw)
	}
}

func TestPayload(t *testing.T) {
	for _, c := range []struct {
		form      Form
		raw, want string
	}{
		{FormLine, "{}\n", "{}\n"},
		{FormBody, "data: x\n\n", "data: x\n\n"},
		{FormEvent, "id: 1\ndata: {}\n\n", "{}"},
		{FormEvent, "event: endpoint\ndata: /a\ndata: b\n\n", "/a\nb"},
		{FormEvent, ": keepalive\n\n", ": keepalive\n\n"},
		{FormEvent, "id: 1\ndata:\n\n", "id: 1\ndata:\n\n"},
	} {
		if got := Payload(&Frame{Form: c.form, Raw: []byte(c.raw)}); string(got) != c.want {
			t.Errorf("%v %q: %q, want %q", c.form, c.raw, got, c.want)
		}
	}
}

// Of a frame that is too large to load, the beginning is read.
func TestPeekFrameTooLarge(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, c := range []struct {
		form Form
		raw  string
		want string
	}{
		{FormLine, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"x":"` + long, "request 5 tools/call"},
		{FormBody, `{"jsonrpc":"2.0","id":5,"result":{"isError":true,"x":"` + long, "response 5  isError"},
		{FormLine, `{"result":{"x":"` + long, "response  "},
		{FormEvent, "id: 7\ndata: " + `{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"m","data":"` + long, "error 5  code=1 message=m"},
		{FormEvent, "event: endpoint\ndata: /" + long, "other  "},
		{FormLine, `[{"jsonrpc":"2.0","id":5,"method":"x"},{"x":"` + long, "batch  "},
		{FormBody, `{"result":{"x":"` + long, "response  "},
		{FormLine, `{"method":"tools/call","params":{"x":"` + long, "request  tools/call"},
		{FormLine, `{"method":"notifications/message","params":{"x":"` + long, "notification  notifications/message"},
		{FormBody, `<html>` + long, "other  "},
		{FormBody, `{"access_token":"` + long, "other  "},
		{FormLine, `Hello ` + long, "invalid  "},
		{FormLine, strings.Repeat(" ", 1000), "other  "},
		{FormPing, long, "other  "},
	} {
		m := PeekFrame(&Frame{Form: c.form, Raw: []byte(c.raw), Size: 100 << 20})
		if m.Params != nil || m.Result != nil || m.Error != nil {
			t.Errorf("%.60q: has params, result or error", c.raw)
		}
		reason := m.Reason
		if m.Reason = ""; describe(m) != c.want {
			t.Errorf("%.60q: %s, want %s", c.raw, describe(m), c.want)
		}
		if m.Kind != Invalid && m.Kind != Other && reason != "too large to be read: 104857600 bytes" {
			t.Errorf("%.60q: %q", c.raw, reason)
		}
	}
}
