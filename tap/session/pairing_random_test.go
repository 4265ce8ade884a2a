package session_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// vocabulary are messages with placeholders for an id, a token, a state and the like,
// which are filled from the same few values, so that they match.
var vocabulary = []string{
	`{"id":%s,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":%s}}}`,
	`{"id":%s,"method":"tools/call","params":{"name":%s,"task":{},"_meta":{"io.modelcontextprotocol/logLevel":"info"}}}`,
	`{"id":%s,"method":"tools/call","params":{"name":"t","requestState":%s,"inputResponses":{"k":{}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
	`{"id":%s,"method":"prompts/get","params":{"name":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
	`{"id":%s,"method":"prompts/get","params":{"name":%s,"inputResponses":{"k":1}}}`,
	`{"id":%s,"method":"sampling/createMessage","params":{"task":{},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":%s}}}}`,
	`{"id":%s,"method":"elicitation/create","params":{"elicitationId":%s}}`,
	`{"id":%s,"method":"roots/list","params":%s}`,
	`{"id":%s,"method":"subscriptions/listen","params":{"_meta":{"progressToken":%s}}}`,
	`{"id":%s,"method":"tasks/get","params":{"taskId":%s,"_meta":{"progressToken":1}}}`,
	`{"id":%s,"method":"tasks/result","params":{"taskId":%s}}`,
	`{"id":%s,"method":"tasks/update","params":{"taskId":%s,"inputResponses":{"k":{}}}}`,
	`{"id":%s,"method":"tasks/cancel","params":{"taskId":%s}}`,
	`{"id":%s,"method":"initialize","params":{"protocolVersion":%s}}`,
	`{"id":%s,"method":"server/discover","params":{"x":%s}}`,
	`{"id":%s,"result":{"protocolVersion":%s}}`,
	`{"id":%s,"result":{"isError":true,"x":%s}}`,
	`{"id":%s,"error":{"code":-32042,"message":"m","data":{"elicitations":[{"elicitationId":%s}]}}}`,
	`{"id":%s,"result":{"resultType":"input_required","requestState":%s,"inputRequests":{"k":{"method":"roots/list"}}}}`,
	`{"id":%s,"result":{"resultType":"input_required","inputRequests":{%s:7,"k":{"method":"roots/list"}}}}`,
	`{"id":%s,"result":{"task":{"taskId":%s,"status":"working"}}}`,
	`{"id":%s,"result":{"resultType":"task","taskId":%s,"status":"input_required"}}`,
	`{"id":%s,"result":{"taskId":%s,"status":"completed","result":{"isError":true}}}`,
	`{"id":%s,"result":{"taskId":%s,"status":"cancelled"}}`,
	`{"id":null,"error":{"code":%[1]s,"message":%[2]s}}`,
	`{"method":"notifications/progress","params":{"id":%s,"progressToken":%s}}`,
	`{"method":"progress","params":{"id":%s,"x":%s}}`,
	`{"method":"notifications/cancelled","params":{"requestId":%s,"reason":%s}}`,
	`{"method":"notifications/message","params":{"id":%s,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":%s}}}}`,
	`{"method":"notifications/tasks/status","params":{"id":%s,"taskId":%s,"status":"failed"}}`,
	`{"method":"notifications/tasks","params":{"id":%s,"taskId":%s,"status":"completed","_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`,
	`{"method":"notifications/subscriptions/acknowledged","params":{"id":%s,"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`,
	`{"method":"notifications/elicitation/complete","params":{"id":%s,"elicitationId":%s}}`,
	`{"method":"notifications/initialized","params":{"id":%s,"x":%s}}`,
	`{"method":"notifications/roots/list_changed","params":{"id":%s,"x":%s}}`,
	`{"method":"own/word","params":{"id":%s,"x":%s}}`,
	`{"id":%s,"method":"own/request","params":{"name":%s}}`,
	`no message %s %s`,
}

var values = []string{`1`, `"1"`, `2`, `0`, `"\u0031"`, `1.0`, `null`, `true`, `{}`, `"` + strings.Repeat("long", 2000) + `"`}

// ends are the reported ends of exchanges.
var ends = []string{
	`{"event":"end","by":"client"}`, `{"event":"end","by":"server"}`, `{"event":"end","half_closed":true}`,
	`{"event":"hang_up","by":"client"}`,
	`{"event":"response","status":200}`, `{"event":"response","status":202}`, `{"event":"response","status":101}`,
	`{"event":"response","status":404,"reason":"Not Found"}`, `{"event":"response","status":401}`, `{"event":"request","method":"GET"}`,
}

// randomSession returns an arbitrary session.
func randomSession(rng *rand.Rand, n int) (frames []tap.Frame) {
	message := func() string {
		pick := func(of int) string { return values[rng.IntN(of)] }
		return fmt.Sprintf(vocabulary[rng.IntN(len(vocabulary))], pick(4+rng.IntN(len(values)-4)), pick(4+rng.IntN(len(values)-4)))
	}
	heads := rng.IntN(2) == 0
	for i := range n {
		f := tap.Frame{Seq: uint64(i + 1), At: time.Duration(i+1) * time.Millisecond, Lane: tap.ToServer + tap.Lane(rng.IntN(2))}
		if rng.IntN(3) == 0 {
			f.Exchange = uint64(rng.IntN(3))
		}
		raw := message()
		if rng.IntN(10) == 0 {
			raw = "[" + message() + "," + message() + "," + message() + "]"
		}
		if heads && rng.IntN(8) == 0 {
			f.Lane, f.Exchange, raw = tap.Lifecycle, uint64(rng.IntN(3)), ends[rng.IntN(len(ends))]
		}
		f.Raw = []byte(raw)
		f.Size = int64(len(raw))
		frames = append(frames, f)
	}
	return frames
}

// Whatever the messages and their order are, each is a part of at most one call, each
// call is handed over once, and it agrees with its parts.
func TestRandomSessions(t *testing.T) {
	for seed := range uint64(1500) {
		frames := randomSession(rand.New(rand.NewPCG(seed, 1)), 80)
		if outline(t, frames); t.Failed() {
			for _, f := range frames {
				t.Logf("%d %v %d %.300s", f.Seq, f.Lane, f.Exchange, f.Raw)
			}
			t.Fatalf("seed %d", seed)
		}
	}
}

// A call that was handed over does not change, whatever follows, and neither it nor the
// result of Open uses the memory of the frames.
func TestEndedCallsStay(t *testing.T) {
	for seed := range uint64(60) {
		var tracker session.Pairing
		said := map[*session.Call]string{}
		note := func(calls []*session.Call) {
			for _, c := range calls {
				said[c] = fmt.Sprintf("%+v", *c)
			}
		}
		frames := randomSession(rand.New(rand.NewPCG(seed, 2)), 150)
		for i := range frames {
			f := &frames[i]
			if e, err := tap.ParseEvent(f.Raw); f.Lane == tap.Lifecycle && err == nil {
				tracker.AddEvent(f, &e)
			} else {
				m := jsonrpc.PeekFrame(f)
				tracker.Add(f, &m)
			}
			note(tracker.Ended())
			if i%30 == 0 {
				note(tracker.Open())
			}
			clear(f.Raw)
		}
		for c, before := range said {
			if after := fmt.Sprintf("%+v", *c); after != before {
				t.Fatalf("seed %d: a call has changed\nfrom %s\n  to %s", seed, before, after)
			}
		}
	}
}

// FuzzPairing is TestRandomSessions for frames of any bytes.
func FuzzPairing(f *testing.F) {
	names, err := filepath.Glob(filepath.Join("testdata", "calls", "*.txt"))
	if err != nil || len(names) == 0 {
		f.Fatalf("no cases: %v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var frames []tap.Frame
		for line := range strings.Lines(string(text)) {
			lane := tap.ToServer
			switch line[0] {
			case '<':
				lane = tap.ToClient
			case '.':
				lane = tap.Lifecycle
			}
			f := tap.Frame{Seq: uint64(len(frames) + 1), Lane: lane, Raw: []byte(line[1:])}
			if len(line) > 1 && line[1]-'0' < 10 {
				f.Exchange, f.Raw = uint64(line[1]-'0'), f.Raw[1:]
			}
			if _, err := tap.ParseEvent(f.Raw); err != nil && f.Lane == tap.Lifecycle {
				continue
			}
			frames = append(frames, f)
		}
		outline(t, frames)
	})
}
