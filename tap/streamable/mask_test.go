package streamable

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

func testMasker() *masker { return newMasker([]byte("a key"), false) }

// The pseudonym of a value depends on the key and on nothing else.
func TestPseudonyms(t *testing.T) {
	m := testMasker()
	p := m.pseudonym("s3cret")
	if p != testMasker().pseudonym("s3cret") || p == m.pseudonym("s3cre") || len(p) != len("masked:1a2b3c4d5e6f") {
		t.Errorf("the pseudonym is %q", p)
	}
	if newMasker([]byte("another key"), false).pseudonym("s3cret") == p {
		t.Error("the key does not matter")
	}
	if m.pseudonym("") != "" || newMasker(nil, true).pseudonym("s3cret") != "s3cret" {
		t.Error("what is empty, or not to be masked, is masked")
	}
}

func TestMaskedFields(t *testing.T) {
	m := testMasker()
	p := func(s string) string { return m.pseudonym(s) }
	for _, tc := range []struct{ name, value, want string }{
		{"Authorization", "Bearer abc", "Bearer " + p("abc")},
		{"authorization", "Bearer  abc ", "Bearer " + p("abc")},
		{"AUTHORIZATION", "abc", p("abc")},
		{"Authorization", `Digest username="me", uri="/"`, "Digest " + p(`username="me", uri="/"`)},
		{"Authorization", `(odd abc`, p("(odd abc")},
		{"Authorization", "", ""},
		{"Cookie", "a=1; b=2;c", "a=" + p("1") + "; b=" + p("2") + ";" + p("c")},
		{"Cookie", "a==1", "a=" + p("=1")},
		{"Set-Cookie", "a=1; Path=/; Expires=x", "a=" + p("1") + "; Path=/; Expires=x"},
		{"Set-Cookie", "a=", "a="},
		{"Set-Cookie2", `a="1"; Version="1", b=2`, p(`a="1"; Version="1", b=2`)},
		{"X-Amz-Server-Side-Encryption-Customer-Key", "abc=", p("abc=")},
		{"X-Amz-Server-Side-Encryption-Customer-Key-MD5", "abc=", "abc="},
		{"mcp-session-id", "1", p("1")},
		{"x-api-key", "1", p("1")},
		{"CONTEXT7_API_KEY", "1", p("1")},
		{"X-Auth-Token", "1", p("1")},
		{"X-RateLimit-Remaining-Tokens", "1", "1"},
		{"Location", "/cb?code=1&x=2#access_token=3", "/cb?code=" + p("1") + "&x=2#access_token=" + p("3")},
		{"Referer", "http://x/y", "http://x/y"},
		{"", "what is this", p("what is this")},
		{"Mcp-Param-Token-Count", "1", "1"},
		{"X-Authorization", "Bearer 1", p("Bearer 1")},
		{"Authentication", "1", p("1")},
		{"DPoP", "1", p("1")},
		{"Sec-WebSocket-Protocol", "mcp, graphql-transport-ws,v1", "mcp, graphql-transport-ws,v1"},
		{"Sec-WebSocket-Protocol", "mcp, base64url.bearer.authorization.k8s.io.abc", "mcp, " + p("base64url.bearer.authorization.k8s.io.abc")},
		{"Token", "1", p("1")},
		{"Password", "1", p("1")},
		{"Refresh", "0; url=/cb?code=1", "0; url=/cb?code=" + p("1")},
		{"Location", "https://me:pw@x/y?a=b@c", "https://" + p("me:pw") + "@x/y?a=b@c"},
	} {
		if got := m.field(tc.name, tc.value); got != tc.want {
			t.Errorf("%s: %q becomes %q, want %q", tc.name, tc.value, got, tc.want)
		}
	}
}

