package mock

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// soon is the timeout for everything that should happen.
const soon = 60 * time.Second

// served serves a recording until the test ends.
func served(t testing.TB, rec *Recording, opt ServerOptions) (*Server, string) {
	t.Helper()
	s := NewServer(rec, opt)
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		h.CloseClientConnections()
		h.Close()
	})
	return s, h.URL
}

// A webClient is a Streamable HTTP client that keeps what it receives, by stream.
type webClient struct {
	url, session, version string
	http                  *http.Client
	ctx                   context.Context
	cancel                context.CancelFunc

	mu   sync.Mutex
	came *sync.Cond
	got  map[string][]string // messages by stream
	ids  map[string][]string // event ids by stream
	all  int
	errs []string
	open sync.WaitGroup
}

func newWebClient(t testing.TB, url string) *webClient {
	c := &webClient{url: url, got: map[string][]string{}, ids: map[string][]string{}}
	c.came = sync.NewCond(&c.mu)
	transport := &http.Transport{}
	c.http = &http.Client{Transport: transport}
	ctx, cancel := context.WithCancel(context.Background())
	c.ctx, c.cancel = ctx, cancel
	t.Cleanup(func() {
		cancel()
		c.open.Wait()
		transport.CloseIdleConnections()
	})
	return c
}

func (c *webClient) request(method string, body []byte) *http.Request {
	r, err := http.NewRequestWithContext(c.ctx, method, c.url, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	if body == nil {
		if c.version != "" {
			r.Header.Set("Mcp-Protocol-Version", c.version)
		}
		return r
	}
	r.Header.Set("Content-Type", "application/json")
	m := jsonrpc.Peek(body)
	if claim := replay.ReadClaim(&m); claim.Modern {
		r.Header.Set("Mcp-Protocol-Version", claim.Version)
		r.Header.Set("Mcp-Method", claim.Method)
		if claim.HasName {
			r.Header.Set("Mcp-Name", claim.Name)
		}
	} else if c.version != "" {
		r.Header.Set("Mcp-Protocol-Version", c.version)
	}
	return r
}

// post sends a message. Its responses are kept under the name.
func (c *webClient) post(name string, body []byte) (status int) {
	res, err := c.http.Do(c.request("POST", body))
	if err != nil {
		c.fail("post %s: %v", name, err)
		return 0
	}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	c.keep(name, res)
	return res.StatusCode
}

// get opens a stream.
func (c *webClient) get(name, last string) (status int) {
	r := c.request("GET", nil)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	res, err := c.http.Do(r)
	if err != nil {
		c.fail("get: %v", err)
		return 0
	}
	c.keep(name, res)
	return res.StatusCode
}

// keep reads a response to its end; event streams are read in the background.
func (c *webClient) keep(name string, res *http.Response) {
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			c.fail("%s: %v", name, err)
		}
		if res.StatusCode != http.StatusAccepted {
			c.add(name, string(body), "")
		}
		return
	}
	c.open.Go(func() {
		defer res.Body.Close()
		r := bufio.NewReader(res.Body)
		var raw []byte
		for {
			line, err := r.ReadBytes('\n')
			raw = append(raw, line...)
			if len(bytes.TrimRight(line, "\r\n")) == 0 && len(line) > 0 {
				e := tap.ParseServerSentEvent(raw)
				raw = nil
				switch {
				case len(e.Data) > 0:
					c.add(name, string(e.Data), e.ID)
				case e.HasID:
					c.mu.Lock()
					c.ids[name] = append(c.ids[name], e.ID)
					c.mu.Unlock()
				}
			}
			if err != nil {
				c.add(name, "", "")
				return
			}
		}
	})
}

// add stores a message. An empty one is the end of a stream.
func (c *webClient) add(name, message, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if message != "" {
		c.got[name] = append(c.got[name], message)
		c.all++
	}
	if id != "" {
		c.ids[name] = append(c.ids[name], id)
	}
	c.came.Broadcast()
}

func (c *webClient) fail(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() == nil {
		c.errs = append(c.errs, fmt.Sprintf(format, args...))
		c.cancel()
	}
	c.came.Broadcast()
}

