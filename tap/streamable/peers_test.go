package streamable

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/rawtalk"
	"github.com/mcptap/mcptap/tap"
)

// hello is a server that responds with the requested host.
var hello = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s %s for %s, X-Extra %q", r.Method, r.URL, r.Host, r.Header.Get("X-Extra"))
})

// get sends one request, on a connection of its own.
func get(t testing.TB, client *http.Client, url string) (*http.Response, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), rawtalk.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	must(t, err)
	req.Close = true
	resp, err := client.Do(req)
	must(t, err)
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	must(t, resp.Body.Close())
	return resp, string(body)
}

func host(t testing.TB, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	must(t, err)
	return u.Host
}

// A server that prefers HTTP/2 gets HTTP/1.1, its certificate is verified, and it sees
// its own name.
func TestUpstreamWithTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(hello)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // the tap will hang up
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())

	tp, rec := begin(t, srv.URL+"/mcp?a=b", func(c *Config) { c.ClientTLS = &tls.Config{RootCAs: roots} })
	resp, body := get(t, http.DefaultClient, tp.URL())
	if want := "GET /mcp?a=b for " + host(t, srv.URL) + `, X-Extra ""`; body != want || resp.StatusCode != 200 {
		t.Errorf("got %s %q, want %q", resp.Status, body, want)
	}
	if e := rec.events(tap.EventResponse); len(e) != 1 || e[0].Proto != "HTTP/1.1" {
		t.Errorf("recorded %+v", e)
	}

	tp, rec = begin(t, srv.URL, nil) // its certificate is not trusted
	resp, body = get(t, http.DefaultClient, tp.URL())
	if resp.StatusCode != 502 || !strings.Contains(body, "(trust it with --ca-file)") || !strings.HasPrefix(body, "mcptap: the server at "+srv.URL+" could not be reached: ") {
		t.Errorf("got %s %q", resp.Status, body)
	}
	if e := rec.events(tap.EventResponse); len(e) != 1 || e[0].By != "tap" {
		t.Errorf("recorded %+v", e)
	}

	plain := httptest.NewServer(hello)
	defer plain.Close()
	tp, _ = begin(t, strings.Replace(plain.URL, "http:", "https:", 1), nil)
	if _, body = get(t, http.DefaultClient, tp.URL()); !strings.Contains(body, "does not speak TLS (use http://") {
		t.Errorf("got %q", body)
	}
}

