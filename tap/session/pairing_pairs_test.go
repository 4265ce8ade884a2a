package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// transcript turns lines of "> {json}" (to the server), "< {json}" (to the
// client) and "! words" (stderr) into frames, ten milliseconds apart.
func transcript(t testing.TB, text string) (frames []tap.Frame) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		lane, ok := map[byte]tap.Lane{'>': tap.ToServer, '<': tap.ToClient, '!': tap.Stderr, '*': tap.Lifecycle}[line[0]]
		if !ok {
			t.Fatalf("bad line %q", line)
		}
		raw := []byte(strings.TrimSpace(line[1:]) + "\n")
		n := len(frames) + 1
		frames = append(frames, tap.Frame{Seq: uint64(n), At: time.Duration(n) * 10 * time.Millisecond, Lane: lane, Raw: raw, Size: int64(len(raw))})
	}
	return frames
}

// links lists the requests and responses of frames with their pairs.
func links(p *Pairing, frames []tap.Frame) string {
	var all []string
	for _, f := range frames {
		m := jsonrpc.Peek(f.Raw)
		for _, l := range p.Add(&f, &m) {
			if s := link(&l); s != "" {
				all = append(all, s)
			}
		}
	}
	return strings.Join(all, "; ")
}

func link(p *Part) string {
	s, to := "", p.Request
	switch {
	case p.Role == RoleOrphan:
		s, to = "orphan", Ref{}
	case p.Role == RoleRepeat:
		s = "repeats"
	case p.Kind == jsonrpc.Request && p.Clash != (Ref{}):
		s, to = "clashes", p.Clash
	case p.Kind == jsonrpc.Request:
		s = "opens"
	case p.Kind == jsonrpc.Response || p.Kind == jsonrpc.ErrorResponse:
		s = "answers"
	default:
		return ""
	}
	s = fmt.Sprintf("%d.%d %s", p.Message.Seq, p.Message.Index, s)
	if to != (Ref{}) {
		s += fmt.Sprintf(" %d.%d", to.Seq, to.Index)
	}
	if p.Latency != 0 {
		s += " " + p.Latency.String()
	}
	return s
}