// until waits until a condition holds, and reports whether it does.
func (c *webClient) until(holds func() bool) bool {
	late := time.AfterFunc(soon, func() { c.fail("it has not happened for %v", soon) })
	defer late.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !holds() && len(c.errs) == 0 {
		c.came.Wait()
	}
	return holds()
}

// half plays the client half of a recording: each message is sent when everything that preceded it
// has arrived. Requests are concurrent as recorded, and arrive in recorded order: arrived waits until
// the server has received n more.
func (c *webClient) half(frames []tap.Frame, arrived func() int) {
	due := 0
	for i := range beforeEnd(frames) {
		f := &frames[i]
		m := jsonrpc.PeekFrame(f)
		if m.Kind == jsonrpc.Other {
			continue
		}
		switch f.Lane {
		case tap.ToClient:
			due++
		case tap.ToServer:
			if c.session != "" || m.Method != "initialize" { // before the handshake only responses arrive
				if !c.until(func() bool { return c.all >= due }) {
					return
				}
			}
			name := fmt.Sprint("frame ", f.Seq)
			if m.Method == "initialize" || m.Kind == jsonrpc.Notification || m.Kind == jsonrpc.Response || m.Kind == jsonrpc.ErrorResponse {
				c.post(name, bytes.TrimSpace(f.Raw))
			} else {
				before := arrived()
				var over atomic.Bool
				c.open.Go(func() {
					c.post(name, bytes.TrimSpace(f.Raw))
					over.Store(true)
				})
				for !over.Load() && arrived() == before {
					time.Sleep(50 * time.Microsecond)
				}
			}
			if m.Method == "initialize" && c.session != "" {
				if !c.until(func() bool { return len(c.got[name]) > 0 }) {
					return
				}
				c.mu.Lock()
				answer := jsonrpc.Peek([]byte(c.got[name][0]))
				c.mu.Unlock()
				c.version = versionOf(&answer)
				if status := c.get("standing", ""); status != http.StatusOK {
					c.fail("GET: %d", status)
				}
			}
		}
	}
	c.until(func() bool { return c.all >= due })
}

func versionOf(m *jsonrpc.Message) string {
	_, after, _ := strings.Cut(string(m.Result), `"protocolVersion":"`)
	version, _, _ := strings.Cut(after, `"`)
	return version
}

// beforeEnd returns the frames before one side of stdio ended, which HTTP does not have.
func beforeEnd(frames []tap.Frame) []tap.Frame {
	for i := range frames {
		e, err := tap.ParseEvent(frames[i].Raw)
		if frames[i].Lane == tap.Lifecycle && err == nil && e.Name == tap.EventEOF && e.Lane != tap.Stderr.String() {
			return frames[:i]
		}
	}
	return frames
}

// messages returns the server messages in a recording.
func messages(frames []tap.Frame) (all []string) {
	for i := range beforeEnd(frames) {
		f := &frames[i]
		if m := jsonrpc.PeekFrame(f); f.Lane == tap.ToClient && m.Kind != jsonrpc.Other {
			all = append(all, string(bytes.TrimSpace(jsonrpc.Payload(f))))
		}
	}
	return all
}

// check compares what was received with the recording: each message once, and on each stream in
// recorded order.
func (c *webClient) check(t testing.TB, want []string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.errs {
		t.Error(e)
	}
	place := map[string][]int{}
	for i, m := range want {
		place[m] = append(place[m], i)
	}
	for name, messages := range c.got {
		last := -1
		for _, m := range messages {
			m = strings.TrimSpace(m)
			if len(place[m]) == 0 {
				t.Errorf("%s: surplus message: %.200s", name, m)
				continue
			}
			at := place[m][0]
			if i := slices.IndexFunc(place[m], func(n int) bool { return n > last }); i >= 0 {
				at = place[m][i]
				place[m] = slices.Delete(slices.Clone(place[m]), i, i+1)
			} else {
				t.Errorf("%s: out of order: %.200s", name, m)
				place[m] = place[m][1:]
			}
			last = at
		}
	}
	for m, left := range place {
		if len(left) > 0 {
			t.Errorf("missing: %.200s", m)
		}
	}
}
