package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// flush sends the bytes written so far.
func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// stream responds with events. It sends each one when the client has received the previous one.
func stream(events ...string) func(*act) http.HandlerFunc {
	return func(a *act) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			flush(w) // a stream may be silent for a long time
			for _, e := range events {
				a.await()
				_, _ = io.WriteString(w, e)
				flush(w)
			}
		}
	}
}

// readEvents reads each event as it arrives.
func readEvents(method string, events ...string) func(*act) {
	return func(a *act) {
		resp := a.do(method, "/mcp", strings.NewReader(""), "Accept", "text/event-stream")
		defer resp.Body.Close()
		for i, want := range events {
			a.yield()
			got := make([]byte, len(want))
			if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
				a.t.Errorf("event %d is %.100q, %v", i, got, err)
			}
		}
		if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
			a.t.Errorf("after the last event: %.100q, %v", rest, err)
		}
	}
}

// echoBack responds with the request body, once it is complete.
func echoBack(*act) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}
}

// ask sends requests one after the other and reads the responses.
func ask(requests ...func(*act) *http.Response) func(*act) {
	return func(a *act) {
		for _, r := range requests {
			resp := r(a)
			_, err := io.Copy(io.Discard, resp.Body)
			a.must(err)
			resp.Body.Close()
		}
	}
}

func numbered(n int, format string) (events []string) {
	for i := range n {
		events = append(events, fmt.Sprintf(format, i, i))
	}
	return events
}

var (
	// oddEvents have every kind of line ending, a byte order mark, comments, several data lines, ids,
	// retries, fields without a colon, and bytes that are not UTF-8.
	oddEvents = []string{"\ufeffid: 1\nretry: 10\ndata: {}\n\n", ": a comment\r\n\r\n", "event: message\rid: 2\rdata: a\rdata: b\r\r\n", "data\n\n",
		"id\ndata: \xff\x00\n\n", ":\n\n", "data: 1\r\ndata:  2\n\r", "\n", "retry: x\nunknown: y\n\n"}
	slowEvents = numbered(100, "id: %d\ndata: {\"n\":%d}\n\n")
)

// largeEvents are built only on use: the scripts start this program hundreds of times.
func largeEvents() []string {
	return []string{"data: " + strings.Repeat("x", 8<<20) + "\n\n", "data: " + strings.Repeat("y\ndata: ", 1<<17) + "\r\n\r\n"}
}

