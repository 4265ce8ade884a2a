package record

import (
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// body returns what is recorded of a JSON body in pieces, as the request and as the response.
func body(target string, pieces ...string) (request, response string) {
	var in, out kept
	m := NewMasker([]byte("a key"), nil, new(tap.Discard))
	head := [][2]string{{"Content-Type", "application/json"}}
	m.Event(1, tap.Event{Name: tap.EventRequest, Method: "POST", Target: target, Header: head})
	m.Event(1, tap.Event{Name: tap.EventResponse, Header: head})
	for i, p := range pieces {
		m.next = &in
		m.Piece(1, tap.ToServer, tap.FormBody, []byte(p), i == len(pieces)-1)
		m.next = &out
		m.Piece(1, tap.ToClient, tap.FormBody, []byte(p), i == len(pieces)-1)
	}
	return in.all.String(), out.all.String()
}

// Tokens are masked in the JSON of any endpoint.
func TestTokensInAnyBody(t *testing.T) {
	for _, target := range []string{"/realms/m/clients-registrations/openid-connect", "/api/auth/session", "/oauth/device/code", "/auth/v1/signup", "/sessions", "/a/b"} {
		for _, name := range []string{"access_token", "accessToken", "refresh_token", "id_token", "client_secret", "registration_access_token", "device_code", "password"} {
			text := `{"a":"b","x":[{"` + name + `":"planted-1"}],"code":7}`
			request, response := body(target, text[:9], text[9:])
			if strings.Contains(request+response, "planted-1") || !strings.HasPrefix(response, `{"a":"b","x":[{"`+name+`":"masked:`) || response != request {
				t.Errorf("%s: recorded %s and %s", target, request, response)
			}
		}
	}
	if _, got := body("/authenticate", `{"token":"planted-1"}`); strings.Contains(got, "planted-1") {
		t.Errorf("recorded %s", got)
	}
}

// JSON-RPC messages are recorded unchanged on any endpoint, and so is all other JSON.
func TestOtherBodiesAreUnchanged(t *testing.T) {
	long := strings.Repeat("x", maxSecretBody)
	for _, pieces := range [][]string{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"state":"open","key":"k","code":"c","password":"p"}}}`},
		{` [{"id":1,"result":{"password":"p","jsonrpc":1},`, `"jsonrpc":"2.0"}]`},
		{`{"result":{"a":"` + long + `"},`, `"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","result":{"a":"`, long, long, `"}}`},
	} {
		for _, target := range []string{"/mcp", "/oauth/mcp"} {
			if target != "/mcp" && strings.HasPrefix(pieces[0], `{"result`) {
				continue // it may be a body with tokens, and is withheld
			}
			request, response := body(target, pieces...)
			if all := strings.Join(pieces, ""); request != all || response != all {
				t.Errorf("%s: %.200s becomes %.200s and %.200s", target, all, request, response)
			}
		}
	}
	for _, text := range []string{`{"issuer":"x","token_endpoint":"/token","code":"c","state":"s"}`, `{"error":{"code":"password"}}`, `[]`, ``, `{"access_token`} {
		if request, response := body("/a/b", text); request != text || response != text {
			t.Errorf("%s becomes %s and %s", text, request, response)
		}
	}
}

// A body that was truncated is recorded, without its tokens.
func TestTruncatedBody(t *testing.T) {
	var all kept
	m := NewMasker([]byte("a key"), nil, &all)
	m.Event(1, tap.Event{Name: tap.EventRequest, Target: "/a/b", Header: [][2]string{{"Content-Type", "application/json"}}})
	m.Piece(1, tap.ToServer, tap.FormBody, []byte(`{"access_token":"planted-1","a":"b`), false)
	m.Event(1, tap.Event{Name: tap.EventEnd})
	if got := all.all.String(); !strings.Contains(got, `,"a":"b`) || strings.Contains(got, "planted-1") {
		t.Errorf("recorded %s", got)
	}
}

// TestUndecodedBody checks that a JSON body that could not be decoded is recorded once.
func TestUndecodedBody(t *testing.T) {
	var all kept
	m := NewMasker([]byte("a key"), nil, &all)
	m.Event(1, tap.Event{Name: tap.EventRequest, Target: "/a/b", Header: [][2]string{{"Content-Type", "application/json"}, {"Content-Encoding", "x"}}})
	m.Piece(1, tap.ToServer, tap.FormBody, []byte("not text: \xff"), true)
	m.Event(1, tap.Event{Name: tap.EventEnd})
	if n := strings.Count(all.all.String(), "not text"); n != 1 {
		t.Errorf("recorded %d times", n)
	}
}

// TestMembersOfMessages checks that a body is not taken for a JSON-RPC message because it has a member of one.
func TestMembersOfMessages(t *testing.T) {
	for _, target := range []string{"/oauth/token", "/a/b"} {
		for _, text := range []string{`{"method":"x","password":"planted-1"}`, `{"result":{"access_token":"planted-1"}}`} {
			if request, response := body(target, text); strings.Contains(request+response, "planted-1") {
				t.Errorf("%s: recorded %s and %s", target, request, response)
			}
		}
	}
}

// TestMessagesAreNotHeld checks that a JSON-RPC message is recorded as it arrives, wherever its member
// jsonrpc is. Otherwise it would be lost if the tap is killed, and numbered after its response.
func TestMessagesAreNotHeld(t *testing.T) {
	for _, pieces := range [][]string{
		{`{"method":"tools/call","params":{"a":"`, `"},"jsonrpc":"2.0","id":1}`},
		{`{"result":{"a":"`, `"},"jsonrpc":"2.0","id":1}`},
		{`{"id":1,"error":{"code":1,"message":"`, `"},"jsonrpc":"2.0"}`},
		{`{`, `"method":"a","params":{"x":"`, `"},"jsonrpc":"2.0"}`},
	} {
		var all kept
		m := NewMasker([]byte("a key"), nil, &all)
		m.Event(1, tap.Event{Name: tap.EventRequest, Target: "/mcp", Header: [][2]string{{"Content-Type", "application/json"}}})
		for _, p := range pieces[:len(pieces)-1] {
			m.Piece(1, tap.ToServer, tap.FormBody, []byte(p), false)
		}
		if got, want := all.all.String(), strings.Join(pieces[:len(pieces)-1], ""); !strings.HasSuffix(got, want) {
			t.Errorf("recorded %q of %q", got, want)
		}
	}
}