// pairCases are transcripts with the resulting links and, by frame number, the requests
// that are open at the end.
var pairCases = []struct{ name, text, want, open string }{
	{"request and response", `
			> {"id":0,"method":"ping"}
			! noise
			< {"id":0,"result":{}}`, "1.0 opens; 3.0 answers 1.0 20ms", ""},
	{"out of order", `
			> {"id":1,"method":"a"}
			> {"id":2,"method":"b"}
			< {"id":2,"result":{}}
			< {"id":1,"error":{"code":1,"message":""}}`, "1.0 opens; 2.0 opens; 3.0 answers 2.0 10ms; 4.0 answers 1.0 30ms", ""},
	{"one id in both directions", `
			> {"id":1,"method":"tools/call"}
			< {"id":1,"method":"sampling/createMessage"}
			> {"id":1,"result":{}}
			< {"id":1,"result":{}}`, "1.0 opens; 2.0 opens; 3.0 answers 2.0 10ms; 4.0 answers 1.0 30ms", ""},
	{"a response does not answer its own side", `
			> {"id":1,"method":"a"}
			> {"id":1,"result":{}}`, "1.0 opens; 2.0 orphan", "1"},
	{"number and string", `
			> {"id":1,"method":"a"}
			< {"id":"1","result":{}}
			< {"id":1,"result":{}}`, "1.0 opens; 2.0 orphan; 3.0 answers 1.0 20ms", ""},
	{"escapes", `
			> {"id":"a\/b","method":"a"}
			< {"id":"\u0061/b","result":{}}`, "1.0 opens; 2.0 answers 1.0 10ms", ""},
	{"spellings of a number", `
			> {"id":1.0,"method":"a"}
			> {"id":100,"method":"a"}
			> {"id":-0,"method":"a"}
			< {"id":1,"result":{}}
			< {"id":1e2,"result":{}}
			< {"id":0.0,"result":{}}`, "1.0 opens; 2.0 opens; 3.0 opens; 4.0 answers 1.0 30ms; 5.0 answers 2.0 30ms; 6.0 answers 3.0 30ms", ""},
	{"numbers beyond a float", `
			> {"id":9007199254740993,"method":"a"}
			< {"id":9007199254740992,"result":{}}
			< {"id":9007199254740993,"result":{}}`, "1.0 opens; 2.0 orphan; 3.0 answers 1.0 20ms", ""},
	{"empty string", `
			> {"id":"","method":"a"}
			< {"id":"","result":{}}`, "1.0 opens; 2.0 answers 1.0 10ms", ""},
	{"null and absent ids", `
			> {"id":1,"method":"a"}
			< {"id":null,"error":{"code":1,"message":""}}
			< {"error":{"code":1,"message":""}}`, "1.0 opens; 2.0 orphan; 3.0 orphan", "1"},
	{"repeated response", `
			> {"id":1,"method":"a"}
			< {"id":1,"result":{}}
			< {"id":1,"result":{}}
			< {"id":1,"result":{}}`, "1.0 opens; 2.0 answers 1.0 10ms; 3.0 repeats 1.0 20ms; 4.0 repeats 1.0 30ms", ""},
	{"id used again after its response", `
			> {"id":1,"method":"a"}
			< {"id":1,"result":{}}
			> {"id":1,"method":"a"}
			< {"id":1,"result":{}}
			< {"id":1,"result":{}}`, "1.0 opens; 2.0 answers 1.0 10ms; 3.0 opens; 4.0 answers 3.0 10ms; 5.0 repeats 3.0 20ms", ""},
	{"id used again while open", `
			> {"id":1,"method":"a"}
			> {"id":1,"method":"b"}
			> {"id":1,"method":"c"}
			< {"id":1,"result":{}}
			< {"id":1,"result":{}}`, "1.0 opens; 2.0 clashes 1.0; 3.0 clashes 1.0; 4.0 answers 1.0 30ms; 5.0 answers 2.0 30ms", "3"},
	{"probe before the handshake", `
			> {"id":1,"method":"server/discover"}
			< {"id":1,"error":{"code":-32601,"message":""}}
			> {"id":2,"method":"initialize"}
			< {"id":2,"result":{}}`, "1.0 opens; 2.0 answers 1.0 10ms; 3.0 opens; 4.0 answers 3.0 10ms", ""},
	{"batch", `
			> [{"id":1,"method":"a"},{"method":"n"},{"id":2,"method":"b"}]
			< [{"id":2,"result":{}},7,{"id":1,"result":{}}]`, "1.0 opens; 1.2 opens; 2.0 answers 1.2 10ms; 2.2 answers 1.0 10ms", ""},
	{"open at the end, both sides", `
			> {"id":1,"method":"a"}
			< {"id":1,"method":"b"}
			> [{"id":2,"method":"c"},{"id":2,"method":"d"}]`, "1.0 opens; 2.0 opens; 3.0 opens; 3.1 clashes 3.0", "1 2 3 3.1"},
	{"nothing pairs", `
			> {"method":"n"}
			< {"id":null,"method":"a"}
			! {"id":1,"method":"a"}
			* {"event":"start"}
			< banner`, "", ""},
}

func TestPairs(t *testing.T) {
	for _, c := range pairCases {
		var p Pairing
		if got := links(&p, transcript(t, c.text)); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.name, got, c.want)
		}
		var open []string
		for _, r := range p.Open() {
			s := fmt.Sprint(r.Ref.Seq)
			if r.Ref.Index > 0 {
				s += fmt.Sprint(".", r.Ref.Index)
			}
			open = append(open, s)
		}
		if got := strings.Join(open, " "); got != c.open {
			t.Errorf("%s: open %q, want %q", c.name, got, c.open)
		}
	}
}

func TestOpenRequest(t *testing.T) {
	var p Pairing
	frames := transcript(t, `< {"id":"x","method":"roots/list"}`)
	links(&p, frames)
	clear(frames[0].Raw) // open requests must not use the frame's memory
	open := p.Open()
	if len(open) != 1 || open[0].Method != "roots/list" || string(open[0].ID) != `"x"` ||
		open[0].Lane != tap.ToClient || open[0].At != 10*time.Millisecond {
		t.Errorf("%+v", open)
	}
}

