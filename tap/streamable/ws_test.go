package streamable

import (
	"bytes"
	stdflate "compress/flate"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/mcptap/mcptap/tap"
)

// socket returns lanes that have become a WebSocket.
func socket(t testing.TB, cut func(int) int, extensions string) *lanes {
	l := newLanes(t, nil, cut)
	l.client([]byte("GET /ws HTTP/1.1\r\nHost: evil\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"))
	l.server([]byte("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: " + extensions + "\r\n\r\n"))
	return l
}

// wsFrameBytes returns a frame as on the wire.
func wsFrameBytes(first byte, payload []byte, mask []byte) []byte {
	b := []byte{first}
	masked := byte(0)
	if mask != nil {
		masked = 0x80
	}
	switch n := len(payload); {
	case n < 126:
		b = append(b, masked|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, masked|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, masked|127), uint64(n))
	}
	b = append(b, mask...)
	for i, c := range payload {
		if mask != nil {
			c ^= mask[i&3]
		}
		b = append(b, c)
	}
	return b
}

// messages describes the frames of one lane of the first exchange.
func (m *memory) messages(lane tap.Lane) []string {
	var out []string
	for _, f := range m.all() {
		if f.exchange == 1 && f.lane == lane && f.event == nil {
			s := fmt.Sprintf("%v %s", f.form, f.data)
			if !f.ended {
				s += " (unended)"
			}
			out = append(out, s)
		}
	}
	return out
}

func wantMessages(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("recorded %d messages, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("message %d is %.100q, want %.100q", i, got[i], want[i])
		}
	}
}

// Arbitrary messages, fragmented and masked in any way, with control frames between the
// fragments, and cut into reads in any way.
func TestSocketMessages(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := socket(t, randomCuts(seed), "")
		var wire []byte
		var want []string
		for range 1 + r.IntN(8) {
			form, op := tap.FormText, byte(opText)
			if r.IntN(2) == 0 {
				form, op = tap.FormBinary, opBinary
			}
			size := []int{0, 1, 125, 126, 127, 70_000}[r.IntN(6)]
			payload := text(size)
			var late []string // control frames within the message
			for {
				n := len(payload)
				if r.IntN(2) == 0 {
					n = r.IntN(n + 1)
				}
				fin := byte(0)
				if n == len(payload) {
					fin = 0x80
				}
				var mask []byte
				if r.IntN(2) == 0 {
					mask = binary.BigEndian.AppendUint32(nil, r.Uint32())
				}
				wire = append(wire, wsFrameBytes(fin|op, payload[:n], mask)...)
				if payload, op = payload[n:], 0; fin != 0 {
					break
				}
				if r.IntN(3) == 0 {
					wire = append(wire, wsFrameBytes(0x80|opPing, []byte("still?"), mask)...)
					if len(payload) == size { // nothing of the message was recorded
						want = append(want, "ping still?")
					} else {
						late = append(late, "ping still?")
					}
				}
			}
			want = append(want, form.String()+" "+string(text(size)))
			want = append(want, late...)
		}
		before := len(l.toUp)
		l.client(wire)
		if !bytes.Equal(l.toUp[before:], wire) {
			t.Fatalf("seed %d: the forwarded bytes were changed", seed)
		}
		wantMessages(t, l.rec.messages(tap.ToServer), want)
	}
}

// What is forwarded of a message is recorded immediately, so that it outlives a killed tap.
func TestSocketRecordsImmediately(t *testing.T) {
	const message = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	compressed := string(newDeflated(t).message(t, []byte(message)))
	for name, wire := range map[string][]byte{
		"fragment":          wsFrameBytes(opText, []byte(message), []byte("mask")),
		"part of a frame":   wsFrameBytes(0x80|opText, []byte(message+"\n"), nil)[:2+len(message)],
		"part of the third": wsFrameBytes(0, []byte(message[20:]+"\n"), nil)[:2+len(message)-20],
		"compressed":        wsFrameBytes(0x40|opText, []byte(compressed+string(flushed)), nil),
	} {
		for way, cut := range ways {
			l := socket(t, cut(0), "permessage-deflate")
			if name == "part of the third" {
				l.server(wsFrameBytes(opText, []byte(message[:10]), nil))
				l.server(wsFrameBytes(0, []byte(message[10:20]), nil))
			}
			l.server(wire)
			if got := l.rec.messages(tap.ToClient); len(got) != 1 || got[0] != "text "+message+" (unended)" {
				t.Errorf("%s, %s: recorded %q", name, way, got)
			}
		}
	}
}

