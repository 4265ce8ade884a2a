package replay

import (
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// bodies returns lines as frames, each on a separate exchange; those with > are from the client.
func bodies(text string) (frames []tap.Frame) {
	for line := range strings.Lines(text) {
		f := tap.Frame{Seq: uint64(len(frames) + 1), At: time.Duration(len(frames)) * time.Millisecond, Lane: tap.ToClient, Form: tap.FormBody}
		raw, client := strings.CutPrefix(strings.TrimSpace(line), ">")
		if client {
			f.Lane = tap.ToServer
		}
		f.Raw, f.Size = []byte(raw), int64(len(raw))
		frames = append(frames, f)
	}
	return frames
}

// A client starts a new session when it sends the first request of the recording once more.
func TestBeginsAgain(t *testing.T) {
	frames := bodies(`>{"id":1,"method":"a"}
{"id":1,"result":{}}
>{"id":2,"method":"b"}
{"id":2,"result":{}}
>{"id":3,"method":"a"}
{"id":3,"result":{}}
`)
	s := script(t, frames, Options{}).NewSession()
	for i, c := range []struct {
		message string
		want    bool
	}{
		{`{"id":1,"method":"a"}`, false}, {`{"id":2,"method":"b"}`, false}, {`{"id":3,"method":"b"}`, false},
		{`{"id":4,"method":"a"}`, false}, {`{"id":5,"method":"a"}`, true}, {`{"id":5,"method":"b"}`, false},
		{`{"method":"a"}`, false}, {`[]`, false},
	} {
		if got := s.BeginsAgain(Input{Raw: []byte(c.message)}); got != c.want {
			t.Errorf("%d: %s: %v", i, c.message, got)
		}
		s.Receive(0, Input{Stream: Stream(i + 1), Raw: []byte(c.message)})
	}
	if script(t, nil, Options{}).NewSession().BeginsAgain(Input{Raw: []byte(`{"id":1,"method":"a"}`)}) {
		t.Error("nothing was recorded")
	}
}

// A Coverage counts the requests of several scripts.
func TestCoverage(t *testing.T) {
	frames := bodies(`>{"id":1,"method":"a"}
>{"id":1,"method":"a"}
{"id":1,"result":"first"}
{"id":1,"result":"second"}
`)
	builders := []*Builder{NewBuilder(Options{Pace: Instant}), NewBuilder(Options{Pace: Instant})}
	var trackers [2]session.Tracker
	for i := range frames {
		builders[i%2].Add(trackers[i%2].Add(&frames[i]), nil)
	}
	scripts := []*Script{builders[0].Script(), builders[1].Script()}
	cover := NewCoverage(scripts...)
	for i, want := range []string{"first", "second"} {
		p := newPlayer(t, scripts[i])
		p.send([]byte(`{"id":7,"method":"a"}`))
		if len(p.out) != 1 || string(p.out[0].Raw) != `{"id":7,"result":"`+want+`"}` {
			t.Errorf("%+v", p.out)
		}
		if cover.Recorded() != 2 || cover.Sent() != i || len(cover.Unrequested(9)) != 2-i {
			t.Error(cover.Recorded(), cover.Sent(), cover.Unrequested(9))
		}
		cover.Add(p.s)
	}
}

// The claim of a message is read whatever the message contains.
func TestReadClaim(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a"}}`
	for message, want := range map[string]Claim{
		`{"id":1,"method":"tools/call","params":{"name":"x",` + meta + `}}`:               {Kind: jsonrpc.Request, Method: "tools/call", ID: []byte("1"), Modern: true, Version: "2026-07-28", Client: []byte(`{"name":"a"}`), Name: "x", HasName: true},
		`{"id":"1","method":"resources/read","params":{"name":"x","uri":"\u0061://"}}`:    {Kind: jsonrpc.Request, Method: "resources/read", ID: []byte(`"1"`), Name: "a://", HasName: true},
		`{"id":1,"method":"tools/call","params":{"name":7}}`:                              {Kind: jsonrpc.Request, Method: "tools/call", ID: []byte("1")},
		`{"id":1,"method":"tools/call","params":[1]}`:                                     {Kind: jsonrpc.Request, Method: "tools/call", ID: []byte("1")},
		`{"id":1,"method":"initialize","params":{"protocolVersion":"v","clientInfo":{}}}`: {Kind: jsonrpc.Request, Method: "initialize", ID: []byte("1"), Version: "v", Client: []byte(`{}`)},
		`{"id":1,"result":{"name":"x"}}`:                                                  {Kind: jsonrpc.Response, ID: []byte("1")},
		`{`:                                                                               {},
	} {
		m := jsonrpc.Peek([]byte(message))
		got := ReadClaim(&m)
		if got.Kind != want.Kind || got.Method != want.Method || string(got.ID) != string(want.ID) || got.Modern != want.Modern ||
			got.Version != want.Version || string(got.Client) != string(want.Client) || got.Name != want.Name || got.HasName != want.HasName {
			t.Errorf("%s: %+v", message, got)
		}
	}
}

// A request without an answer in the recording gets none, and its stream ends.
func TestSilenceEndsTheStream(t *testing.T) {
	s := script(t, bodies(`>{"id":1,"method":"a"}`), Options{Pace: Instant}).NewSession()
	if n := s.Receive(0, Input{Stream: 5, Raw: []byte(`{"id":1,"method":"a"}`)}).Requests; n != 1 {
		t.Fatal(n)
	}
	out, ok := s.Next(0)
	if !ok || out.Stream != 5 || !out.Last || len(out.Raw) > 0 {
		t.Errorf("%v %+v", ok, out)
	}
}