// eventsAre checks that the recording has these events, one per frame.
func eventsAre(want []string) func(*testing.T, *exchanges, []tap.Frame) {
	return func(t *testing.T, _ *exchanges, frames []tap.Frame) {
		t.Helper()
		var got []string
		for i := range frames {
			if frames[i].Form == tap.FormEvent {
				got = append(got, string(frames[i].Raw))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d events are recorded: %.500q", len(got), got)
		}
	}
}

func scenes() []scene {
	large := largeEvents()
	return []scene{
		{name: "slow events", server: stream(slowEvents...), client: readEvents("GET", slowEvents...), exchanges: 1, check: eventsAre(slowEvents)},
		{name: "slow events of a POST", server: stream(slowEvents...), client: readEvents("POST", slowEvents...), exchanges: 1, check: eventsAre(slowEvents)},
		{name: "odd events", server: stream(oddEvents...), client: readEvents("GET", oddEvents...), exchanges: 1, check: oddEventsAre},
		{name: "events of 8 MB", large: true, server: stream(large...), client: readEvents("GET", large...), exchanges: 1, check: eventsAre(large)},
		{name: "gzip", server: codedStream("gzip"), client: readCoded("gzip"), exchanges: 1, check: eventsAre(slowEvents[:20])},
		{name: "deflate", server: codedStream("deflate"), client: readCoded("deflate"), exchanges: 1, check: eventsAre(slowEvents[:20])},
		{name: "br", server: codedStream("br"), client: readCoded("br"), exchanges: 1, check: eventsAre(slowEvents[:20])},
		{name: "zstd", server: codedStream("zstd"), client: readCoded("zstd"), exchanges: 1, check: eventsAre(slowEvents[:20])},
		{name: "resumption", server: resumable, client: resume, exchanges: 2, check: resumed},
		{name: "an upload while it is still being sent", server: takesPieces, client: sendsPieces, exchanges: 1, check: uploadedWhole},
		{name: "100-continue", server: echoBack, exchanges: 1, client: ask(func(a *act) *http.Response {
			return a.do("POST", "/mcp", strings.NewReader(`{"id":1}`), "Expect", "100-continue")
		}), check: continued},
		{name: "trailers", server: withTrailers, client: sendsTrailers, exchanges: 1, check: trailed},
		{name: "no bodies", server: withoutBodies, client: asksForNoBodies, exchanges: 5, check: allWhole},
		{name: "heads of 64 KB", server: largeHeads, client: sendsLargeHeads, exchanges: 1, check: headsAreWhole},
		{name: "a body of 3 MB each way", large: true, server: echoBack, exchanges: 1, client: ask(func(a *act) *http.Response {
			return a.do("POST", "/mcp", bytes.NewReader(bytes.Repeat([]byte(`{"jsonrpc":"2.0"}`+"\n"), 3<<20/18)))
		})},
	}
}

// oddEventsAre checks that each frame ends where an event does. [tapped.settle] checks the joined bytes.
func oddEventsAre(t *testing.T, x *exchanges, frames []tap.Frame) {
	n := 0
	for i := range frames {
		if frames[i].Form == tap.FormEvent {
			n++
		}
	}
	if n != 9 || !x.order[0].events[tap.ToClient] {
		t.Errorf("%d events are recorded", n)
	}
	allWhole(t, x, frames)
}

func allWhole(t *testing.T, x *exchanges, _ []tap.Frame) {
	t.Helper()
	for _, e := range x.order {
		if e.end.Error != "" || e.end.By != "server" {
			t.Errorf("exchange %d ended with %+v", e.n, e.end)
		}
	}
}

// resumable is a stream that continues after the Last-Event-ID.
func resumable(a *act) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if last := r.Header.Get("Last-Event-ID"); last != "" {
			fmt.Fprintf(w, "id: 3\ndata: behind %s\n\n", last)
			return
		}
		_, _ = io.WriteString(w, "retry: 5\nid: 1\ndata: a\n\nid: 2\ndata: b\n\n")
		flush(w)
		<-r.Context().Done() // the client hangs up
	}
}

func resume(a *act) {
	resp := a.do("GET", "/mcp", nil)
	in := bufio.NewReader(resp.Body)
	for range 7 {
		_, err := in.ReadString('\n')
		a.must(err)
	}
	resp.Body.Close() // closes the connection
	ask(func(a *act) *http.Response { return a.do("GET", "/mcp", nil, "Last-Event-ID", "2") })(a)
}

func resumed(t *testing.T, x *exchanges, _ []tap.Frame) {
	if len(x.order) != 2 {
		t.Fatalf("%d exchanges", len(x.order))
	}
	first, second := x.order[0], x.order[1]
	// A server may end its response properly when it sees that the client is gone.
	if !first.end.HalfClosed && first.end.By != "client" {
		t.Errorf("the first ended with %+v", first.end)
	}
	if !slices.Contains(second.request.Header, [2]string{"Last-Event-Id", "2"}) || second.end.Error != "" || string(second.bodies[tap.ToClient]) != "id: 3\ndata: behind 2\n\n" {
		t.Errorf("the second is %+v", second)
	}
}

const uploadPieces = 50

// takesPieces confirms the arrival of each piece before the next one is sent.
func takesPieces(a *act) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			a.t.Error(err)
		}
		for i := range uploadPieces {
			piece := make([]byte, len(uploadPiece(i)))
			if _, err := io.ReadFull(r.Body, piece); err != nil || string(piece) != uploadPiece(i) {
				a.t.Errorf("piece %d is %q, %v", i, piece, err)
			}
			a.yield()
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "all of it")
	}
}

func uploadPiece(i int) string { return strings.Repeat(fmt.Sprint(i), i+1) }

func sendsPieces(a *act) {
	body, sending := io.Pipe()
	go func() {
		for i := range uploadPieces {
			_, _ = io.WriteString(sending, uploadPiece(i))
			a.await()
		}
		sending.Close()
	}()
	ask(func(a *act) *http.Response { return a.do("POST", "/mcp", body) })(a)
}