// A message that breaks off, however the connection ends, is reported as incomplete.
func TestSocketBreaksOff(t *testing.T) {
	const message = `{"jsonrpc":"2.0","id":1,"result":{}}`
	fragment := wsFrameBytes(opText, []byte(message), nil)
	compressed := newDeflated(t).message(t, []byte(message))
	for name, tc := range map[string]struct {
		wire  []byte
		want  []string
		whole bool
	}{
		"fragment":        {fragment, []string{"text " + message}, false},
		"part of a frame": {wsFrameBytes(0x80|opText, []byte(message+" "), nil)[:2+len(message)], []string{"text " + message}, false},
		"compressed":      {wsFrameBytes(0x40|opText, compressed, nil), []string{"text " + message}, false},
		"close frame": {append(bytes.Clone(fragment), wsFrameBytes(0x80|opClose, nil, nil)...),
			[]string{"text " + message, "close "}, false},
		"fragment out of place": {append(bytes.Clone(fragment), wsFrameBytes(opText, nil, nil)...),
			[]string{"text " + message}, false},
		"message":        {wsFrameBytes(0x80|opText, []byte(message), nil), []string{"text " + message}, true},
		"part of a head": {append(wsFrameBytes(0x80|opText, []byte(message), nil), 0x81), []string{"text " + message}, true},
		"empty fragment": {wsFrameBytes(opText, nil, nil), nil, true}, // no frame was recorded
	} {
		for way, cut := range ways {
			for _, by := range []string{byClient, byServer} {
				l := socket(t, cut(0), "permessage-deflate")
				l.server(tc.wire)
				l.end(by, true)
				wantMessages(t, l.rec.messages(tap.ToClient), tc.want)
				e := l.lastEnd(t)
				if strings.Contains(e.Error, "the last WebSocket message from the server is incomplete") == tc.whole {
					t.Errorf("%s, %s, by the %s: ended with %q", name, way, by, e.Error)
				}
			}
		}
	}
	l := socket(t, ways["whole"](0), "")
	l.client(fragment)
	l.end(byClient, true)
	if e := l.lastEnd(t); !strings.Contains(e.Error, "the last WebSocket message from the client is incomplete") {
		t.Errorf("ended with %q", e.Error)
	}
}

// Control frames within a message are recorded after it, up to a number.
func TestSocketLongMessageInFragments(t *testing.T) {
	l := socket(t, func(n int) int { return min(n, 60_000) }, "")
	part := text(tap.PartSize/2 + 1)
	var wire []byte
	wire = append(wire, wsFrameBytes(opText, part, nil)...)
	wire = append(wire, wsFrameBytes(0x80|opPing, []byte("1"), nil)...)
	wire = append(wire, wsFrameBytes(0, part, nil)...)
	wire = append(wire, wsFrameBytes(0x80|opPong, []byte("2"), nil)...)
	wire = append(wire, wsFrameBytes(0, part, nil)...)
	for range maxLate {
		wire = append(wire, wsFrameBytes(0x80|opPing, nil, nil)...)
	}
	wire = append(wire, wsFrameBytes(0x80, nil, nil)...)
	l.server(wire)
	got := l.rec.messages(tap.ToClient)
	want := []string{"text " + strings.Repeat(string(part), 3), "ping 1", "pong 2"}
	for range maxLate - 2 {
		want = append(want, "ping ")
	}
	wantMessages(t, got, want)
	l.end(byServer, true)
	if e := l.lastEnd(t); !strings.Contains(e.Error, "control frames within a long message") {
		t.Errorf("missing frames are not reported: %q", e.Error)
	}
}

// deflated compresses messages as one stream, as permessage-deflate does with
// context takeover.
type deflated struct {
	b bytes.Buffer
	w *stdflate.Writer
}

