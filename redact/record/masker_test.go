package record

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap"
)

func testMasker() *Masker { return NewMasker([]byte("a key"), nil, new(tap.Discard)) }

// The pseudonym of a value depends on the key and on nothing else.
func TestPseudonyms(t *testing.T) {
	m := testMasker()
	p := m.pseudonym("s3cret")
	if p != testMasker().pseudonym("s3cret") || p == m.pseudonym("s3cre") || len(p) != len("masked:1a2b3c4d5e6f") {
		t.Errorf("the pseudonym is %q", p)
	}
	if NewMasker([]byte("another key"), nil, new(tap.Discard)).pseudonym("s3cret") == p {
		t.Error("the key does not matter")
	}
	if m.pseudonym("") != "" {
		t.Error("an empty value is masked")
	}
}

// With --redact, a masked value is also found in base64 and with escapes.
func TestMaskedValuesAreKnownToTheRedactor(t *testing.T) {
	var out kept
	token := "tok3n" + strings.Repeat("aB3", 9)
	m := NewMasker([]byte("a key"), nil, New(redactor(), &out))
	m.Event(1, tap.Event{Name: tap.EventRequest, Header: [][2]string{{"Authorization", "Bearer " + token}}})
	coded := base64.StdEncoding.EncodeToString([]byte(token))
	escaped := strings.ReplaceAll(token, "3", `\u0033`)
	m.Piece(1, tap.ToClient, tap.FormBody, []byte(`{"jsonrpc":"2.0","id":1,"result":{"a":"`+coded+`","b":"`+escaped+`"}}`), true)
	if got := out.all.String(); strings.Contains(got, coded) || strings.Contains(got, escaped) {
		t.Errorf("recorded %s", got)
	}
}

func TestMaskedFields(t *testing.T) {
	m := testMasker()
	p := func(s string) string { return m.pseudonym(s) }
	pat, jwt := "ghp_"+strings.Repeat("aB3", 12), "ey"+"JhbGciOiJIUzI1NiJ9"+".ey"+"JzdWIiOiIxIn0."+"c2ln"
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
		{"Session", "1", p("1")},
		{"X-Database-Url", "postgres://app:pw@db/x", "postgres://" + p("app:pw") + "@db/x"},
		{"X-Upstream", "http://h/x?token=1", "http://h/x?token=" + p("1")},
		{"X-Forwarded-Uri", "/mcp?token=1", "/mcp?token=" + p("1")},
		{"X-Config", `{"apiKey":"1","a":"b"}`, `{"apiKey":"` + p("1") + `","a":"b"}`},
		{"Nel", `{"report_to":"default","max_age":31536000}`, `{"report_to":"default","max_age":31536000}`},
		{"X-Note", "a " + pat + ", b", "a " + p(pat) + ", b"},
		{"X-User", jwt, p(jwt)},
		{"Location", "/login?next=%2Fcb%3Ftoken%3D1%26a%3Db", "/login?next=%2Fcb%3Ftoken%3D" + url.QueryEscape(p("1")) + "%26a%3Db"},
		{"Origin", "https://x.example:8080", "https://x.example:8080"},
		{"Content-Security-Policy", "default-src 'self' https://x.example", "default-src 'self' https://x.example"},
		{"Location", "https://me:pw@x/y?a=b@c", "https://" + p("me:pw") + "@x/y?a=b@c"},
	} {
		if got := m.field(tc.name, tc.value); got != tc.want {
			t.Errorf("%s: %q becomes %q, want %q", tc.name, tc.value, got, tc.want)
		}
	}
}

func TestMaskedURLs(t *testing.T) {
	m := testMasker()
	pat := "ghp_" + strings.Repeat("aB3", 12)
	for raw, want := range map[string]string{
		"/mcp":                                        "/mcp",
		"/message?sessionId=1":                        "/message?sessionId=" + m.pseudonym("1"),
		"/message?SESSION_ID=1&a=b":                   "/message?SESSION_ID=" + m.pseudonym("1") + "&a=b",
		"/cb?co%64e=a%20b;state=x":                    "/cb?co%64e=" + m.pseudonym("a b") + ";state=" + m.pseudonym("x"),
		"/cb?code=%zz&code&code=":                     "/cb?code=" + m.pseudonym("%zz") + "&code&code=",
		"/?a=code=1&&x":                               "/?a=code=1&&x",
		"http://u/p?api_key=k#state=s":                "http://u/p?api_key=" + m.pseudonym("k") + "#state=" + m.pseudonym("s"),
		"http://me:pw@x":                              "http://" + m.pseudonym("me:pw") + "@x",
		"//me@x/@y":                                   "//" + m.pseudonym("me") + "@x/@y",
		"/users//@me":                                 "/users//@me",
		"http://x/@y?z@w":                             "http://x/@y?z@w",
		"/blob?se=1&sig=a%2Bb":                        "/blob?se=1&sig=" + m.pseudonym("a+b"),
		"/o?X-Amz-Signature=1&sid=2":                  "/o?X-Amz-Signature=" + m.pseudonym("1") + "&sid=" + m.pseudonym("2"),
		"/mcp?config=eyJhIjoxfQ%3D%3D&x":              "/mcp?config=" + m.pseudonym("eyJhIjoxfQ==") + "&x",
		"/mcp?config=%7B%22a%22%3A1%7D":               "/mcp?config=" + m.pseudonym(`{"a":1}`),
		"/sse?url=http%3A%2F%2Fh%2Fsse%3Fapi_key%3D1": "/sse?url=http%3A%2F%2Fh%2Fsse%3Fapi_key%3D" + url.QueryEscape(m.pseudonym("1")),
		"/login?next=/cb?token=1":                     "/login?next=/cb?token=" + m.pseudonym("1"),
		"/x?database_url=postgres%3A%2F%2Fa:b@h":      "/x?database_url=postgres%3A%2F%2F" + url.QueryEscape(m.pseudonym("a:b")) + "%40h",
		"/mcp;jsessionid=1;v=2/a?b=c":                 "/mcp;jsessionid=" + m.pseudonym("1") + ";v=2/a?b=c",
		"/mcp?ticket=ST-12345&session=open":           "/mcp?ticket=" + m.pseudonym("ST-12345") + "&session=open",
		"/mcp?a=" + pat + "&b=%20":                    "/mcp?a=" + m.pseudonym(pat) + "&b=%20",
		"/mcp?url=http%3A%2F%2Fh%2Fx%20y&next=/a":     "/mcp?url=http%3A%2F%2Fh%2Fx%20y&next=/a",
		"/message?sessionId=1?sessionId=":             "/message?sessionId=" + m.pseudonym("1?sessionId="),
	} {
		if got, _ := m.url(raw); got != want {
			t.Errorf("%s becomes %s, want %s", raw, got, want)
		}
	}
}

// The body of an OAuth endpoint without a media type.
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

// A secret is found wherever it is in a document, and the document stays valid.
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
