package session

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// laneLines reads a session from text: a line that begins with > goes to the server, one
// with < to the client, and others are comments. A number after the sign is the HTTP
// exchange; one with a + is the number of milliseconds since the previous line, 10 by
// default.
func laneLines(t testing.TB, text string) (frames []tap.Frame) {
	t.Helper()
	at := time.Duration(0)
	for line := range strings.Lines(text) {
		lane, ok := map[byte]tap.Lane{'>': tap.ToServer, '<': tap.ToClient}[line[0]]
		head, raw, cut := strings.Cut(strings.TrimRight(line[1:], "\r\n"), " ")
		if !ok || !cut {
			continue
		}
		after, exchange := 10, 0
		var err error
		if ms, ok := strings.CutPrefix(head, "+"); ok {
			after, err = strconv.Atoi(ms)
		} else if head != "" {
			exchange, err = strconv.Atoi(head)
		}
		if err != nil {
			t.Fatal(err)
		}
		at += time.Duration(after) * time.Millisecond
		frames = append(frames, tap.Frame{
			Seq: uint64(len(frames) + 1), At: at, Lane: lane, Exchange: uint64(exchange), Raw: []byte(raw), Size: int64(len(raw)),
		})
	}
	return frames
}

// statsText returns everything that Stats report as text.
func statsText(s *Stats) string {
	var b strings.Builder
	for _, g := range s.Groups() {
		name := strings.TrimSpace(g.Method + " " + g.Name)
		if g.Others {
			name = "(others)"
		}
		fmt.Fprintf(&b, "%s %s", g.Lane, name)
		if g.Nested {
			b.WriteString(" nested")
		}
		for status, n := range g.Statuses {
			if n > 0 {
				fmt.Fprintf(&b, ", %d %v", n, CallStatus(status))
			}
		}
		if l := &g.Latency; l.Count() > 0 {
			fmt.Fprintf(&b, ", %v to %v, sum %v", l.Min(), l.Max(), l.Sum())
		}
		if g.Waited > 0 {
			fmt.Fprintf(&b, ", waited %v", g.Waited)
		}
		fmt.Fprintf(&b, ", %d+%d bytes\n", g.BytesToServer, g.BytesToClient)
	}
	for _, c := range s.Slowest() {
		fmt.Fprintf(&b, "slow %s\n", callText(&c))
	}
	for _, c := range s.Waiting() {
		fmt.Fprintf(&b, "waiting %s\n", callText(&c))
	}
	if s.Handshake.Count() > 0 {
		fmt.Fprintf(&b, "handshake %v\n", s.Handshake.Max())
	}
	if s.Useful.Count() > 0 {
		fmt.Fprintf(&b, "useful %v\n", s.Useful.Max())
	}
	return b.String()
}

func callText(c *StatsCall) string {
	text := fmt.Sprintf("%v %s#%d %v %s %s: %v", c.Took, c.Recording, c.Ref.Seq, c.Lane, c.Method, c.Subject, c.Status)
	if c.Answer.Seq > 0 {
		text += fmt.Sprintf(" by #%d", c.Answer.Seq)
	}
	if c.Parent.Seq > 0 {
		text += fmt.Sprintf(" within #%d", c.Parent.Seq)
	}
	return text
}

