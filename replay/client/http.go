package client

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// HTTP returns a connection to a Streamable HTTP server (2025-03-26 and later
// basic/transports; without sessions in 2026-07-28). The watcher is the recorder of the tap at
// the URL.
func HTTP(url string, tap *Watcher) Conn { return newHTTP(url, tap) }

// maxBody is the maximum size of a body that is not a stream.
const maxBody = 256 << 20

// standingPatience is how long a GET stream may take to begin. Some servers do not send the
// head of the response before the first event.
const standingPatience = time.Second

// An httpConn is a connection on Streamable HTTP.
type httpConn struct {
	url    string
	tap    *Watcher
	client *http.Client
	to     chan<- Event
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	keeps  bool // Close does not end the session, as in the recording

	mu       sync.Mutex
	session  string                           // its id, "" for none
	ended    bool                             // the session was ended
	revision jsonrpc.Revision                 // of the session, "" in 2026-07-28
	fields   replay.ParamFields               // by tool
	streams  map[*Outgoing]context.CancelFunc // the open exchanges
}

func newHTTP(url string, tap *Watcher) *httpConn {
	hush()
	return &httpConn{url: url, tap: tap, fields: replay.ParamFields{}, streams: map[*Outgoing]context.CancelFunc{}, client: &http.Client{
		Transport: &http.Transport{
			// The tap in front of the server uses a proxy if there is one.
			Proxy: nil, DisableCompression: true, MaxIdleConnsPerHost: 16,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (c *httpConn) Open(ctx context.Context, to chan<- Event) error {
	c.to = to
	c.ctx, c.cancel = context.WithCancel(ctx)
	return nil
}

// emit sends an event, unless the connection is closed.
func (c *httpConn) emit(e Event) {
	select {
	case c.to <- e:
	case <-c.ctx.Done():
	}
}

func (c *httpConn) Send(m *Outgoing) <-chan error {
	sent := make(chan error, 2)
	ctx, cancel := context.WithCancel(c.ctx)
	arrived := c.tap.next()
	header := c.header(m)
	c.mu.Lock()
	c.streams[m] = cancel
	c.mu.Unlock()
	if len(m.ids) > 0 { // other messages count as sent when they are accepted
		c.work.Go(func() {
			select {
			case <-arrived:
				sent <- nil
			case <-ctx.Done():
			}
		})
	}
	c.work.Go(func() {
		err := c.exchange(ctx, m, header)
		c.tap.drop(arrived)
		if err != nil && len(m.ids) > 0 && ctx.Err() == nil {
			c.emit(failure(m, err))
		}
		c.HangUp(m)
		if m.standing {
			c.openStanding()
		}
		sent <- err
	})
	return sent
}

// failure returns the event for a message whose requests will have no response. If the server
// cannot be reached, the event ends the connection.
func failure(m *Outgoing, err error) Event {
	return Event{On: m, Err: err, Gone: isUnreachable(err)}
}

// exchange sends a message and reads the response.
func (c *httpConn) exchange(ctx context.Context, m *Outgoing, header [][2]string) error {
	res, err := c.do(ctx, http.MethodPost, c.url, m.raw, header)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if id := res.Header.Get("Mcp-Session-Id"); id != "" && m.method == "initialize" {
		c.mu.Lock()
		c.session = id
		c.mu.Unlock()
	}
	return c.answer(ctx, m, res)
}

// header returns the header fields that depend on a message.
func (c *httpConn) header(m *Outgoing) [][2]string {
	c.mu.Lock()
	if m.standing {
		c.revision = cmp.Or(m.revision, c.revision)
	}
	fields := usual(m.kind, m.method, lookup(m.raw, "params"), cmp.Or(m.revision, c.revision), c.fields)
	c.mu.Unlock()
	if m.header != nil {
		return m.header(fields)
	}
	return fields
}

// learn stores what later messages repeat from a response to a message.
func (c *httpConn) learn(m *Outgoing, raw []byte) {
	if m.method != "initialize" && m.method != "tools/list" && m.kind != jsonrpc.Batch {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	got := jsonrpc.Peek(raw)
	for part := range got.All {
		c.fields.Learn(part.Result)
		if v, ok := textOf(lookup(part.Result, "protocolVersion")); ok && m.method == "initialize" {
			c.revision = jsonrpc.Revision(v)
		}
	}
}

// do sends an HTTP request of the session. If the tap reports that it cannot reach the server, do
// returns an error.
func (c *httpConn) do(ctx context.Context, method, url string, body []byte, header [][2]string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, f := range header {
		req.Header[f[0]] = append(req.Header[f[0]], f[1])
	}
	c.mu.Lock()
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	c.mu.Unlock()
	res, err := c.client.Do(req)
	if err != nil {
		return nil, unwrapped(err)
	}
	if err = ownAnswer(res); err == nil {
		err = decode(res)
	}
	if err != nil {
		res.Body.Close()
		return nil, err
	}
	return res, nil
}

// decode decodes a content coding, even though none was requested.
func decode(res *http.Response) error {
	switch coding := strings.ToLower(res.Header.Get("Content-Encoding")); coding {
	case "", "identity":
	case "gzip", "x-gzip":
		res.Body = &unzipped{ReadCloser: res.Body}
	default:
		return fmt.Errorf("the response has the content coding %.100q, which was not requested", coding)
	}
	return nil
}

// An unzipped is a reader of a gzip body.
type unzipped struct {
	io.ReadCloser
	zip *gzip.Reader
}

// Read implements [io.Reader].
func (u *unzipped) Read(p []byte) (n int, err error) {
	if u.zip == nil { // not earlier: NewReader reads, and the body may arrive late
		if u.zip, err = gzip.NewReader(u.ReadCloser); err != nil {
			return 0, err
		}
	}
	return u.zip.Read(p)
}

// quiet drops the log messages of package net/http about responses without a request. The
// recording has those responses.
type quiet struct{ io.Writer }

// Write implements [io.Writer].
func (q quiet) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("Unsolicited response received on idle HTTP channel")) {
		return len(p), nil
	}
	return q.Writer.Write(p)
}

var hush = sync.OnceFunc(func() { log.SetOutput(quiet{log.Writer()}) })

// isStream reports whether a response is an event stream.
func isStream(res *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return kind == "text/event-stream"
}

// own returns the header fields of an HTTP request without a message.
func (c *httpConn) own() (header [][2]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.revision >= jsonrpc.Rev20250618 {
		header = append(header, [2]string{fieldVersion, string(c.revision)})
	}
	return header
}

// answer reads the HTTP response to a message, which may contain a JSON-RPC response.
func (c *httpConn) answer(ctx context.Context, m *Outgoing, res *http.Response) error {
	if isStream(res) {
		return c.events(ctx, m, res.Body)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil {
		return unwrapped(err)
	}
	f := tap.Frame{Lane: tap.ToClient, Form: tap.FormBody, Raw: body, Size: int64(len(body))}
	switch p := jsonrpc.PeekFrame(&f); {
	case p.Kind != jsonrpc.Other && p.Kind != jsonrpc.Invalid && (len(m.ids) > 0 || res.StatusCode < 400):
		c.learn(m, body)
		c.emit(Event{Raw: body, On: m})
		open := m.open()
		if open.answer(&p); len(open) > 0 {
			return errors.New("the body has no response with its id")
		}
		return nil
	case res.StatusCode >= 300:
		return refusal(res, "", body)
	case len(m.ids) > 0:
		return refusal(res, "without a JSON-RPC response", body)
	}
	return nil
}

// events reads the stream of a request, and resumes the stream if it ends before the response.
func (c *httpConn) events(ctx context.Context, sent *Outgoing, body io.Reader) error {
	open := sent.open()
	err := c.follow(ctx, body, func() bool { return len(open) > 0 }, func(data []byte) {
		m := jsonrpc.Peek(data)
		open.answer(&m)
		c.learn(sent, data)
		c.emit(Event{Raw: data, On: sent})
	})
	switch {
	case len(open) == 0:
		return nil
	case err != nil:
		return unwrapped(err)
	}
	return errors.New("the stream ended without a response")
}

// openIDs are the keys of requests without a response.
type openIDs map[string]bool

// open returns the requests in a message.
func (m *Outgoing) open() openIDs {
	open := openIDs{}
	for _, id := range m.ids {
		open[idKey(id)] = true
	}
	return open
}

// answer removes the requests that a message or batch answers. An error without an id answers all.
func (o openIDs) answer(batch *jsonrpc.Message) {
	for m := range batch.All {
		switch {
		case m.Kind == jsonrpc.ErrorResponse && (len(m.ID) == 0 || string(m.ID) == "null"):
			clear(o)
		case m.Kind == jsonrpc.Response || m.Kind == jsonrpc.ErrorResponse:
			delete(o, idKey(string(m.ID)))
		}
	}
}

// The limits of resuming a stream.
const (
	maxResumes  = 5
	resumePause = 50 * time.Millisecond
)

// follow reads a stream and calls message with the data of each event. It resumes a stream that
// ended after its last event, if that had an id and wanted returns true (2025-11-25
// basic/transports#resumability).
func (c *httpConn) follow(ctx context.Context, body io.Reader, wanted func() bool, message func(data []byte)) error {
	last, wait := "", resumePause
	seen, resumed := map[string]bool{}, false
	take := func(e tap.ServerSentEvent) {
		if ms, err := strconv.ParseUint(e.Retry, 10, 31); err == nil {
			wait = max(time.Duration(ms)*time.Millisecond, resumePause)
		}
		if e.HasID {
			if last = e.ID; resumed && seen[last] {
				return // the server repeated it
			}
			seen[last] = true
		}
		if e.Data != nil && e.Name != "endpoint" {
			message(e.Data)
		}
	}
	err := readEvents(maxBody, body, take)
	for tries := 0; wanted() && last != "" && tries < maxResumes && ctx.Err() == nil; tries++ {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		if c.isEnded() {
			return errors.New("the session was ended")
		}
		before := last
		resumed = true
		err = c.resume(ctx, last, take)
		if last != before {
			tries = 0
		}
	}
	return err
}

// resume continues to read a stream after its last event.
func (c *httpConn) resume(ctx context.Context, last string, take func(tap.ServerSentEvent)) error {
	res, err := c.get(ctx, last)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || !isStream(res) {
		return refusal(res, "", nil)
	}
	return readEvents(maxBody, res.Body, take)
}

// get requests a stream, after the event with the id last unless that is "".
func (c *httpConn) get(ctx context.Context, last string) (*http.Response, error) {
	header := append(c.own(), [2]string{fieldAccept, "text/event-stream"})
	if last != "" {
		header = append(header, [2]string{"Last-Event-Id", last})
	}
	return c.do(ctx, http.MethodGet, c.url, nil, header)
}

// openStanding opens the GET stream, and returns when it has begun or was refused. A stream that
// the server ends is resumed after its last event, if that had an id.
func (c *httpConn) openStanding() {
	began := make(chan struct{})
	c.work.Go(func() {
		res, err := c.get(c.ctx, "")
		close(began)
		if err != nil {
			return
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK || !isStream(res) {
			return
		}
		_ = c.follow(c.ctx, res.Body, func() bool { return true }, func(data []byte) { c.emit(Event{Raw: data}) })
	})
	select {
	case <-began:
	case <-time.After(standingPatience):
	case <-c.ctx.Done():
	}
}

func (c *httpConn) HangUp(m *Outgoing) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.streams[m]; cancel != nil {
		cancel()
		delete(c.streams, m)
	}
	return true
}

func (c *httpConn) CloseSend() {}

// isEnded reports whether the session was ended. Streams are not resumed after that.
func (c *httpConn) isEnded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// endSession ends the session, at most once (2025-03-26 to 2025-11-25
// basic/transports#session-management). Later requests still carry the session id.
func (c *httpConn) endSession() {
	c.mu.Lock()
	ends := c.session != "" && !c.ended
	c.ended = true
	c.mu.Unlock()
	if !ends || c.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, graceEOF)
	defer cancel()
	if res, err := c.do(ctx, http.MethodDelete, c.url, nil, c.own()); err == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxBody))
		res.Body.Close()
	}
}

func (c *httpConn) Close() string {
	if c.cancel == nil {
		return ""
	}
	if !c.keeps {
		c.endSession()
	}
	c.cancel()
	c.work.Wait()
	c.client.CloseIdleConnections()
	return ""
}

// unwrapped removes the URL, which is that of the tap, from an error.
func unwrapped(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		if _, ok := err.(interface{ Timeout() bool }); !ok {
			break
		}
		err = inner
	}
	return err
}