func TestMaskedURLs(t *testing.T) {
	m := testMasker()
	for raw, want := range map[string]string{
		"/mcp":                            "/mcp",
		"/message?sessionId=1":            "/message?sessionId=" + m.pseudonym("1"),
		"/message?SESSION_ID=1&a=b":       "/message?SESSION_ID=" + m.pseudonym("1") + "&a=b",
		"/cb?co%64e=a%20b;state=x":        "/cb?co%64e=" + m.pseudonym("a b") + ";state=" + m.pseudonym("x"),
		"/cb?code=%zz&code&code=":         "/cb?code=" + m.pseudonym("%zz") + "&code&code=",
		"/?a=code=1&&x":                   "/?a=code=1&&x",
		"http://u/p?api_key=k#state=s":    "http://u/p?api_key=" + m.pseudonym("k") + "#state=" + m.pseudonym("s"),
		"http://me:pw@x":                  "http://" + m.pseudonym("me:pw") + "@x",
		"//me@x/@y":                       "//" + m.pseudonym("me") + "@x/@y",
		"/users//@me":                     "/users//@me",
		"http://x/@y?z@w":                 "http://x/@y?z@w",
		"/blob?se=1&sig=a%2Bb":            "/blob?se=1&sig=" + m.pseudonym("a+b"),
		"/o?X-Amz-Signature=1&sid=2":      "/o?X-Amz-Signature=" + m.pseudonym("1") + "&sid=" + m.pseudonym("2"),
		"/message?sessionId=1?sessionId=": "/message?sessionId=" + m.pseudonym("1?sessionId="),
	} {
		if got, _ := m.url(raw); got != want {
			t.Errorf("%s becomes %s, want %s", raw, got, want)
		}
	}
}

// The body of an endpoint of OAuth that does not say of which type it is.
func TestMaskedUnnamed(t *testing.T) {
	m := testMasker()
	for raw, want := range map[string]string{
		"code=1&a=b":          "code=" + m.pseudonym("1") + "&a=b",
		" \n{\"code\":\"1\"}": " \n{\"code\":\"" + m.pseudonym("1") + "\"}",
		"":                    "",
		"plain words":         "plain words",
	} {
		if got, _ := m.unnamed([]byte(raw)); string(got) != want {
			t.Errorf("%q becomes %q, want %q", raw, got, want)
		}
	}
}

func TestMaskedJSON(t *testing.T) {
	m := testMasker()
	q := func(s string) string { return `"` + m.pseudonym(s) + `"` }
	for raw, want := range map[string]string{
		`{"access_token":"1","a":"b"}`:          `{"access_token":` + q("1") + `,"a":"b"}`,
		` { "token" : "\u0031\"x" , "b":1}`:     ` { "token" : ` + q(`1"x`) + ` , "b":1}`,
		`{"acc\u0065ss_token":"1"}`:             `{"acc\u0065ss_token":` + q("1") + `}`,
		`{"Access_Token":"1"}`:                  `{"Access_Token":` + q("1") + `}`,
		`[{"x":{"code":"1"}}]`:                  `[{"x":{"code":` + q("1") + `}}]`,
		`{"error":{"code":-32600,"x":"y"}}`:     `{"error":{"code":-32600,"x":"y"}}`,
		`{"code":null,"token":true,"state":""}`: `{"code":null,"token":true,"state":""}`,
		`{"token":["1",{"a":"]"}],"b":2}`:       `{"token":` + q(`["1",{"a":"]"}]`) + `,"b":2}`,
		`{"a":"\"code\":\"1\""}`:                `{"a":"\"code\":\"1\""}`,
		`{"access_token":"1`:                    `{"access_token":` + q(`1`),
		`{"access_token":`:                      `{"access_token":`,
		`{"access_token"`:                       `{"access_token"`,
		`{"access_token":["1","2`:               `{"access_token":` + q(`["1","2`),
		`"token":"1" "code" :"2"`:               `"token":` + q("1") + ` "code" :` + q("2"),
		`not JSON`:                              `not JSON`,
		``:                                      ``,
	} {
		got, _ := m.json([]byte(raw))
		if string(got) != want {
			t.Errorf("%s becomes %s, want %s", raw, got, want)
		}
	}
}