var statsCases = []struct{ name, session, want string }{
	{"a healthy session", `
>+5 {"id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
<+20 {"id":0,"result":{"protocolVersion":"2025-06-18"}}
> {"method":"notifications/initialized"}
> {"id":1,"method":"ping"}
< {"id":1,"result":{}}
>+10 {"id":2,"method":"tools/call","params":{"name":"a"}}
>+1 {"id":3,"method":"tools/call","params":{"name":"b"}}
<+2 {"id":3,"result":{"isError":true,"content":[{"type":"text","text":"no"}]}}
<+30 {"id":2,"result":{}}
> {"id":4,"method":"tools/call","params":{"name":"a"}}
<+40 {"id":4,"result":{}}
> {"id":5,"method":"resources/read","params":{"uri":"file:///x"}}
< {"id":5,"error":{"code":-32002,"message":"none"}}
> {"id":6,"method":"resources/read","params":{"uri":"file:///y"}}
`, `to_server resources/read, 1 pending, 1 error, 10ms to 10ms, sum 10ms, waited 1m39.822s, 126+49 bytes
to_server tools/call a, 2 done, 33ms to 40ms, sum 73ms, 104+40 bytes
to_server initialize, 1 done, 20ms to 20ms, sum 20ms, 72+50 bytes
to_server ping, 1 done, 10ms to 10ms, sum 10ms, 24+20 bytes
to_server tools/call b, 1 tool_error, 2ms to 2ms, sum 2ms, 52+74 bytes
slow 1m39.822s r#14 to_server resources/read file:///y: pending
slow 40ms r#10 to_server tools/call a: done by #11
slow 33ms r#6 to_server tools/call a: done by #9
waiting 1m39.822s r#14 to_server resources/read file:///y: pending
handshake 25ms
useful 98ms
`},
	{"nested calls count separately", `
> {"id":1,"method":"tools/call","params":{"name":"a"}}
< {"id":1,"method":"sampling/createMessage","params":{}}
>+500 {"id":1,"result":{}}
< {"id":1,"result":{}}
< {"id":2,"method":"ping"}
> {"id":2,"result":{}}
`, `to_server tools/call a, 1 done, 520ms to 520ms, sum 520ms, 52+20 bytes
to_client sampling/createMessage nested, 1 done, 500ms to 500ms, sum 500ms, 20+54 bytes
to_client ping, 1 done, 10ms to 10ms, sum 10ms, 20+24 bytes
slow 520ms r#1 to_server tools/call a: done by #4
slow 500ms r#2 to_client sampling/createMessage : done by #3 within #1
slow 10ms r#5 to_client ping : done by #6
useful 530ms
`},
	{"cancelled, with and without an answer", `
> {"id":1,"method":"tools/call","params":{"name":"a"}}
>+100 {"method":"notifications/cancelled","params":{"requestId":1}}
> {"id":2,"method":"tools/call","params":{"name":"a"}}
>+100 {"method":"notifications/cancelled","params":{"requestId":2}}
<+50 {"id":2,"result":{}}
`, `to_server tools/call a, 1 cancelled, 1 cancelled_late, 150ms to 150ms, sum 150ms, waited 100ms, 226+20 bytes
slow 150ms r#3 to_server tools/call a: cancelled_late by #5
slow 100ms r#1 to_server tools/call a: cancelled by #2
`},
	{"a probe that is refused, then the handshake", `
> {"id":1,"method":"server/discover"}
< {"id":1,"error":{"code":-32601,"message":"m"}}
> {"id":2,"method":"initialize","params":{}}
< {"id":2,"result":{}}
> {"id":3,"method":"tools/list"}
< {"id":3,"result":{"tools":[]}}
`, `to_server initialize, 1 done, 10ms to 10ms, sum 10ms, 42+20 bytes
to_server server/discover, 1 error, 10ms to 10ms, sum 10ms, 35+46 bytes
to_server tools/list, 1 done, 10ms to 10ms, sum 10ms, 30+30 bytes
slow 10ms r#1 to_server server/discover : error by #2
slow 10ms r#3 to_server initialize : done by #4
slow 10ms r#5 to_server tools/list : done by #6
handshake 40ms
useful 60ms
`},
	{"a chain takes until its end, a call that waits is unanswered", `
> {"id":1,"method":"tools/call","params":{"name":"a"}}
< {"id":1,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"roots/list"}}}}
>+300 {"id":2,"method":"tools/call","params":{"name":"a","requestState":"s","inputResponses":{"k":{}}}}
< {"id":2,"result":{"resultType":"complete"}}
> {"id":3,"method":"tools/call","params":{"name":"a"}}
< {"id":3,"result":{"resultType":"input_required","requestState":"t"}}
`, `to_server tools/call a, 1 input_required, 1 done, 320ms to 320ms, sum 320ms, waited 1m39.66s, 201+225 bytes
slow 1m39.66s r#5 to_server tools/call a: input_required
slow 320ms r#1 to_server tools/call a: done by #4
waiting 1m39.66s r#5 to_server tools/call a: input_required
useful 330ms
`},
	{"subscriptions took until they were acknowledged", `
> {"id":1,"method":"subscriptions/listen","params":{}}
<+7 {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
> {"id":2,"method":"subscriptions/listen","params":{}}
<+8 {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}
>+5000 {"method":"notifications/cancelled","params":{"requestId":2}}
> {"id":3,"method":"subscriptions/listen","params":{}}
> {"id":4,"method":"subscriptions/listen","params":{}}
< {"id":4,"error":{"code":1,"message":"m"}}
`, `to_server subscriptions/listen, 1 pending, 1 listening, 1 done, 1 error, 7ms to 10ms, sum 25ms, waited 1m34.955s, 269+275 bytes
slow 1m34.955s r#6 to_server subscriptions/listen : pending
slow 10ms r#7 to_server subscriptions/listen : error by #8
slow 8ms r#3 to_server subscriptions/listen : done by #5
waiting 1m34.955s r#6 to_server subscriptions/listen : pending
`},
	{"a task takes until its result", `
> {"id":1,"method":"tools/call","params":{"name":"a","task":{}}}
< {"id":1,"result":{"task":{"taskId":"k","status":"working"}}}
> {"id":2,"method":"tasks/result","params":{"taskId":"k"}}
<+400 {"id":2,"result":{}}
> {"id":3,"method":"tools/call","params":{"name":"a","task":{}}}
< {"id":3,"result":{"task":{"taskId":"l","status":"working"}}}
`, `to_server tools/call a, 1 working, 1 done, 420ms to 420ms, sum 420ms, waited 1m39.56s, 180+140 bytes
slow 1m39.56s r#5 to_server tools/call a: working
slow 420ms r#1 to_server tools/call a: done by #4
waiting 1m39.56s r#5 to_server tools/call a: working
useful 430ms
`},
	{"methods of the dialect, and unknown ones", `
> {"id":1,"method":"tools/invoke","params":{"name":"a\u0007"}}
< {"id":1,"result":null}
> {"id":2,"method":"own/word","params":{"name":"x"}}
< {"id":2,"result":{}}
`, "to_server own/word, 1 done, 10ms to 10ms, sum 10ms, 50+20 bytes\n" +
		"to_server tools/invoke a\a, 1 done, 10ms to 10ms, sum 10ms, 60+22 bytes\n" +
		"slow 10ms r#1 to_server tools/invoke a\a: done by #2\n" +
		"slow 10ms r#3 to_server own/word x: done by #4\nuseful 20ms\n"},
}