func newDeflated(t testing.TB) *deflated {
	d := new(deflated)
	w, err := stdflate.NewWriter(&d.b, 9)
	must(t, err)
	d.w = w
	return d
}

func (d *deflated) message(t testing.TB, p []byte) []byte {
	d.b.Reset()
	_, err := d.w.Write(p)
	must(t, err)
	must(t, d.w.Flush())
	return bytes.Clone(bytes.TrimSuffix(d.b.Bytes(), flushed))
}

// Compressed messages refer to previous ones, unless agreed otherwise for their
// direction.
func TestSocketDeflate(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 2))
		fresh := seed%2 == 0
		extension := "permessage-deflate"
		if fresh {
			extension += "; server_no_context_takeover; server_max_window_bits=15"
		}
		l := socket(t, randomCuts(seed), extension)
		d := newDeflated(t)
		var wire []byte
		var want []string
		pings := 0
		for range 20 {
			if fresh {
				d = newDeflated(t)
			}
			p := text([]int{0, 5, 500, 50_000}[r.IntN(4)])
			coded := d.message(t, p)
			switch r.IntN(3) {
			case 0:
				wire = append(wire, wsFrameBytes(0xc0|opText, coded, nil)...)
			case 1:
				n := r.IntN(len(coded) + 1)
				wire = append(wire, wsFrameBytes(0x40|opText, coded[:n], nil)...)
				wire = append(wire, wsFrameBytes(0x80|opPing, nil, nil)...)
				wire = append(wire, wsFrameBytes(0x80, coded[n:], nil)...)
				pings++
			case 2: // one that is not compressed
				p = []byte("plain")
				d = newDeflated(t)
				if !fresh {
					continue
				}
				wire = append(wire, wsFrameBytes(0x80|opText, p, nil)...)
			}
			want = append(want, "text "+string(p))
		}
		l.server(wire)
		got := l.rec.messages(tap.ToClient)
		all := len(got)
		got = slices.DeleteFunc(got, func(s string) bool { return s == "ping " })
		if all-len(got) != pings {
			t.Errorf("seed %d: recorded %d pings, want %d", seed, all-len(got), pings)
		}
		wantMessages(t, got, want)
		l.end(byServer, true)
		if e := l.lastEnd(t); strings.Contains(e.Error, "decoded") {
			t.Error(e.Error)
		}
	}
}

// A sender may end the compressed stream within a message (RFC 7692, 7.2.3.4),
// and the next one may still refer to what came before.
func TestSocketDeflateFinalBlocks(t *testing.T) {
	l := socket(t, ways["single"](0), "permessage-deflate")
	var wire, before []byte
	var want []string
	for i := range 50 {
		var b bytes.Buffer
		w, err := stdflate.NewWriterDict(&b, 9, before)
		must(t, err)
		p := text(1000 + i)
		before = append(before, p...)
		before = before[max(0, len(before)-maxTakeover):]
		_, err = w.Write(p)
		must(t, err)
		must(t, w.Close())
		wire = append(wire, wsFrameBytes(0xc0|opText, append(b.Bytes(), 0), nil)...)
		want = append(want, "text "+string(p))
	}
	l.server(wire)
	wantMessages(t, l.rec.messages(tap.ToClient), want)
}

// A message that cannot be decompressed is recorded as it is, and so are all that follow,
// unless messages are compressed independently.
func TestSocketDeflateBroken(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		extension := "permessage-deflate"
		if fresh {
			extension += ";server_no_context_takeover"
		}
		l := socket(t, ways["whole"](0), extension)
		good := newDeflated(t).message(t, []byte("good"))
		wire := wsFrameBytes(0xc0|opText, good, nil)
		wire = append(wire, wsFrameBytes(0xc0|opText, []byte("\xff\xff bad"), nil)...)
		wire = append(wire, wsFrameBytes(0xc0|opText, good, nil)...)
		wire = append(wire, wsFrameBytes(0x80|opText, []byte("plain"), nil)...)
		wire = append(wire, wsFrameBytes(0xa0|opText, []byte("what?"), nil)...)
		l.server(wire)
		want := []string{"text good", "bytes \xff\xff bad", "bytes " + string(good), "text plain", "bytes what?"}
		if fresh {
			want[2] = "text good"
		}
		wantMessages(t, l.rec.messages(tap.ToClient), want)
		l.end(byServer, true)
		if e := l.lastEnd(t); !strings.Contains(e.Error, "could not be decoded") {
			t.Errorf("not reported: %q", e.Error)
		}
	}
}

