package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const testToken, testSession = "the-token", "the-session"

// newTestServer returns a viewer of some recordings.
func newTestServer(t *testing.T, host string, all ...*memory) *Server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	s := NewServer(ctx, Config{Source: &shelf{all}, Token: testToken, Host: host})
	s.guard.session = testSession
	return s
}

func TestGuard(t *testing.T) {
	const port = ":4711"
	open := func(r *http.Request) { r.URL.RawQuery = tokenParam + "=" + testToken }
	cookie := func(r *http.Request) {
		r.AddCookie(&http.Cookie{Name: newGuard(testToken, "").cookie, Value: testSession})
	}
	header := func(pairs ...string) func(*http.Request) {
		return func(r *http.Request) {
			for i := 0; i < len(pairs); i += 2 {
				r.Header.Add(pairs[i], pairs[i+1])
			}
		}
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	method := func(name string) func(*http.Request) { return func(r *http.Request) { r.Method = name } }
	socket := header("Upgrade", "websocket", "Connection", "Upgrade", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==")
	const list, page, stream = "/api/recordings", "/", "/api/recordings/x/stream"
	for _, c := range []struct {
		name   string
		listen string
		path   string
		want   int
		do     []func(*http.Request)
	}{
		{"no token", "", list, 401, nil},
		{"findings without token", "", "/api/recordings/x/findings", 401, nil},
		{"token in the URL", "", list, 200, []func(*http.Request){open}},
		{"cookie", "", list, 200, []func(*http.Request){cookie}},
		{"wrong token", "", list, 401, []func(*http.Request){func(r *http.Request) { r.URL.RawQuery = "token=the-tokem" }}},
		{"empty token", "", list, 401, []func(*http.Request){func(r *http.Request) { r.URL.RawQuery = "token=" }}},
		{"token with a suffix", "", list, 401, []func(*http.Request){func(r *http.Request) { r.URL.RawQuery = "token=the-token2" }}},
		{"cookie of another viewer", "", list, 401, []func(*http.Request){func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: newGuard("other", "").cookie, Value: testSession})
		}}},
		{"the token as the cookie", "", list, 401, []func(*http.Request){func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: newGuard(testToken, "").cookie, Value: testToken})
		}}},
		{"page without token", "", page, 401, nil},
		{"page", "", page, 200, []func(*http.Request){open}},
		{"page by a foreign link", "", page, 200, []func(*http.Request){open, header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")}},
		{"files of the page need no token", "", "/assets/main.js", 200, nil},

		{"rebound name", "", list, 403, []func(*http.Request){cookie, host("evil.example" + port)}},
		{"rebound name for the page", "", page, 403, []func(*http.Request){open, host("evil.example" + port)}},
		{"rebound name for a file", "", "/assets/main.js", 403, []func(*http.Request){host("evil.example" + port)}},
		{"name that starts with localhost", "", list, 403, []func(*http.Request){cookie, host("localhost.evil.example" + port)}},
		{"name that starts like an address", "", list, 403, []func(*http.Request){cookie, host("127.0.0.1.evil.example" + port)}},
		{"empty name", "", list, 403, []func(*http.Request){cookie, host("")}},
		{"address of the network on loopback", "", list, 403, []func(*http.Request){cookie, host("192.168.1.7" + port)}},
		{"localhost", "", list, 200, []func(*http.Request){cookie, host("LocalHost" + port)}},
		{"forwarded port", "", list, 200, []func(*http.Request){cookie, host("localhost:9000")}},
		{"IPv6", "", list, 200, []func(*http.Request){cookie, host("[::1]" + port)}},
		{"another loopback address", "", list, 200, []func(*http.Request){cookie, host("127.0.0.2" + port)}},

		{"open to the network", "0.0.0.0", list, 200, []func(*http.Request){cookie, host("192.168.1.7" + port)}},
		{"open to the network, rebound", "0.0.0.0", list, 403, []func(*http.Request){cookie, host("evil.example" + port)}},
		{"open under a name", "mybox", list, 200, []func(*http.Request){cookie, host("mybox" + port)}},
		{"open under a name, rebound", "mybox", list, 403, []func(*http.Request){cookie, host("mybox.evil.example" + port)}},
		{"open to the network, no token", "0.0.0.0", list, 401, []func(*http.Request){host("192.168.1.7" + port)}},

		{"page of a foreign site", "", list, 403, []func(*http.Request){cookie, header("Sec-Fetch-Site", "cross-site")}},
		{"page of another port", "", list, 403, []func(*http.Request){cookie, header("Sec-Fetch-Site", "same-site")}},
		{"foreign origin", "", list, 403, []func(*http.Request){cookie, header("Origin", "http://127.0.0.1:8080")}},
		{"own origin", "", list, 200, []func(*http.Request){cookie, header("Origin", "http://127.0.0.1"+port)}},
		{"URL typed into the browser", "", list, 200, []func(*http.Request){open, header("Sec-Fetch-Site", "none")}},

		{"socket without origin", "", stream, 403, []func(*http.Request){cookie, socket}},
		{"socket of a foreign site", "", stream, 403, []func(*http.Request){cookie, socket, header("Origin", "https://evil.example")}},
		{"socket of another port", "", stream, 403, []func(*http.Request){cookie, socket, header("Origin", "http://127.0.0.1:8080")}},
		{"socket of a sandbox", "", stream, 403, []func(*http.Request){cookie, socket, header("Origin", "null")}},
		{"socket of a TLS origin", "", stream, 403, []func(*http.Request){cookie, socket, header("Origin", "https://127.0.0.1"+port)}},
		{"socket with two origins", "", stream, 403, []func(*http.Request){cookie, socket, header("Origin", "http://127.0.0.1"+port, "Origin", "http://evil.example")}},
		{"socket without token", "", stream, 401, []func(*http.Request){socket, header("Origin", "http://127.0.0.1"+port)}},
		{"socket, rebound", "", stream, 403, []func(*http.Request){cookie, socket, host("evil.example" + port), header("Origin", "http://evil.example"+port)}},

		{"POST", "", list, 405, []func(*http.Request){cookie, method(http.MethodPost)}},
		{"DELETE", "", list, 405, []func(*http.Request){cookie, method(http.MethodDelete)}},
		{"OPTIONS of a preflight", "", list, 405, []func(*http.Request){cookie, method(http.MethodOptions), header("Origin", "http://evil.example")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newTestServer(t, c.listen)
			r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+port+c.path, nil)
			for _, do := range c.do {
				do(r)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != c.want {
				t.Errorf("status %d, want %d: %s", w.Code, c.want, w.Body)
			}
			for name := range w.Header() {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s allows other origins", name)
				}
			}
			for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy"} {
				if w.Header().Get(name) == "" {
					t.Errorf("no %s", name)
				}
			}
			if c.want != 200 && strings.Contains(w.Body.String(), testToken) {
				t.Error("the response has the token")
			}
		})
	}
}

