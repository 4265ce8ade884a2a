package streamable

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"runtime"
	"testing"

	"github.com/mcptap/mcptap/internal/rawtalk"
	"github.com/mcptap/mcptap/tap"
)

// FuzzRequestsAreReadAsOthersDo compares with the reader of package net/http: in the
// forwarded bytes it sees the same requests, with the same bodies. Requests that are
// understood in two ways can be smuggled.
func FuzzRequestsAreReadAsOthersDo(f *testing.F) {
	for _, file := range talks(f) {
		var all []byte
		for _, st := range rawtalk.Parse(f, file).Steps {
			if st.Verb == ">" {
				all = append(all, rawtalk.Expand(f, st.Text, "evil", pureTap, pureUp)...)
			}
			if st.Verb == "client again" {
				f.Add(all)
				all = nil
			}
		}
		f.Add(all)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if bytes.Contains(in, []byte("pgrade")) || bytes.Contains(in, []byte("CONNECT")) {
			return // it waits for the server
		}
		l := newLanes(t, func(c *Config) { c.KeepSecrets = true }, ways["whole"](0))
		l.client(in)
		refused := l.up.state == stateOwn
		l.end(byClient, true)
		var ours []tap.Event
		for _, e := range l.rec.events(tap.EventRequest) {
			if e.Error == "" {
				ours = append(ours, e)
			}
		}
		theirs := bufio.NewReader(bytes.NewReader(in))
		for i, e := range ours {
			r, err := http.ReadRequest(theirs)
			if err != nil || refused && i == len(ours)-1 {
				return
			}
			body, err := io.ReadAll(r.Body)
			if r.Method != e.Method || toText(r.RequestURI) != e.Target || r.Proto != e.Proto {
				t.Fatalf("request %d is %s %s %s, and %+v", i, r.Method, r.RequestURI, r.Proto, e)
			}
			if err != nil {
				return
			}
			if got := l.rec.joined(uint64(i+1), tap.ToServer, tap.FormBody); !bytes.Equal(got, body) {
				t.Fatalf("request %d has the body %q, and %q", i, body, got)
			}
		}
	})
}

// FuzzResponsesAreReadAsOthersDo is the same for a response.
func FuzzResponsesAreReadAsOthersDo(f *testing.F) {
	for _, file := range talks(f) {
		for _, st := range rawtalk.Parse(f, file).Steps {
			if st.Verb == "<" {
				f.Add(rawtalk.Expand(f, st.Text, "evil", pureTap, pureUp))
			}
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		l := newLanes(t, func(c *Config) { c.KeepSecrets = true }, randomCuts(uint64(len(in))))
		l.client([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
		l.server(in)
		l.end(byServer, true)
		if !bytes.Equal(l.toDwn, in) && len(l.rec.events(tap.EventRewrite)) == 0 {
			t.Errorf("forwarded %q of %q", l.toDwn, in)
		}
		r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(in)), nil)
		if err != nil || r.StatusCode < 200 || r.ContentLength < -1 || r.Header.Get("Content-Encoding") != "" {
			return
		}
		body, err := io.ReadAll(r.Body)
		ours := l.rec.events(tap.EventResponse)
		if len(ours) == 0 || ours[0].Status != r.StatusCode {
			return // read more strictly here: FormBytes
		}
		got := l.rec.joined(1, tap.ToClient, tap.FormBody)
		if len(got) == 0 {
			got = l.rec.joined(1, tap.ToClient, tap.FormEvent)
		}
		raw := l.rec.joined(1, tap.ToClient, tap.FormBytes)
		if err == nil && len(raw) == 0 && !bytes.Equal(got, body) {
			t.Fatalf("the body is %q, and %q", body, got)
		}
	})
}

// A decoder leaves no goroutine when its body is over, however it ended.
func TestNoDecoderIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for coding := range compressors {
		coded := compress(t, coding, text(100_000))
		for _, n := range []int{0, 1, len(coded) / 2, len(coded)} {
			l := answered(t, randomCuts(1), "Content-Encoding: "+headerName(coding))
			l.server(coded[:n])
			l.end(byServer, n%2 == 0)
		}
	}
	l := socket(t, ways["whole"](0), "permessage-deflate")
	l.server(wsFrameBytes(0xc0|opText, newDeflated(t).message(t, text(100)), nil))
	l.server(wsFrameBytes(0x40|opText, newDeflated(t).message(t, text(100)), nil))
	l.end(byServer, false)
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines are left", n-before)
	}
}