// Invalid frames end the splitting, not the traffic.
func TestSocketNonsense(t *testing.T) {
	for name, frame := range map[string][]byte{
		"an unknown opcode":     wsFrameBytes(0x83, nil, nil),
		"a long ping":           wsFrameBytes(0x80|opPing, make([]byte, 126), nil),
		"a ping in fragments":   wsFrameBytes(opPing, nil, nil),
		"no beginning":          wsFrameBytes(0x80, nil, nil),
		"two beginnings":        append(wsFrameBytes(opText, nil, nil), wsFrameBytes(opText, nil, nil)...),
		"a length beyond reach": {0x82, 127, 0xff, 0, 0, 0, 0, 0, 0, 0},
	} {
		for way, cut := range ways {
			l := socket(t, cut(0), "")
			before := len(l.toDwn)
			wire := append(bytes.Clone(frame), "and what follows"...)
			l.server(wire)
			l.end(byServer, true)
			if got := l.toDwn[before:]; !bytes.Equal(got, wire) {
				t.Errorf("%s, %s: forwarded %q", name, way, got)
			}
			if got := l.rec.joined(1, tap.ToClient, tap.FormBytes); !strings.HasSuffix(string(got), "and what follows") {
				t.Errorf("%s, %s: recorded %q", name, way, got)
			}
			if e := l.lastEnd(t); !strings.Contains(e.Error, "a WebSocket") {
				t.Errorf("%s, %s: ended with %q", name, way, e.Error)
			}
		}
	}
}

// Client and server of a library, with subprotocol, compression and close code.
func TestSocketsOfALibrary(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		up := websocket.Upgrader{Subprotocols: []string{"mcp"}, EnableCompression: compressed}
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, err := up.Upgrade(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for {
				kind, p, err := c.ReadMessage()
				if err != nil {
					return // the close frame was answered
				}
				if err := c.WriteMessage(kind, append([]byte("re: "), p...)); err != nil {
					t.Error(err)
				}
			}
		}))
		defer srv.Close()
		tp, rec := begin(t, srv.URL, nil)
		d := websocket.Dialer{Subprotocols: []string{"mcp"}, EnableCompression: compressed}
		c, resp, err := d.Dial("ws://"+tp.Addr().String()+"/ws", nil)
		must(t, err)
		if c.Subprotocol() != "mcp" || compressed != (resp.Header.Get("Sec-Websocket-Extensions") != "") {
			t.Errorf("agreed on %q, %v", c.Subprotocol(), resp.Header)
		}
		var wantUp, wantDown []string
		for i := range 20 {
			p := text(i * i * 100)
			must(t, c.WriteMessage(websocket.TextMessage, p))
			_, got, err := c.ReadMessage()
			must(t, err)
			if string(got) != "re: "+string(p) {
				t.Fatalf("got %.50q", got)
			}
			wantUp = append(wantUp, "text "+string(p))
			wantDown = append(wantDown, "text re: "+string(p))
		}
		bye := websocket.FormatCloseMessage(websocket.CloseGoingAway, "bye")
		must(t, c.WriteMessage(websocket.CloseMessage, bye))
		_, _, err = c.ReadMessage()
		if !websocket.IsCloseError(err, websocket.CloseGoingAway) {
			t.Errorf("closed with %v", err)
		}
		c.Close()
		rec.wait(func(f []*frame) bool { return countEvents(f, tap.EventDisconnect) == 1 })
		wantMessages(t, rec.messages(tap.ToServer), append(wantUp, "close "+string(bye)))
		wantMessages(t, rec.messages(tap.ToClient), append(wantDown, "close "+string(bye[:2])))
		if e := rec.events(tap.EventEnd); len(e) != 1 || e[0].Error != "" {
			t.Errorf("ended with %+v", e)
		}
	}
}