// A secret is found wherever it stands in a document, and the document stays one.
func FuzzMaskJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"access_token":"$"}]}`, `{"refresh_token":{"a":"$"}}`, `{"x":"y"`} {
		f.Add(s, "abcdef")
	}
	f.Fuzz(func(t *testing.T, doc, secret string) {
		m := testMasker()
		var v any
		valid := json.Unmarshal([]byte(doc), &v) == nil
		masked, _ := m.json([]byte(doc))
		if valid && json.Unmarshal(masked, &v) != nil {
			t.Errorf("%q becomes %q", doc, masked)
		}
		if again, _ := m.json([]byte(doc)); string(again) != string(masked) {
			t.Errorf("%q becomes %q and %q", doc, masked, again)
		}
		if len(secret) < 6 || !utf8.ValidString(secret) {
			return
		}
		quoted, _ := json.Marshal(map[string]any{"a": 1, "access_token": "\x00" + secret})
		around := append(append([]byte(`[{"b":"c"},`), quoted...), ']')
		masked, _ = m.json(around)
		inner, _ := json.Marshal(secret)
		if strings.Contains(string(masked), strings.Trim(string(inner), `"`)) && !strings.Contains(maskPrefix+"0123456789abcdef[{\"b\":\"c\"},a1access_token", secret) {
			t.Errorf("%q is still in %q", secret, masked)
		}
		form := "a=b&client_secret=" + url.QueryEscape("="+secret) + "&c"
		if got, _ := m.form(form); !strings.HasPrefix(got, "a=b&client_secret="+maskPrefix) || len(got) != len("a=b&client_secret=&c")+len("masked:1a2b3c4d5e6f") {
			t.Errorf("%q becomes %q", form, got)
		}
	})
}

func TestSecretPaths(t *testing.T) {
	for target, want := range map[string]bool{
		"/token": true, "/oauth/Token?x": true, "/register/client-1": true, "/oauth2/v1/introspect": true,
		"http://x/token": true, "/mcp": false, "/": false, "*": false, "/token/a/b": false, "/mytoken": false,
	} {
		if hasSecretPath(target) != want {
			t.Errorf("%s: %v", target, !want)
		}
	}
}

func TestSwapOrigin(t *testing.T) {
	up := origin{"https", "mcp.example.com", "443"}
	for raw, want := range map[string]string{
		"https://mcp.example.com/a?b#c":     "http://tap/a?b#c",
		"https://MCP.example.com:443/a":     "http://tap/a",
		"HTTPS://mcp.example.com":           "http://tap",
		"https://mcp.example.com?x":         "http://tap?x",
		"//mcp.example.com/a":               "http://tap/a",
		"http://mcp.example.com/a":          "",
		"https://mcp.example.com:8443/a":    "",
		"https://mcp.example.com.evil.com/": "",
		"https://evil@mcp.example.com/":     "",
		"https://mcp.example.com@evil.com/": "",
		"https:/mcp.example.com/a":          "",
		"/a":                                "",
		"":                                  "",
		"https://":                          "",
		"javascript:alert(1)":               "",
	} {
		got, ok := swapOrigin(raw, up, "http://tap")
		if ok != (want != "") || ok && got != want || !ok && got != raw {
			t.Errorf("%s becomes %s, %v", raw, got, ok)
		}
	}
}

func TestSwapMetadata(t *testing.T) {
	tr := &traffic{site: &site{hosts: hosts{upstream: origin{"http", "u", "80"}}}}
	for raw, want := range map[string]string{
		`Bearer resource_metadata="http://u/x"`:                  `Bearer resource_metadata="http://tap/x"`,
		`Bearer Resource_Metadata=http://u/x, scope="http://u/"`: `Bearer Resource_Metadata=http://tap/x, scope="http://u/"`,
		`Bearer resource_metadata="http://v/x"`:                  "",
		`Bearer resource_metadata="http://u/x`:                   `Bearer resource_metadata="http://tap/x`,
		`Bearer`:                                                 "",
		`Bearer resource_metadata=`:                              "",
	} {
		got, ok := tr.swapMetadata(raw, "http://tap")
		if ok != (want != "") || ok && got != want {
			t.Errorf("%s becomes %s", raw, got)
		}
	}
}
