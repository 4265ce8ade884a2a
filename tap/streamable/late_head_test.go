package streamable

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A head that never ends is refused. Between two requests a client may be silent for as
// long as it likes, and a body may take its time.
func TestHeadThatIsNeverComplete(t *testing.T) {
	defer func(d time.Duration) { headTime = d }(headTime)
	headTime = 100 * time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	tap, err := New(Config{Upstream: u})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = tap.Serve() }()
	defer tap.Close()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", tap.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}

	slow := dial()
	_, _ = io.WriteString(slow, "POST / HTTP/1.1\r\nHost: x\r\nX-Half: ")
	_ = slow.SetReadDeadline(time.Now().Add(10 * time.Second)) // it would wait forever
	answer, err := io.ReadAll(slow)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408 Request Timeout\r\n") {
		t.Errorf("%q, %v", answer, err)
	}

	calm := dial()
	r := bufio.NewReader(calm)
	for range 2 {
		time.Sleep(2 * headTime)
		_, _ = io.WriteString(calm, "POST / HTTP/1.1\r\nHost: "+tap.Addr().String()+"\r\nContent-Length: 2\r\n\r\n{")
		time.Sleep(2 * headTime)
		_, _ = io.WriteString(calm, "}")
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 || string(body) != "{}" {
			t.Errorf("%d %q, %v", res.StatusCode, body, err)
		}
	}
}

// The time limit is for each head, also if a client sends requests without waiting and each read ends
// within one.
func TestPipelinedHeadsAreNotLate(t *testing.T) {
	defer func(d time.Duration) { headTime = d }(headTime)
	headTime = 500 * time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	tp, _ := begin(t, server.URL, nil)
	c, err := net.Dial("tcp", tp.Addr().String())
	must(t, err)
	defer c.Close()
	head := "GET / HTTP/1.1\r\nHost: " + tp.Addr().String() + "\r\n\r\n"
	const requests = 20
	_, err = io.WriteString(c, head[:2])
	must(t, err)
	for range requests {
		time.Sleep(2 * headTime / requests)
		_, err = io.WriteString(c, head[2:]+head[:2])
		must(t, err)
	}
	r := bufio.NewReader(c)
	for i := range requests {
		res, err := http.ReadResponse(r, nil)
		must(t, err)
		if res.StatusCode != 200 {
			t.Fatalf("response %d: %s", i, res.Status)
		}
	}
}

// Connections without an incomplete head do not limit the heads of the others.
func TestIdleConnectionsDoNotLimitHeads(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.MaxHeaderBytes = 2 << 20
	server.Start()
	defer server.Close()
	tp, rec := begin(t, server.URL, nil)
	const idle = 200
	for range idle {
		c, err := net.Dial("tcp", tp.Addr().String())
		must(t, err)
		defer c.Close()
	}
	rec.wait(func(f []*frame) bool { return countEvents(f, "connect") == idle })
	req, err := http.NewRequest("GET", tp.URL(), nil)
	must(t, err)
	req.Header.Set("X-Long", strings.Repeat("x", 900<<10))
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("%s", res.Status)
	}
}