func TestStats(t *testing.T) {
	for _, c := range statsCases {
		t.Run(c.name, func(t *testing.T) {
			frames := laneLines(t, c.session[1:])
			s := NewStats("r", 3)
			m := NewMeter(s, 0)
			for i := range frames {
				m.Add(&frames[i])
			}
			m.Finish(100 * time.Second)
			if got := statsText(s); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// Merged stats equal those of one recording with all calls.
func TestStatsMerge(t *testing.T) {
	all, both := NewStats("", 3), NewStats("", 3)
	for i, c := range statsCases {
		s := NewStats(fmt.Sprint("r", i, ":"), 3)
		m := NewMeter(s, 0)
		frames := laneLines(t, c.session[1:])
		for i := range frames {
			m.Add(&frames[i])
		}
		m.Finish(100 * time.Second)
		if i%2 == 0 {
			all.Merge(s)
		} else {
			both.Merge(s)
		}
	}
	all.Merge(both)
	want := []string{
		"to_server tools/call a, 1 input_required, 1 working, 5 done, 1 cancelled, 1 cancelled_late, 33ms to 520ms, sum 1.483s, waited 3m19.32s, 763+445 bytes",
		"slow 1m39.822s r0:#14 ", "slow 1m39.66s r4:#5 ", "slow 1m39.56s r6:#5 ",
		"waiting 1m39.822s r0:#14 ", "waiting 1m39.66s r4:#5 ",
	}
	text := statsText(all)
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in\n%s", w, text)
		}
	}
	if l := &all.Useful; l.Count() != 6 || l.Min() != 20*time.Millisecond || l.Max() != 530*time.Millisecond {
		t.Errorf("useful: %d, %v to %v", l.Count(), l.Min(), l.Max())
	}
	if all.Handshake.Count() != 2 {
		t.Errorf("%d handshakes", all.Handshake.Count())
	}
	top, nested := all.Total(false), all.Total(true)
	if nested.Latency.Sum() != 500*time.Millisecond || top.Statuses.Calls() != 24 || top.Latency.Count() != 19 {
		t.Errorf("nested %v, %d calls, %d answered", nested.Latency.Sum(), top.Statuses.Calls(), top.Latency.Count())
	}
	if s := top.Statuses; s.Errors() != 4 || s.Cancelled() != 2 || s.Unanswered() != 4 {
		t.Errorf("%d errors, %d cancelled, %d unanswered", s.Errors(), s.Cancelled(), s.Unanswered())
	}
}

// One recording that names a new tool in each call, and many such recordings.
func TestStatsGroupsAreBounded(t *testing.T) {
	all := NewStats("", 5)
	for r := range 3 {
		s := NewStats("r", 5)
		m := NewMeter(s, 0)
		for i := range 2 * MaxStatsGroups {
			at := time.Duration(i)
			m.Add(&tap.Frame{Seq: uint64(2*i + 1), At: at, Lane: tap.ToServer, Raw: fmt.Appendf(nil, `{"id":1,"method":"tools/call","params":{"name":"%d-%d"}}`, r, i)})
			m.Add(&tap.Frame{Seq: uint64(2*i + 2), At: at + 1, Lane: tap.ToClient, Raw: []byte(`{"id":1,"result":{}}`)})
		}
		m.Finish(time.Hour)
		if n := len(s.Groups()); n != MaxStatsGroups+1 {
			t.Errorf("%d groups", n)
		}
		all.Merge(s)
	}
	groups := all.Groups()
	if len(groups) != MaxStatsGroups || !groups[0].Others || groups[0].Statuses.Calls() != 5*MaxStatsGroups+1 {
		t.Errorf("%d groups, the first is %+v", len(groups), groups[0].StatsKey)
	}
	if total := all.Total(false); total.Statuses.Calls() != 6*MaxStatsGroups {
		t.Errorf("%d calls in all", total.Statuses.Calls())
	}
}

// Keys whose concatenations are equal are different.
func TestStatsKeys(t *testing.T) {
	s := NewStats("", 0)
	add := func(lane tap.Lane, parent Ref, method, subject string) {
		s.Add(&Call{Ref: Ref{Seq: 1}, Lane: lane, Parent: parent, Method: method, Subject: subject, Status: CallDone})
	}
	add(tap.ToServer, Ref{}, "tools/call", "a")
	add(tap.ToServer, Ref{}, "tools/calla", "")
	add(tap.ToServer, Ref{}, "tools/call", "")
	add(tap.ToClient, Ref{}, "tools/call", "a")
	add(tap.ToServer, Ref{Seq: 7}, "tools/call", "a")
	add(tap.ToServer, Ref{}, "tools/call\x00a", "")
	add(tap.ToServer, Ref{}, "", "")
	if n := len(s.Groups()); n != 7 {
		t.Errorf("%d groups\n%s", n, statsText(s))
	}
	add(tap.ToServer, Ref{}, strings.Repeat("m", 2*jsonrpc.MaxSubject), "")
	add(tap.ToServer, Ref{}, strings.Repeat("m", jsonrpc.MaxSubject), "")
	if n := len(s.Groups()); n != 8 {
		t.Errorf("%d groups after long methods", n)
	}
}

// Times that only a damaged or hostile recording has.
func TestStatsHostileTimes(t *testing.T) {
	s := NewStats("", 5)
	s.Add(&Call{Method: "a", Lane: tap.ToServer, At: 100, End: 50, Status: CallDone})
	s.Add(&Call{Method: "a", Lane: tap.ToServer, At: 0, End: math.MaxInt64, Status: CallDone})
	s.Add(&Call{Method: "a", Lane: tap.ToServer, At: 0, End: math.MaxInt64, Status: CallDone})
	s.Finish([]*Call{{Method: "a", Lane: tap.ToServer, At: math.MaxInt64}, {Method: "a", Lane: tap.ToServer}}, 10)
	g := s.Groups()[0]
	if g.Latency.Min() != 0 || g.Latency.Sum() != math.MaxInt64 || g.Waited != 10 {
		t.Errorf("%s", statsText(s))
	}
}

// A call that the Pairing lets go of counts as unanswered, for as long as it is known to
// have waited.
func TestStatsLetGo(t *testing.T) {
	s := NewStats("", 5)
	s.Add(&Call{Ref: Ref{Seq: 3}, Method: "a", Lane: tap.ToServer, At: 10, Status: CallInputRequired, Notes: NoteLetGo,
		Parts: []Part{{At: 10}, {At: 25}}})
	s.Finish(nil, time.Hour)
	if w := s.Waiting(); len(w) != 1 || w[0].Took != 15 || s.Groups()[0].Waited != 15 {
		t.Errorf("%s", statsText(s))
	}
}

// Of a million unanswered calls, those that have waited longest are kept.
func TestStatsWaitingIsBounded(t *testing.T) {
	s := NewStats("", 5)
	var open []*Call
	for i := range 5 * MaxStatsWaiting {
		open = append(open, &Call{Ref: Ref{Seq: uint64(i + 1)}, Method: "a", Lane: tap.ToServer, At: time.Duration(i)})
	}
	s.Finish(open, time.Second)
	w := s.Waiting()
	if len(w) != MaxStatsWaiting || w[0].Ref.Seq != 1 || w[MaxStatsWaiting-1].Ref.Seq != MaxStatsWaiting {
		t.Errorf("%d, from #%d", len(w), w[0].Ref.Seq)
	}
	if total := s.Total(false); total.Statuses.Unanswered() != 5*MaxStatsWaiting {
		t.Errorf("%d unanswered", total.Statuses.Unanswered())
	}
}