// The tap listens with TLS, and offers only HTTP/1.1.
func TestListeningWithTLS(t *testing.T) {
	srv := httptest.NewServer(hello)
	defer srv.Close()
	cert := httptest.NewUnstartedServer(hello)
	cert.StartTLS()
	defer cert.Close()
	tp, rec := begin(t, srv.URL+"/mcp", func(c *Config) { c.ServerTLS = cert.TLS })
	if !strings.HasPrefix(tp.URL(), "https://127.0.0.1:") {
		t.Errorf("the URL is %s", tp.URL())
	}
	client := cert.Client()
	client.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	resp, body := get(t, client, tp.URL())
	if want := "GET /mcp for " + host(t, srv.URL); !strings.HasPrefix(body, want) || resp.Proto != "HTTP/1.1" {
		t.Errorf("got %s %q", resp.Proto, body)
	}
	rec.wait(func(f []*frame) bool { return countEvents(f, tap.EventDisconnect) == 1 })

	// A client without TLS gets no response, and is recorded.
	c, err := net.Dial("tcp", tp.Addr().String())
	must(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	must(t, err)
	rec.wait(func(f []*frame) bool { return countEvents(f, tap.EventDisconnect) == 2 })
	if e := rec.events(tap.EventDisconnect)[1]; e.By != "client" || !strings.Contains(e.Error, "TLS") {
		t.Errorf("recorded %+v", e)
	}
}

// respondTLS responds to one request, and ends its TLS properly or not.
func respondTLS(l net.Listener, conf *tls.Config, response string, proper bool) {
	raw, err := l.Accept()
	if err != nil {
		return
	}
	c := tls.Server(raw, conf)
	_, _ = http.ReadRequest(bufio.NewReader(c))
	_, _ = io.WriteString(c, response)
	if proper {
		_ = c.Close()
	}
	_ = raw.Close()
}

// A TLS connection of the server that ends without an alert is also reported as truncated
// through the tap, and one that ends properly is not.
func TestEndsOfTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(hello)
	srv.StartTLS()
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	l := rawtalk.Listen(t)
	for _, proper := range []bool{true, false} {
		tp, rec := begin(t, "https://"+l.Addr().String(), func(c *Config) { c.ClientTLS = &tls.Config{RootCAs: roots} })
		go respondTLS(l, srv.TLS, "HTTP/1.1 200 OK\r\n\r\nall there is", proper)
		c, err := net.Dial("tcp", tp.Addr().String())
		must(t, err)
		must(t, c.SetDeadline(time.Now().Add(rawtalk.Patience)))
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		must(t, err)
		got, err := io.ReadAll(c)
		if proper && (err != nil || !strings.HasSuffix(string(got), "all there is")) || !proper && !isReset(err) {
			t.Errorf("proper %v: got %q, %v", proper, got, err)
		}
		c.Close()
		rec.wait(func(f []*frame) bool { return countEvents(f, tap.EventDisconnect) == 1 })
		e := rec.events(tap.EventEnd)[0]
		if proper != (e.Error == "") {
			t.Errorf("proper %v: ended with %q", proper, e.Error)
		}
	}
}

// The closing alert of the server's TLS is forwarded to a client with TLS, even within a response.
func TestEndsOfTLSWithinAResponse(t *testing.T) {
	srv := httptest.NewUnstartedServer(hello)
	srv.StartTLS()
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	conf := &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}
	l := rawtalk.Listen(t)
	for _, proper := range []bool{true, false} {
		tp, _ := begin(t, "https://"+l.Addr().String(), func(c *Config) { c.ClientTLS, c.ServerTLS = conf, srv.TLS })
		go respondTLS(l, srv.TLS, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nthe first part", proper)
		raw, err := net.Dial("tcp", tp.Addr().String())
		must(t, err)
		must(t, raw.SetDeadline(time.Now().Add(rawtalk.Patience)))
		c := wire{Conn: raw, socket: raw}.wrapped(tls.Client, conf)
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		must(t, err)
		got, err := io.ReadAll(c)
		if !strings.HasSuffix(string(got), "the first part") || proper != (err == nil) || !proper && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("proper %v: got %q, %v", proper, got, err)
		}
		raw.Close()
	}
}

// The tap requests a tunnel from a proxy, with the user of the proxy.
func TestProxy(t *testing.T) {
	srv := httptest.NewServer(hello)
	defer srv.Close()
	var asked string
	refuse := false
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.Host + " " + r.Header.Get("Proxy-Authorization")
		if refuse {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			t.Error(err)
			return
		}
		w.WriteHeader(http.StatusOK)
		from, early, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		go func() { _, _ = io.Copy(to, early); to.Close() }()
		go func() { _, _ = io.Copy(from, to); from.Close() }()
	}))
	defer proxy.Close()
	through := func(raw string) func(*Config) {
		return func(c *Config) {
			c.Proxy = func(u *url.URL) (*url.URL, error) {
				if u.String() != srv.URL+"/mcp" {
					t.Errorf("the proxy for %s was asked for", u)
				}
				return url.Parse(raw)
			}
		}
	}
	withUser := strings.Replace(proxy.URL, "://", "://me:pw@", 1)
	tp, _ := begin(t, srv.URL+"/mcp", through(withUser))
	_, body := get(t, http.DefaultClient, tp.URL())
	if !strings.HasPrefix(body, "GET /mcp for "+host(t, srv.URL)) || asked != "CONNECT "+host(t, srv.URL)+" Basic bWU6cHc=" {
		t.Errorf("got %q; the proxy was asked %q", body, asked)
	}
	refuse = true
	resp, body := get(t, http.DefaultClient, tp.URL())
	if resp.StatusCode != 502 || !strings.Contains(body, "403 Forbidden") || strings.Contains(body, "pw") {
		t.Errorf("refused: got %s %q", resp.Status, body)
	}
	tp, _ = begin(t, srv.URL+"/mcp", through("socks5://127.0.0.1:1"))
	resp, body = get(t, http.DefaultClient, tp.URL())
	if resp.StatusCode != 502 || !strings.Contains(body, "socks5 proxies are not supported") {
		t.Errorf("socks: got %s %q", resp.Status, body)
	}
}