// The result of Open does not change later.
func TestOpenRequestsStay(t *testing.T) {
	var p Pairing
	add := func(seq uint64, lane tap.Lane, kind jsonrpc.Kind, id string) {
		p.Add(&tap.Frame{Seq: seq, Lane: lane}, &jsonrpc.Message{Kind: kind, ID: []byte(id), Method: "m" + id})
	}
	add(1, tap.ToServer, jsonrpc.Request, `1`)
	add(2, tap.ToServer, jsonrpc.Request, `"`+strings.Repeat("long", 100)+`"`)
	open := p.Open()
	add(3, tap.ToClient, jsonrpc.Response, `1`)
	add(4, tap.ToClient, jsonrpc.Response, string(open[1].ID))
	add(5, tap.ToServer, jsonrpc.Request, `2`)
	add(6, tap.ToServer, jsonrpc.Request, `3`)
	if string(open[0].ID) != "1" || open[0].Method != "m1" || len(open[1].ID) != 402 {
		t.Errorf("%s %s", open[0].ID, open[0].Method)
	}
	if now := p.Open(); len(now) != 2 || string(now[0].ID) != "2" || string(now[1].ID) != "3" || now[0].Ref.Seq != 5 {
		t.Errorf("%+v", now)
	}
}

// TestPastIsBounded checks that only a fixed number of answered requests is remembered,
// whether each id is new or always the same.
func TestPastIsBounded(t *testing.T) {
	for name, id := range map[string]func(i int) []byte{
		"new ids": func(i int) []byte { return fmt.Append(nil, i) },
		"one id":  func(int) []byte { return []byte("1") },
		"ten ids": func(i int) []byte { return fmt.Append(nil, i%10) },
	} {
		var p Pairing
		const n = 10 * MaxPast
		for i := range n {
			p.Add(&tap.Frame{Seq: uint64(2*i + 1), Lane: tap.ToServer}, &jsonrpc.Message{Kind: jsonrpc.Request, ID: id(i)})
			l := p.Add(&tap.Frame{Seq: uint64(2*i + 2), Lane: tap.ToClient}, &jsonrpc.Message{Kind: jsonrpc.Response, ID: id(i)})
			if len(l) != 1 || l[0].Role != RoleResponse || l[0].Request.Seq != uint64(2*i+1) {
				t.Fatalf("%s: %+v", name, l)
			}
		}
		if len(p.words) != 0 || p.past.Len() > MaxPast {
			t.Errorf("%s: %d open, %d of the past", name, len(p.words), p.past.Len())
		}
		last := p.Add(&tap.Frame{Seq: 2*n + 1, Lane: tap.ToClient}, &jsonrpc.Message{Kind: jsonrpc.Response, ID: id(n - 1)})
		if last[0].Role != RoleRepeat || last[0].Request.Seq != 2*n-1 {
			t.Errorf("%s: the last is %+v", name, last)
		}
		oldest := p.Add(&tap.Frame{Seq: 2*n + 2, Lane: tap.ToClient}, &jsonrpc.Message{Kind: jsonrpc.Response, ID: id(n - MaxPast)})[0]
		forgotten := p.Add(&tap.Frame{Seq: 2*n + 3, Lane: tap.ToClient}, &jsonrpc.Message{Kind: jsonrpc.Response, ID: id(n - MaxPast - 1)})
		if name == "new ids" && (oldest.Role != RoleRepeat || forgotten[0].Role != RoleOrphan) {
			t.Errorf("%s: %+v %+v", name, oldest, forgotten)
		}
	}
}

// TestPastIsBoundedOfReusedID checks that the age of a reused id counts from its last
// use.
func TestPastIsBoundedOfReusedID(t *testing.T) {
	var p Pairing
	seq := uint64(0)
	call := func(id string) {
		p.Add(&tap.Frame{Seq: seq + 1, Lane: tap.ToServer}, &jsonrpc.Message{Kind: jsonrpc.Request, ID: []byte(id)})
		p.Add(&tap.Frame{Seq: seq + 2, Lane: tap.ToClient}, &jsonrpc.Message{Kind: jsonrpc.Response, ID: []byte(id)})
		seq += 2
	}
	call(`"x"`)
	call(`"x"`)
	for i := range MaxPast - 1 { // now the first use is forgotten, the second is not
		call(fmt.Sprint(i))
	}
	if l := p.Add(&tap.Frame{Seq: seq + 1, Lane: tap.ToClient}, &jsonrpc.Message{Kind: jsonrpc.Response, ID: []byte(`"x"`)}); l[0].Role != RoleRepeat || l[0].Request.Seq != 3 {
		t.Errorf("%+v", l)
	}
}
