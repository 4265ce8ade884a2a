package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/mcptap/mcptap/internal/endpoint"
	"github.com/mcptap/mcptap/internal/rawtalk"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/streamable"
)

// A tapped is a tap with a store, as `mcptap http` creates it.
type tapped struct {
	*streamable.Tap
	t    *testing.T
	rec  *store.Recorder
	seen *connections
}

// connections forwards events, and counts the connections that ended.
type connections struct {
	tap.Recorder
	mu          sync.Mutex
	began, over int
	change      *sync.Cond
}

// Event implements [tap.Recorder].
func (c *connections) Event(exchange uint64, e tap.Event) {
	c.Recorder.Event(exchange, e)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.Name {
	case tap.EventConnect:
		c.began++
	case tap.EventDisconnect:
		c.over++
	}
	c.change.Broadcast()
}

// wait returns when at least n connections have ended, and none is open.
func (c *connections) wait(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.over < n || c.over < c.began {
		c.change.Wait()
	}
}

// startTapped starts a tap in front of the upstream. Secrets are kept, so that the recording can be
// compared with what crossed.
func startTapped(t *testing.T, upstream string, change func(*streamable.Config)) *tapped {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	h := tap.Header{Label: "torture", Transport: "http", Upstream: u.Scheme + "://" + u.Host}
	r := &tapped{t: t, rec: store.Create(t.TempDir(), h, store.Options{Warn: func(err error) { t.Errorf("warned: %v", err) }})}
	r.seen = &connections{Recorder: r.rec}
	r.seen.change = sync.NewCond(&r.seen.mu)
	cfg := streamable.Config{Upstream: u, Recorder: r.seen, KeepSecrets: true, Warn: func(s string) { t.Errorf("warned: %s", s) }}
	if change != nil {
		change(&cfg)
	}
	cfg.Recorder = endpoint.Masked(cfg, cfg.Recorder)
	if r.Tap, err = streamable.New(cfg); err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.Serve() }()
	t.Cleanup(func() { r.Close() })
	return r
}

// settle ends the tap and compares the recording with what both ends of each connection received:
// exported and imported it is the same in either format, and its bodies, with the events of a stream
// joined, equal those that package net/http reads. It returns the frames, and the number of bodies that
// were compared.
func (r *tapped) settle(got []rawtalk.Got) (frames []tap.Frame, compared int) {
	t := r.t
	t.Helper()
	r.seen.wait(len(got))
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	r.rec.Close()
	frames = framesOf(t, r.rec.Path())
	for _, format := range []string{"ndjson", "txtar"} {
		sameAfterImport(t, r.rec.Path(), format, frames)
	}
	x := exchangesOf(t, frames)
	for i, g := range got {
		mine := x.ofConn(uint64(i + 1))
		compared += x.compare(t, mine, tap.ToServer, g.Server) + x.compare(t, mine, tap.ToClient, g.Client)
	}
	return frames, compared
}

func sameAfterImport(t *testing.T, path, format string, frames []tap.Frame) {
	t.Helper()
	text := export(t, path, format)
	back := importFrom(t, bytes.NewReader(text))
	if again := export(t, back, format); !bytes.Equal(again, text) {
		t.Errorf("%s: export of the import differs:\n%s", format, firstDifference(again, text))
	}
	imported := framesOf(t, back)
	if len(imported) != len(frames) {
		t.Fatalf("%s: %d frames became %d", format, len(frames), len(imported))
	}
	for i := range frames {
		a, b := frames[i], imported[i]
		if format == "txtar" { // it rounds times
			a.At, a.Took, b.At, b.Took = 0, 0, 0, 0
		}
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%s: frame %d: %.200q of %v became %.200q of %v", format, a.Seq, a.Raw, a.Form, b.Raw, b.Form)
		}
	}
	was, is := store.Stat(path), store.Stat(back)
	if was.Tally.Bytes != is.Tally.Bytes || was.Tally.Errors != is.Tally.Errors || was.Status != is.Status {
		t.Errorf("%s: %v, %+v became %v, %+v", format, was.Status, was.Tally, is.Status, is.Tally)
	}
}

// exchanges is what a recording has on each exchange.
type exchanges struct {
	order []*recordedExchange
}

type recordedExchange struct {
	n       uint64
	request tap.Event
	// rewrites are the tap's changes: the recording has the original.
	rewrites []tap.Event
	own      bool // the response is the tap's
	bodies   [tap.Lanes][]byte
	events   [tap.Lanes]bool
	raw      [tap.Lanes]bool // something could not be read as HTTP
	end      *tap.Event
}