func TestPolicyAllowsNothingForeign(t *testing.T) {
	for _, word := range []string{"unsafe", "http:", "https:", "*", "data:", "blob:"} {
		if strings.Contains(policy, word) {
			t.Errorf("the policy has %s: %s", word, policy)
		}
	}
	for _, word := range []string{"default-src 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, word) {
			t.Errorf("the policy does not contain %s", word)
		}
	}
}

func TestCookieOfTheToken(t *testing.T) {
	s := newTestServer(t, "")
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:4711/r/x?q=is%3Aerror&token="+testToken, nil)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	cookies := w.Result().Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Path != "/" {
		t.Fatalf("cookies %v", cookies)
	}
	next := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:4711/api/recordings", nil)
	next.AddCookie(cookies[0])
	w = httptest.NewRecorder()
	if s.ServeHTTP(w, next); w.Code != http.StatusOK {
		t.Errorf("with the cookie: %d", w.Code)
	}
	if v := cookies[0].Value; strings.Contains(v, testToken) || v != testSession {
		t.Errorf("the cookie is %q", v)
	}
	if a, b := newGuard("one", "").session, newGuard("one", "").session; a == b || len(a) != 32 {
		t.Errorf("the sessions of two viewers are %q and %q", a, b)
	}
	if a, b := newGuard("one", "").cookie, newGuard("two", "").cookie; a == b {
		t.Errorf("two viewers have the cookie %s", a)
	}
}

func TestLockedPageKeepsTheLink(t *testing.T) {
	s := newTestServer(t, "")
	r := httptest.NewRequest(http.MethodGet, `http://127.0.0.1:4711/r/x?q=%22%3E%3Cscript%3E&f=17&token=wrong`, nil)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	body := w.Body.String()
	if !strings.Contains(body, `name="f" value="17"`) || !strings.Contains(body, `value="&#34;&gt;&lt;script&gt;"`) {
		t.Errorf("the link is not kept, or not escaped:\n%s", body)
	}
	if strings.Contains(body, `value="wrong"`) {
		t.Error("the wrong token is kept")
	}
	if len(w.Result().Cookies()) > 0 {
		t.Error("a cookie was set without the token")
	}
}

func TestTokensDiffer(t *testing.T) {
	a, b := NewToken(), NewToken()
	if a == b || len(a) != 32 {
		t.Errorf("tokens %q and %q", a, b)
	}
}

// TestPageNamesTheDirectory checks that the page has the data directory for the commands that it suggests.
func TestPageNamesTheDirectory(t *testing.T) {
	for dir, want := range map[string]string{"": "", `/a "b"`: `<meta name="data-dir" content="/a &#34;b&#34;">`} {
		s := newTestServer(t, "")
		s.dir = dir
		body := get(t, s, "/").Body.String()
		if !strings.Contains(body, want) || strings.Contains(body, "data-dir") != (dir != "") || !strings.Contains(body, "/assets/page.js") {
			t.Errorf("%q: the page is %s", dir, body)
		}
	}
}