func uploadedWhole(t *testing.T, x *exchanges, frames []tap.Frame) {
	var want string
	for i := range uploadPieces {
		want += uploadPiece(i)
	}
	if got := string(x.order[0].bodies[tap.ToServer]); got != want {
		t.Errorf("recorded %q", got)
	}
	for i := range frames {
		if frames[i].Lane == tap.ToServer && frames[i].Took == 0 {
			t.Error("the body took no time")
		}
	}
	allWhole(t, x, frames)
}

func continued(t *testing.T, x *exchanges, frames []tap.Frame) {
	var statuses []int
	for i := range frames {
		if e, err := tap.ParseEvent(frames[i].Raw); frames[i].Lane == tap.Lifecycle && err == nil && e.Name == tap.EventResponse {
			statuses = append(statuses, e.Status)
		}
	}
	if !slices.Equal(statuses, []int{100, 200}) {
		t.Errorf("the statuses are %v", statuses)
	}
	allWhole(t, x, frames)
}

func withTrailers(*act) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Sum", r.Trailer.Get("X-Up"))
	}
}

func sendsTrailers(a *act) {
	req, err := http.NewRequest("POST", a.url, io.MultiReader(strings.NewReader("{}")))
	a.must(err)
	req.Trailer = http.Header{"X-Up": {"42"}}
	resp, err := a.http.Do(req)
	a.must(err)
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	if a.must(err); resp.Trailer.Get("X-Sum") != "42" {
		a.t.Errorf("the trailer is %v", resp.Trailer)
	}
}

func trailed(t *testing.T, x *exchanges, frames []tap.Frame) {
	if got := x.order[0].end.Trailer; !slices.Equal(got, [][2]string{{"X-Up", "42"}, {"X-Sum", "42"}}) {
		t.Errorf("the trailers are %v", got)
	}
	allWhole(t, x, frames)
}

func withoutBodies(*act) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == "OPTIONS":
			w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
			w.Header().Set("Access-Control-Allow-Headers", "mcp-session-id")
			w.WriteHeader(http.StatusNoContent)
		case r.Method == "HEAD":
			w.Header().Set("Content-Length", "1000")
		case r.Header.Get("If-None-Match") != "":
			w.WriteHeader(http.StatusNotModified)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}
}

func asksForNoBodies(a *act) {
	ask(
		func(a *act) *http.Response {
			return a.do("OPTIONS", "/mcp", nil, "Origin", "http://localhost:6274", "Access-Control-Request-Method", "POST")
		},
		func(a *act) *http.Response { return a.do("HEAD", "/mcp", nil) },
		func(a *act) *http.Response { return a.do("GET", "/mcp", nil, "If-None-Match", `"x"`) },
		func(a *act) *http.Response { return a.do("DELETE", "/mcp", nil) },
	)(a)
	old, err := a.dial()
	a.must(err)
	_, err = io.WriteString(old, "HEAD /mcp HTTP/1.0\r\n\r\n")
	a.must(err)
	_, err = io.ReadAll(old)
	a.must(err)
	old.Close()
}

func largeHeads(*act) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := range 64 {
			w.Header().Add("X-Large", fmt.Sprint(i, strings.Repeat("z", 1000)))
		}
		_, _ = io.WriteString(w, fmt.Sprint(len(r.Header["X-Large"])))
	}
}

func sendsLargeHeads(a *act) {
	var header []string
	for i := range 64 {
		header = append(header, "X-Large", fmt.Sprint(i, strings.Repeat("z", 1000)))
	}
	ask(func(a *act) *http.Response { return a.do("GET", "/mcp", nil, header...) })(a)
}

func headsAreWhole(t *testing.T, x *exchanges, frames []tap.Frame) {
	n := 0
	for i := range frames {
		if e, err := tap.ParseEvent(frames[i].Raw); frames[i].Lane == tap.Lifecycle && err == nil {
			k := 0
			for _, f := range e.Header {
				if f[0] == "X-Large" && strings.HasPrefix(f[1], fmt.Sprint(k, "z")) {
					k++
				}
			}
			if n++; k != 64 && (e.Name == tap.EventRequest || e.Name == tap.EventResponse) {
				t.Errorf("a %s has %d of the fields", e.Name, k)
			}
		}
	}
	if n == 0 {
		t.Error("no head is recorded")
	}
	allWhole(t, x, frames)
}