func exchangesOf(t *testing.T, frames []tap.Frame) *exchanges {
	t.Helper()
	x, by := &exchanges{}, map[uint64]*recordedExchange{}
	for i := range frames {
		f := &frames[i]
		if f.Exchange == 0 {
			continue
		}
		e := by[f.Exchange]
		if e == nil {
			e = &recordedExchange{n: f.Exchange}
			by[f.Exchange] = e
			x.order = append(x.order, e)
		}
		if f.Lane != tap.Lifecycle {
			e.bodies[f.Lane] = append(e.bodies[f.Lane], f.Raw...)
			e.events[f.Lane] = e.events[f.Lane] || f.Form == tap.FormEvent
			e.raw[f.Lane] = e.raw[f.Lane] || f.Form != tap.FormEvent && f.Form != tap.FormBody
			continue
		}
		ev, err := tap.ParseEvent(f.Raw)
		if err != nil {
			t.Fatalf("frame %d: %v", f.Seq, err)
		}
		e.add(t, &ev)
	}
	return x
}

func (e *recordedExchange) add(t *testing.T, ev *tap.Event) {
	switch ev.Name {
	case tap.EventRequest:
		e.request = *ev
	case tap.EventRewrite:
		e.rewrites = append(e.rewrites, *ev)
	case tap.EventResponse:
		e.own = ev.By == "tap"
	case tap.EventEnd:
		if e.end != nil {
			t.Errorf("exchange %d has two ends", e.n)
		}
		e.end = ev
	}
}

// ofConn returns the exchanges of one connection.
func (x *exchanges) ofConn(n uint64) (of []*recordedExchange) {
	for _, e := range x.order {
		if e.request.Conn == n {
			of = append(of, e)
		}
	}
	return of
}

// compare reads what one end of a connection received with package net/http, and compares the bodies.
// If a message breaks off, the recording has the part that arrived.
func (x *exchanges) compare(t *testing.T, mine []*recordedExchange, lane tap.Lane, wire []byte) (compared int) {
	t.Helper()
	// Package net/http refuses white space before a chunk extension.
	in := bufio.NewReader(bytes.NewReader(bytes.ReplaceAll(wire, []byte(" \t;note"), []byte(";note"))))
	for _, e := range mine {
		if e.end == nil {
			t.Errorf("exchange %d has no end", e.n)
		}
		if lane == tap.ToServer && (e.request.Error != "" || e.own) {
			continue // it was not forwarded
		}
		message, coding, err := nextBody(in, lane, e.request.Method)
		if err != nil || e.raw[lane] {
			return compared
		}
		body, whole := readBody(message, coding)
		for _, r := range e.rewrites {
			if lane == tap.ToClient && (strings.HasPrefix(r.What, "event ") || strings.HasPrefix(r.What, "body ")) {
				body = bytes.Replace(body, []byte(r.After), []byte(r.Before), 1)
			}
		}
		if got := unslashed(e.bodies[lane]); !bytes.Equal(got, body) {
			t.Errorf("exchange %d, %v: recorded %d bytes of %d: %.300q, and %.300q", e.n, lane, len(got), len(body), got, body)
		}
		if compared++; !whole {
			return compared
		}
	}
	return compared
}

// unslashed undoes the escapes that a rewrite of a JSON string leaves.
func unslashed(p []byte) []byte { return bytes.ReplaceAll(p, []byte(`\/`), []byte(`/`)) }

// nextBody reads the next head and returns the body after it, as it crossed, and its content coding.
func nextBody(in *bufio.Reader, lane tap.Lane, method string) (io.Reader, string, error) {
	if lane == tap.ToServer {
		r, err := http.ReadRequest(in)
		if err != nil {
			return nil, "", err
		}
		return r.Body, r.Header.Get("Content-Encoding"), nil
	}
	for {
		r, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			return nil, "", err
		}
		if r.StatusCode >= 200 {
			return r.Body, r.Header.Get("Content-Encoding"), nil
		}
		if r.StatusCode == http.StatusSwitchingProtocols {
			return nil, "", io.EOF
		}
	}
}

// readBody reads and decodes a body. whole is false if it breaks off.
func readBody(from io.Reader, coding string) (body []byte, whole bool) {
	coded, err := io.ReadAll(from)
	whole = err == nil
	decode := map[string]func(io.Reader) (io.Reader, error){
		"gzip":    func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"deflate": func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) },
		"br":      func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
		"zstd":    func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
	}[coding]
	if decode == nil {
		return coded, whole
	}
	decoded, err := decode(bytes.NewReader(coded))
	if err != nil {
		return coded, whole
	}
	body, _ = io.ReadAll(decoded)
	return body, whole
}