// If the server cannot be reached, the response to each kind of request is a plain
// sentence, which is recorded as the tap's own.
func TestUnreachable(t *testing.T) {
	l := rawtalk.Listen(t)
	gone := "http://" + l.Addr().String()
	l.Close()
	for name, tc := range map[string]struct{ send, want string }{
		"get":        {"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n", "could not be reached: dial tcp"},
		"head":       {"HEAD / HTTP/1.1\r\nHost: {host}\r\n\r\n", "\r\n\r\n"},
		"uploading":  {"POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\nabc", "could not be reached"},
		"pipelined":  {"GET /1 HTTP/1.1\r\nHost: {host}\r\n\r\nPOST /2 HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9\r\n\r\nabc", "could not be reached"},
		"upgrading":  {"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x00", "could not be reached"},
		"after junk": {"\r\n\r\nGET / HTTP/1.1\r\nHost: {host}\r\n\r\n", "could not be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			tp, rec := begin(t, gone, nil)
			c, err := net.Dial("tcp", tp.Addr().String())
			must(t, err)
			defer c.Close()
			must(t, c.SetDeadline(time.Now().Add(rawtalk.Patience)))
			_, err = io.WriteString(c, strings.ReplaceAll(tc.send, "{host}", tp.Addr().String()))
			must(t, err)
			got, err := io.ReadAll(c)
			if !strings.HasPrefix(string(got), "HTTP/1.1 502 Bad Gateway\r\n") || !strings.Contains(string(got), tc.want) || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
			c.Close()
			rec.wait(func(f []*frame) bool { return countEvents(f, tap.EventDisconnect) == 1 })
			ends, requests := rec.events(tap.EventEnd), rec.events(tap.EventRequest)
			if len(ends) != len(requests) || len(ends) == 0 {
				t.Errorf("%d ends for %d requests", len(ends), len(requests))
			}
			for _, e := range ends {
				if e.By != "tap" || !strings.Contains(e.Error, "could not be reached") {
					t.Errorf("ended with %+v", e)
				}
			}
			if e := rec.events(tap.EventResponse); len(e) != 1 || e[0].By != "tap" || e[0].Status != 502 {
				t.Errorf("responses: %+v", e)
			}
		})
	}
	t.Run("not HTTP", func(t *testing.T) {
		tp, _ := begin(t, gone, nil)
		c, err := net.Dial("tcp", tp.Addr().String())
		must(t, err)
		defer c.Close()
		must(t, c.SetDeadline(time.Now().Add(rawtalk.Patience)))
		_, err = io.WriteString(c, "\x16\x03\x01")
		must(t, err)
		if got, err := io.ReadAll(c); len(got) > 0 || !isReset(err) {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// A client that sends a body after its head, as urllib does, gets its 502 without delay, and the
// body is recorded: at most maxAfter bytes of it, and nothing after it.
func TestUnreachableBeforeTheBody(t *testing.T) {
	l := rawtalk.Listen(t)
	gone := "http://" + l.Addr().String()
	l.Close()
	endless := strings.Repeat("10000\r\n"+strings.Repeat("x", 1<<16)+"\r\n", maxAfter>>16+1)
	for name, tc := range map[string]struct {
		field, body, want, fault string
	}{
		"length":  {"Content-Length: 10", `{"id":"7"}`, `{"id":"7"}`, ""},
		"chunked": {"Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n", "hello", ""},
		"more":    {"Content-Length: 2", "{}GET / HTTP/1.1\r\nHost: x\r\n\r\n", "{}", ""},
		"broken":  {"Transfer-Encoding: chunked", "5\r\nhello!!", "hello", ""},
		"never":   {"Expect: 100-continue\r\nContent-Length: 9", "", "", ""},
		"endless": {"Transfer-Encoding: chunked", endless, "", "the rest of the request was not recorded"},
		"late":    {"Content-Length: 10", `{"id"`, "", "the rest of the request was not recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			tp, rec := begin(t, gone, nil)
			c, err := net.Dial("tcp", tp.Addr().String())
			must(t, err)
			defer c.Close()
			must(t, c.SetDeadline(time.Now().Add(rawtalk.Patience)))
			_, err = io.WriteString(c, "POST / HTTP/1.1\r\nHost: "+tp.Addr().String()+"\r\n"+tc.field+"\r\n\r\n")
			must(t, err)
			if got, err := io.ReadAll(c); !strings.HasPrefix(string(got), "HTTP/1.1 502 Bad Gateway\r\n") || err != nil {
				t.Fatalf("got %q, %v", got, err)
			}
			_, _ = io.WriteString(c, tc.body)
			if name != "late" { // the tap closes it
				c.Close()
			}
			rec.wait(func(f []*frame) bool { return countEvents(f, tap.EventDisconnect) == 1 })
			if got := string(rec.joined(1, tap.ToServer, tap.FormBody)); tc.fault == "" && got != tc.want || len(got) > maxAfter {
				t.Errorf("%d bytes of the body are recorded: %.20q", len(got), got)
			}
			ends := rec.events(tap.EventEnd)
			if len(ends) != 1 || ends[0].By != "tap" || !strings.Contains(ends[0].Error, "could not be reached") || !strings.Contains(ends[0].Error, tc.fault) {
				t.Errorf("ended with %+v", ends)
			}
			if n := len(rec.events(tap.EventRequest)); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// In front of a remote server a request for a foreign host is refused: only a
// page that abuses the client's browser sends one.
func TestForeignHostInFrontOfARemoteServer(t *testing.T) {
	tp, rec := begin(t, "https://mcp.example.com/mcp", func(c *Config) {
		c.Proxy = func(*url.URL) (*url.URL, error) { return nil, errors.New("the proxy must not be used") }
		c.Names = []string{"tap.internal", "other.internal:8443"}
	})
	ask := func(host string) *http.Response {
		req, err := http.NewRequest("POST", tp.URL(), strings.NewReader("{}"))
		must(t, err)
		req.Host = host
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		resp.Body.Close()
		return resp
	}
	_, port, err := net.SplitHostPort(tp.Addr().String())
	must(t, err)
	for host, status := range map[string]int{
		"evil.example.com": 403, "evil.example.com:" + port: 403, "mcp.example.com": 403,
		"127.0.0.1:1": 403, "localhost": 403, "other.internal": 403, "127.0.0.1.evil.com:" + port: 403,
		"127.0.0.1:" + port: 502, "LOCALHOST:" + port: 502, "[::1]:" + port: 502,
		"tap.internal": 502, "tap.internal:99": 502, "other.internal:8443": 502,
	} {
		if resp := ask(host); resp.StatusCode != status {
			t.Errorf("Host %s: %s, want %d", host, resp.Status, status)
		}
	}
	c, err := net.Dial("tcp", tp.Addr().String())
	must(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost:\r\n\r\n")
	must(t, err)
	if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 403 {
		t.Errorf("an empty Host: got %+v, %v", resp, err)
	}
	for _, e := range rec.events(tap.EventResponse) {
		if e.By != "tap" {
			t.Errorf("answered by %q", e.By)
		}
	}
}
