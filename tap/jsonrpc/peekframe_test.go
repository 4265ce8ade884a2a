package jsonrpc

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// peekFrameCases are frames of HTTP with their kinds.
var peekFrameCases = []struct {
	form tap.Form
	raw  string
	want Kind
}{
	{tap.FormLine, `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n", Request},
	{tap.FormLine, "a banner\n", Invalid},
	{tap.FormLine, "", Invalid},

	{tap.FormText, `{"jsonrpc":"2.0","id":1,"result":{}}`, Response},
	{tap.FormText, `hello`, Invalid},
	{tap.FormBinary, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, Notification},
	{tap.FormBinary, "\x00\x01", Invalid},
	{tap.FormPing, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, Other},
	{tap.FormPong, "", Other},
	{tap.FormClose, "\x03\xe8", Other},
	{tap.FormBytes, "PRI * HTTP/2.0\r\n\r\n", Other},

	{tap.FormEvent, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", Response},
	{tap.FormEvent, "event: message\r\nid: 4\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\r\ndata: \"method\":\"ping\"}\r\n\r\n", Request},
	{tap.FormEvent, "event:message\rdata:{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\r\r", Notification},
	{tap.FormEvent, "event:\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"m\"}}\n\n", ErrorResponse},
	{tap.FormEvent, "\ufeffdata: {\"id\":1,\"result\":{}}\n\n", Response},
	{tap.FormEvent, "id: 1\n\ufeffdata: {\"id\":1,\"result\":{}}\n\n", Other},
	{tap.FormEvent, "data: {\"jsonrpc\":\"2.0\",\n\n", Invalid},
	{tap.FormEvent, "data: not JSON\n\n", Invalid},
	{tap.FormEvent, "event: endpoint\ndata: /message?sessionId=1\n\n", Other},
	{tap.FormEvent, "event: endpoint\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", Other},
	{tap.FormEvent, "event: messages\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", Other},
	{tap.FormEvent, "event: message and a name that is longer than any\ndata: {}\n\n", Other},
	{tap.FormEvent, "event: x\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", Response},
	{tap.FormEvent, "id: 1\ndata:\n\n", Other},
	{tap.FormEvent, "data: \ndata:\t\n\n", Other},
	{tap.FormEvent, ": keepalive\n\n", Other},
	{tap.FormEvent, "retry: 3000\n\n", Other},
	{tap.FormEvent, "\n", Other},
	{tap.FormEvent, "", Other},
	{tap.FormEvent, "dat: {}\ndataa: {}\n data: {}\nDATA: {}\n\n", Other},

	{tap.FormBody, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, Request},
	{tap.FormBody, " \r\n{\"id\":1,\"result\":{}}\n", Response},
	{tap.FormBody, "\ufeff" + `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m"}}`, ErrorResponse},
	{tap.FormBody, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"m"}}`, ErrorResponse},
	{tap.FormBody, `{"method":"notifications/initialized"}`, Notification},
	{tap.FormBody, `{"method":"initialize","id":0}`, Request},
	{tap.FormBody, `[{"jsonrpc":"2.0","id":1,"method":"ping"},1]`, Batch},
	{tap.FormBody, `[1,{"jsonrpc":"2.0","id":1,"method":"ping"}]`, Batch},
	{tap.FormBody, `{"jsonrpc":"2.0","id":1}`, Invalid},
	{tap.FormBody, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, Invalid},
	{tap.FormBody, `{"jsonrpc":"2.0","id":1,"method":"ping"`, Invalid},
	{tap.FormBody, `{"result":{"content":[{"type":"te`, Invalid},
	{tap.FormBody, `{"method":"tools/call","params":{"na`, Invalid},
	{tap.FormBody, `{"error":{"code":-326`, Invalid},
	{tap.FormBody, `{"jsonrpc":"2.0","id":1,"result":{}}{"jsonrpc":"2.0","id":2,"result":{}}`, Invalid},
	{tap.FormBody, `[{"jsonrpc":"2.0","id":1,"result":{}},{"x`, Invalid},
	{tap.FormBody, `[{"jsonrpc":"2.0","id":1,"result":{}},tru`, Invalid},
	{tap.FormBody, `[{"jsonrpc":"2.0","id":1,"result":{}}`, Invalid},
	{tap.FormBody, `[{"jsonrpc":"2.0`, Invalid},
	{tap.FormBody, `{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", MaxDepth+1), Invalid},

	{tap.FormBody, ``, Other},
	{tap.FormBody, " \n", Other},
	{tap.FormBody, `Accepted`, Other},
	{tap.FormBody, `<!doctype html><html></html>`, Other},
	{tap.FormBody, `{"access_token":"x","token_type":"Bearer"}`, Other},
	{tap.FormBody, `{"access_token":"x","tok`, Other},
	{tap.FormBody, `{"error":"invalid_grant","error_description":"d"}`, Other},
	{tap.FormBody, `{"error":"invalid_gr`, Other},
	{tap.FormBody, `{"error":{"code":404,"message":"not found"}}`, Other},
	{tap.FormBody, `{"method":"something","x":1}`, Other},
	{tap.FormBody, `{"id":7,"name":"n"}`, Other},
	{tap.FormBody, `grant_type=authorization_code&code=x`, Other},
	{tap.FormBody, `"text"`, Other},
	{tap.FormBody, `42`, Other},
	{tap.FormBody, `[]`, Other},
	{tap.FormBody, `[{"name":"jsonrpc"},{"jsonrpc_version":2}]`, Other},
	{tap.FormBody, `[{"name":"a"},{"na`, Other},
	{tap.FormBody, `[1,2,3`, Other},
	{tap.FormBody, "\x1f\x8b\x08\x00", Other},
	{tap.FormBody, strings.Repeat("[", MaxDepth+1), Other},
}

func TestPeekFrame(t *testing.T) {
	for _, c := range peekFrameCases {
		m := PeekFrame(&tap.Frame{Form: c.form, Raw: []byte(c.raw)})
		if m.Kind != c.want {
			t.Errorf("%v %.100q: %v (%s), want %v", c.form, c.raw, m.Kind, m.Reason, c.want)
		}
		if m.Kind == Other && !reflect.DeepEqual(m, Message{Kind: Other}) {
			t.Errorf("%v %.100q: %+v", c.form, c.raw, m)
		}
	}
}

// PeekFrame reads JSON-RPC as Peek does.
func TestPeekFrameIsPeek(t *testing.T) {
	for _, c := range peekCases {
		want := Peek([]byte(c.raw))
		body := PeekFrame(&tap.Frame{Form: tap.FormBody, Raw: []byte(c.raw)})
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
		if got, want := PeekFrame(&tap.Frame{Form: tap.FormEvent, Raw: []byte(event)}), Peek([]byte(strings.TrimRight(c.raw, "\r\n"))); !reflect.DeepEqual(got, want) {
			t.Errorf("%q as an event:\n got %+v\nwant %+v", c.raw, got, want)
		}
	}
}

// One line of data is not copied; several are, and the frame is unchanged.
func TestPeekFrameMemory(t *testing.T) {
	raw := []byte("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
	f := tap.Frame{Form: tap.FormEvent, Raw: raw}
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
		form      tap.Form
		raw, want string
	}{
		{tap.FormLine, "{}\n", "{}\n"},
		{tap.FormBody, "data: x\n\n", "data: x\n\n"},
		{tap.FormEvent, "id: 1\ndata: {}\n\n", "{}"},
		{tap.FormEvent, "event: endpoint\ndata: /a\ndata: b\n\n", "/a\nb"},
		{tap.FormEvent, ": keepalive\n\n", ": keepalive\n\n"},
		{tap.FormEvent, "id: 1\ndata:\n\n", "id: 1\ndata:\n\n"},
	} {
		if got := Payload(&tap.Frame{Form: c.form, Raw: []byte(c.raw)}); string(got) != c.want {
			t.Errorf("%v %q: %q, want %q", c.form, c.raw, got, c.want)
		}
	}
}

// The beginning of a frame that is too large to load is read.
func TestPeekFrameTooLarge(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, c := range []struct {
		form tap.Form
		raw  string
		want string
	}{
		{tap.FormLine, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"x":"` + long, "request 5 tools/call"},
		{tap.FormBody, `{"jsonrpc":"2.0","id":5,"result":{"isError":true,"x":"` + long, "response 5  isError"},
		{tap.FormLine, `{"result":{"x":"` + long, "response  "},
		{tap.FormEvent, "id: 7\ndata: " + `{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"m","data":"` + long, "error 5  code=1 message=m"},
		{tap.FormEvent, "event: endpoint\ndata: /" + long, "other  "},
		{tap.FormLine, `[{"jsonrpc":"2.0","id":5,"method":"x"},{"x":"` + long, "batch  "},
		{tap.FormBody, `{"result":{"x":"` + long, "response  "},
		{tap.FormLine, `{"method":"tools/call","params":{"x":"` + long, "request  tools/call"},
		{tap.FormLine, `{"method":"notifications/message","params":{"x":"` + long, "notification  notifications/message"},
		{tap.FormBody, `<html>` + long, "other  "},
		{tap.FormBody, `{"access_token":"` + long, "other  "},
		{tap.FormLine, `Hello ` + long, "invalid  "},
		{tap.FormLine, strings.Repeat(" ", 1000), "other  "},
		{tap.FormPing, long, "other  "},
	} {
		m := PeekFrame(&tap.Frame{Form: c.form, Raw: []byte(c.raw), Size: 100 << 20})
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
