package streamable

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/internal/rawtalk"
	"github.com/mcptap/mcptap/tap"
)

// heap returns how many bytes of memory are in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// pump writes n bytes of a pattern and returns their sum.
func pump(t testing.TB, w io.Writer, n int) uint32 {
	block := text(1 << 20)
	sum := crc32.New(castagnoli)
	for n > 0 {
		p := block[:min(n, len(block))]
		sum.Write(p)
		if _, err := w.Write(p); err != nil {
			t.Error(err)
			return 0
		}
		n -= len(p)
	}
	return sum.Sum32()
}

// drain reads n bytes and returns their sum.
func drain(t testing.TB, r io.Reader, n int) uint32 {
	sum := crc32.New(castagnoli)
	if _, err := io.CopyN(sum, r, int64(n)); err != nil {
		t.Error(err)
	}
	return sum.Sum32()
}

// A body of 1 GB crosses in each direction, is recorded completely, and takes no more
// memory than a small one.
func TestHugeBodies(t *testing.T) {
	size := 1 << 30
	if longtest.Sampled(t) {
		size = 32 << 20
	}
	s := newStage(t, nil)
	s.rec.keep = 1
	before, peak := heap(), uint64(0)
	s.rec.watch = func(count int) {
		if count%512 == 0 {
			peak = max(peak, heap())
		}
	}
	long := func(c net.Conn) { must(t, c.SetDeadline(time.Now().Add(10*time.Minute))) }
	long(s.Client)
	s.Say(">", fmt.Sprintf(`POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: %d\r\n\r\n`, size))
	long(s.Server)
	var sums [4]uint32
	var both sync.WaitGroup
	both.Go(func() { sums[0] = pump(t, s.Client, size) })
	both.Go(func() { sums[1] = drain(t, s.Server, size) })
	both.Wait()
	s.Say("<", fmt.Sprintf(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n`, size))
	both.Go(func() { sums[2] = pump(t, s.Server, size) })
	both.Go(func() { sums[3] = drain(t, s.Client, size) })
	both.Wait()
	s.Say("<", `\r\n0\r\n\r\n`)
	s.finish()
	if sums[0] != sums[1] || sums[2] != sums[3] {
		t.Error("the received bytes differ from those sent")
	}
	for _, f := range s.rec.all() {
		if f.event == nil && (f.size != size || f.sum.Sum32() != sums[0] || !f.ended) {
			t.Errorf("%v: recorded %d bytes", f.lane, f.size)
		}
	}
	if grown := int64(peak) - int64(before); grown > 16<<20 {
		t.Errorf("it took %d MiB", grown>>20)
	}
}

// openStream opens a client's stream, up to the head of its response.
func openStream(t *testing.T, tp *Tap, up net.Listener, i int) (client, server net.Conn) {
	t.Helper()
	ready := func(c net.Conn, err error) net.Conn {
		must(t, err)
		t.Cleanup(func() { c.Close() })
		must(t, c.SetDeadline(time.Now().Add(rawtalk.Patience)))
		return c
	}
	client = ready(net.Dial("tcp", tp.Addr().String()))
	_, err := fmt.Fprintf(client, "GET /%d HTTP/1.1\r\nHost: x\r\n\r\n", i)
	must(t, err)
	server = ready(up.Accept())
	line, err := bufio.NewReader(server).ReadString('\n')
	must(t, err)
	if line != fmt.Sprintf("GET /%d HTTP/1.1\r\n", i) {
		t.Fatalf("stream %d: %q", i, line)
	}
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	_, err = io.WriteString(server, head)
	must(t, err)
	_, err = io.ReadFull(client, make([]byte, len(head)))
	must(t, err)
	return client, server
}

// 500 concurrent streams: each event reaches only its client, and an idle stream takes
// little memory.
func TestManyStreams(t *testing.T) {
	const streams = 500
	up := rawtalk.Listen(t)
	tp, rec := begin(t, "http://"+up.Addr().String(), nil)
	before := heap()
	var servers, clients [streams]net.Conn
	for i := range streams {
		clients[i], servers[i] = openStream(t, tp, up, i)
	}
	// About 38 KiB, with the race detector 52 KiB. Buffers in pools survive a collection.
	const limit = 64 << 10
	each := int64(math.MaxInt64)
	for late := time.Now().Add(10 * time.Second); each > limit && time.Now().Before(late); {
		runtime.GC()
		each = min(each, (int64(heap())-int64(before))/streams)
	}
	if each > limit {
		t.Errorf("an idle stream takes %d KiB, the test's own ends included", each>>10)
	}
	for round := range 3 {
		for i, s := range servers {
			_, err := fmt.Fprintf(s, "data: %d of %d\n\n", round, i)
			must(t, err)
		}
		for i, c := range clients {
			want := fmt.Sprintf("data: %d of %d\n\n", round, i)
			got := make([]byte, len(want))
			_, err := io.ReadFull(c, got)
			if must(t, err); string(got) != want {
				t.Fatalf("stream %d: got %q, want %q", i, got, want)
			}
		}
	}
	for i, c := range clients {
		c.Close()
		if _, err := servers[i].Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Fatalf("server %d saw %v", i, err)
		}
		servers[i].Close()
	}
	rec.wait(func(f []*frame) bool { return countEvents(f, tap.EventDisconnect) == streams })
	for i := range streams {
		x := uint64(i + 1)
		want := fmt.Sprintf("data: 0 of %d\n\ndata: 1 of %d\n\ndata: 2 of %d\n\n", i, i, i)
		if got := rec.joined(x, tap.ToClient, tap.FormEvent); string(got) != want {
			t.Fatalf("stream %d: recorded %q", i, got)
		}
	}
}

// Consecutive events of 8 MB are one frame each.
func TestLargeEvents(t *testing.T) {
	s := newStage(t, nil)
	s.Say(">", `GET /mcp HTTP/1.1\r\nHost: {host}\r\n\r\n`)
	s.Say("<", `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n`)
	event := "data: " + strings.Repeat("x", 8<<20) + "\r\n\r\n"
	var wire bytes.Buffer
	for range 3 {
		fmt.Fprintf(&wire, "%x\r\n%s\r\n", len(event)/2, event[:len(event)/2])
		fmt.Fprintf(&wire, "%x\r\n%s\r\n", len(event)-len(event)/2, event[len(event)/2:])
	}
	go func() { _, _ = s.Server.Write(wire.Bytes()) }()
	got := make([]byte, wire.Len())
	_, err := io.ReadFull(s.Client, got)
	if must(t, err); !bytes.Equal(got, wire.Bytes()) {
		t.Error("the received bytes differ from those sent")
	}
	s.finish()
	n := 0
	for _, f := range s.rec.all() {
		if f.form == tap.FormEvent {
			if n++; string(f.data) != event {
				t.Errorf("event %d: recorded %d bytes", n, f.size)
			}
		}
	}
	if n != 3 {
		t.Errorf("%d events", n)
	}
}

// Large heads, and one that exceeds the limit.
func TestLargeHeads(t *testing.T) {
	for _, kib := range []int{64, 1000} {
		s := newStage(t, nil)
		many := strings.Repeat(`X-Header: `+strings.Repeat("y", 1000)+`\r\n`, kib)
		s.Say(">", `GET / HTTP/1.1\r\nHost: {host}\r\n`+many+`\r\n`)
		s.Say("<", `HTTP/1.1 200 OK\r\n`+many+`Content-Length: 2\r\n\r\nok`)
		s.finish()
		requests, responses := s.rec.events(tap.EventRequest), s.rec.events(tap.EventResponse)
		if len(requests) != 1 || len(requests[0].Header) != kib+1 || len(responses) != 1 || len(responses[0].Header) != kib+1 {
			t.Errorf("%d KiB: not all was recorded", kib)
		}
	}
	huge := `X: ` + strings.Repeat("y", maxHead) + `\r\n\r\n`
	s := newStage(t, nil)
	go func() { _, _ = s.Client.Write(s.Expand(`GET / HTTP/1.1\r\nHost: {host}\r\n`+huge, true)) }()
	s.Say("~", `HTTP/1.1 431 Request Header Fields Too Large\r\n`)
	if records := s.finish(); !strings.Contains(records, "more than 1024 KiB") {
		t.Errorf("recorded %.500s", records)
	}
	s = newStage(t, nil)
	s.Say(">", `GET / HTTP/1.1\r\nHost: {host}\r\n\r\n`)
	go func() { _, _ = s.Server.Write(s.Expand(`HTTP/1.1 200 OK\r\n`+huge, false)) }()
	s.Say("~", `HTTP/1.1 200 OK\r\n`+huge)
	if records := s.finish(); !strings.Contains(records, "the head of the response is too long") {
		t.Errorf("recorded %.500s", records)
	}
}

// dying are conversations that end at each of their bytes.
var dying = []struct{ name, ask, reply string }{
	{"length", "POST / HTTP/1.1\r\nHost: evil\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nworld"},
	{"chunks", "POST / HTTP/1.1\r\nHost: evil\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nworld\r\n0\r\nX: y\r\n\r\n"},
	{"events", "GET / HTTP/1.1\r\nHost: evil\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: endpoint\ndata: /x\n\ndata: 2\n\n"},
	{"socket", "GET / HTTP/1.1\r\nHost: evil\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x05hello\x88\x02\x03\xe8"},
}

// The server ends or resets the connection after each byte of its response: the client
// sees the same bytes and the same kind of end.
func TestServerDiesAtEachByte(t *testing.T) {
	for _, tc := range dying {
		for n := range len(tc.reply) + 1 {
			for _, reset := range []bool{false, true} {
				s := newStage(t, nil)
				s.Say(">", rawtalk.Escaped([]byte(tc.ask)))
				_, err := io.WriteString(s.Server, tc.reply[:n])
				must(t, err)
				if reset {
					must(t, s.Server.SetLinger(0))
				}
				must(t, s.Server.Close())
				got, err := io.ReadAll(s.Client)
				if !reset && (err != nil || string(got) != tc.reply[:n]) || reset && (!isReset(err) || !strings.HasPrefix(tc.reply, string(got))) {
					t.Fatalf("%s, %d bytes, reset %v: got %q, %v", tc.name, n, reset, got, err)
				}
				s.Server = nil
				records := s.finish()
				if broken := strings.Contains(records, "by=server error="); reset && !broken && n < len(tc.reply) {
					t.Fatalf("%s, %d bytes, reset %v: recorded\n%s", tc.name, n, reset, records)
				}
				if strings.Contains(records, "UNENDED") || strings.Count(records, "#1 end") != 1 {
					t.Fatalf("%s, %d bytes, reset %v: recorded\n%s", tc.name, n, reset, records)
				}
			}
		}
	}
}

// The client ends or resets the connection after each byte of its request: the server sees
// the same, and everything is recorded.
func TestClientDiesAtEachByte(t *testing.T) {
	for _, tc := range dying {
		for n := 1; n <= len(tc.ask); n++ {
			for _, reset := range []bool{false, true} {
				s := newStage(t, nil)
				_, err := io.WriteString(s.Client, tc.ask[:n])
				must(t, err)
				var got []byte
				headless := !strings.Contains(tc.ask[:n], "\r\n\r\n")
				if reset && headless {
					continue // perhaps nothing was forwarded
				}
				s.Server = nil
				if reset {
					s.Server = s.Accept()
					_, err := s.Server.Read(make([]byte, 1)) // the tap has read it
					must(t, err)
					must(t, s.Client.SetLinger(0))
				}
				must(t, s.Client.Close())
				if s.Server == nil {
					s.Server = s.Accept()
				}
				got, err = io.ReadAll(s.Server)
				if !reset && (err != nil || string(got) != tc.ask[:n]) || reset && !isReset(err) {
					t.Fatalf("%s, %d bytes, reset %v: got %q, %v", tc.name, n, reset, got, err)
				}
				records := s.finish()
				if !strings.Contains(records, "#1 end") || !strings.Contains(records, "by=client error=the client ") || strings.Contains(records, "UNENDED") {
					t.Fatalf("%s, %d bytes, reset %v: recorded\n%s", tc.name, n, reset, records)
				}
			}
		}
	}
}
