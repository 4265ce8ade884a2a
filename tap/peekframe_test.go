package tap

import (
	"bytes"
	"math/rand/v2"
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
		if strings.ContainsAny(strings.TrimRight(c.raw, "\r\n"), "\r\n") || len(trimSpace([]byte(c.raw))) == 0 {
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

// checkFrameScanner holds that a scanner agrees with PeekFrame, whatever the
// frame is cut into.
func checkFrameScanner(t testing.TB, form Form, raw []byte, seed uint64) {
	t.Helper()
	want := PeekFrame(&Frame{Form: form, Raw: raw})
	var tally Tally
	tally.failures(&want)
	r := rand.New(rand.NewPCG(seed, 1))
	for _, most := range []int{1, 3, 64, len(raw) + 1} {
		s := NewFrameScanner(form)
		for _, p := range cutAtRandom(r, raw, most) {
			s.Write(p)
		}
		got := s.Message()
		if got.Kind != want.Kind || !want.Long && string(got.ID) != string(want.ID) || !want.Long && got.Method != want.Method ||
			got.IsError != want.IsError || got.ErrorCode != want.ErrorCode || got.ErrorMessage != want.ErrorMessage || got.ResultType != want.ResultType {
			t.Fatalf("%v %.300q in chunks of up to %d:\n got %+v\nwant %+v", form, raw, most, got, want)
		}
		if failures, invalid := s.Failures(); uint64(failures) != tally.Errors || uint64(invalid) != tally.Invalid {
			t.Fatalf("%v %.300q: %d failures, %d invalid, want %d and %d", form, raw, failures, invalid, tally.Errors, tally.Invalid)
		}
	}
}

func TestFrameScanner(t *testing.T) {
	for i, c := range peekFrameCases {
		checkFrameScanner(t, c.form, []byte(c.raw), uint64(i))
	}
	for i, c := range peekCases {
		for form := range Forms {
			checkFrameScanner(t, form, []byte(c.raw), uint64(i))
		}
		checkFrameScanner(t, FormEvent, []byte("data:"+c.raw+"\n\n"), uint64(i))
	}
	checkFrameScanner(t, FormBody, []byte("["+strings.Repeat("1,", MaxBatch+5)+"1]"), 1)
	checkFrameScanner(t, FormBody, []byte("["+strings.Repeat(`{"id":1,"method":"a"},`, MaxBatch+5)+"1]"), 1)
}

// FuzzFrameScanner feeds events and bodies, some of JSON.
func FuzzFrameScanner(f *testing.F) {
	for _, c := range peekFrameCases {
		if len(c.raw) < 1000 {
			f.Add([]byte(c.raw), uint64(1))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64) {
		for form := range Forms {
			checkFrameScanner(t, form, raw, seed)
		}
		checkFrameScanner(t, FormEvent, append([]byte("data: "), bytes.ReplaceAll(raw, []byte(`,`), []byte(",\ndata: "))...), seed)
	})
}
