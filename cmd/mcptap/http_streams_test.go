package main

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/mcptap/mcptap/internal/rawtalk"
	"github.com/mcptap/mcptap/tap"
)

// A flusher is a compressor that can be flushed.
type flusher interface {
	io.WriteCloser
	Flush() error
}

func compressor(t *testing.T, coding string, w io.Writer) flusher {
	switch coding {
	case "gzip":
		return gzip.NewWriter(w)
	case "deflate":
		return zlib.NewWriter(w)
	case "br":
		return brotli.NewWriter(w)
	}
	z, err := zstd.NewWriter(w)
	if err != nil {
		t.Error(err)
	}
	return z
}

// codedStream is [stream] with a content coding.
func codedStream(coding string) func(*act) http.HandlerFunc {
	return func(a *act) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", coding)
			flush(w)
			z := compressor(a.t, coding, w)
			for _, e := range slowEvents[:20] {
				a.await()
				_, err := io.WriteString(z, e)
				if err := errors.Join(err, z.Flush()); err != nil {
					a.t.Error(err)
				}
				flush(w)
			}
			if err := z.Close(); err != nil {
				a.t.Error(err)
			}
		}
	}
}

// readCoded reads what each event adds to the coded stream as it arrives. It codes the events again to
// find out how many bytes those are.
func readCoded(coding string) func(*act) {
	return func(a *act) {
		var want bytes.Buffer
		z := compressor(a.t, coding, &want)
		resp := a.do("GET", "/mcp", nil, "Accept-Encoding", "gzip, deflate, br, zstd")
		defer resp.Body.Close()
		for i, e := range slowEvents[:20] {
			want.Reset()
			_, err := io.WriteString(z, e)
			a.must(errors.Join(err, z.Flush()))
			a.yield()
			got := make([]byte, want.Len())
			if _, err := io.ReadFull(resp.Body, got); err != nil || !bytes.Equal(got, want.Bytes()) {
				a.t.Errorf("event %d is %q, %v", i, got, err)
			}
		}
		_, err := io.Copy(io.Discard, resp.Body)
		a.must(err)
	}
}

// 500 concurrent streams with a store each get their own events.
func TestManyStreamsAreStored(t *testing.T) {
	const streams, rounds = 500, 3
	clients, servers := new(wiretap), new(wiretap)
	up := rawtalk.Listen(t)
	r := startTapped(t, "http://"+up.Addr().String(), nil)
	var ends [streams]struct{ client, server net.Conn }
	hear := func(from net.Conn, text string) {
		t.Helper()
		got := make([]byte, len(text))
		if _, err := io.ReadFull(from, got); err != nil || string(got) != text {
			t.Fatalf("got %q instead of %q, %v", got, text, err)
		}
	}
	say := func(to net.Conn, text string) {
		t.Helper()
		if _, err := io.WriteString(to, text); err != nil {
			t.Fatal(err)
		}
	}
	for i := range ends {
		c, err := net.Dial("tcp", r.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		ends[i].client = clients.add(c)
		ask := fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: x\r\n\r\n", i)
		say(c, ask)
		if c, err = up.Accept(); err != nil {
			t.Fatal(err)
		}
		ends[i].server = servers.add(c)
		hear(ends[i].server, ask)
		head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
		say(c, head)
		hear(ends[i].client, head)
	}
	for round := range rounds {
		for i, e := range ends {
			say(e.server, fmt.Sprintf("id: %d\ndata: of %d\n\n", round, i))
		}
		for i, e := range ends {
			hear(e.client, fmt.Sprintf("id: %d\ndata: of %d\n\n", round, i))
		}
	}
	got := make([]rawtalk.Got, streams)
	for _, e := range ends {
		e.server.Close()
		if _, err := e.client.Read(make([]byte, 1)); err != io.EOF {
			t.Fatalf("the client saw %v", err)
		}
		e.client.Close()
	}
	down, upward := clients.got(), servers.got()
	for i := range got {
		got[i] = rawtalk.Got{Client: down[i], Server: upward[i]}
	}
	frames, compared := r.settle(got)
	events := 0
	for i := range frames {
		if frames[i].Form == tap.FormEvent {
			events++
		}
	}
	if compared != 2*streams || events != streams*rounds {
		t.Errorf("%d bodies were compared, %d events are recorded", compared, events)
	}
}
