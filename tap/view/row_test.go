package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// describe returns a row as text.
func describe(l Row) string {
	s := fmt.Sprintf("%d.%d %s %s|%s|%s", l.Part.Message.Seq, l.Part.Message.Index, l.Kind, l.Method, l.About, l.Fault)
	if l.Failed {
		s += " failed"
	}
	return s
}

func TestLines(t *testing.T) {
	all := frames(t, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}
		> [{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"p"}},7]
		< {"jsonrpc":"2.0","id":1,"error":{"code":-3,"message":"no"}}
		< {"jsonrpc":"2.0","id":3,"result":{"isError":true,"content":[{"type":"text","text":"bad"}]}}
		< [{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":9,"result":{}}]
		< hello
		! oops
		. {"event":"exit","code":1}
		. nonsense
		<4 {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:y"}}
	`)
	want := []string{
		"1.0 request tools/call|echo|",
		"2.0 batch |ping, prompts/get, invalid| failed",
		"3.0 error tools/call|echo|-3 no failed",
		"4.0 response prompts/get|p|isError bad failed",
		"5.0 batch |response, response|",
		"6.0 invalid |hello|not JSON: unexpected 'h' at byte 0 failed",
		"7.0 stderr |oops|",
		"8.0 exit ||code 1 failed",
		"9.0 lifecycle |nonsense|not an event failed",
		"10.0 notification notifications/resources/updated|x:y|",
	}
	var got, messages []string
	x := read(t, all, func(_ *session.Tracker, r *session.Entry) {
		got = append(got, describe(NewRow(r)))
		for i := range r.Parts {
			messages = append(messages, describe(NewMessageRow(r, i)))
		}
	})
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, m := range []string{"2.1 request prompts/get|p|", "2.2 invalid ||JSON, but a number where a message should be failed", "5.0 response ping||"} {
		if !slices.Contains(messages, m) {
			t.Errorf("no %q in\n%s", m, strings.Join(messages, "\n"))
		}
	}
	if q, _ := x.Unanswered(); len(q) != 0 {
		t.Errorf("unanswered: %+v", q)
	}
}

// Responses belong to the oldest open request with their id, and no other request is open
// at the end. HTTP exchanges are exceptions: they identify one of several requests with an
// id, and may refuse or cancel a request.
func TestRowPairs(t *testing.T) {
	sessions(t, func(t *testing.T, all []tap.Frame) {
		type id struct {
			lane tap.Lane
			id   string
		}
		open := map[id][]session.Part{}
		subjects := map[session.Ref]string{}
		responses := 0
		byExchange := map[session.Ref]bool{} // requests with a response
		read(t, all, func(_ *session.Tracker, r *session.Entry) {
			if r.Frame.Lane == tap.Lifecycle {
				for _, c := range r.Ended {
					for _, request := range c.Requests {
						byExchange[request] = c.Status.Settled()
					}
				}
			}
			for i := range r.Parts {
				p := &r.Parts[i]
				if p.Role == session.RoleReplay {
					continue
				}
				switch p.Kind {
				case jsonrpc.Request:
					key := id{p.Lane, string(r.Of(i).ID)}
					open[key] = append(open[key], *p)
					subjects[p.Message] = jsonrpc.Subject(*r.Of(i))
				case jsonrpc.Response, jsonrpc.ErrorResponse:
					key := id{tap.ToServer + tap.ToClient - p.Lane, string(r.Of(i).ID)}
					if len(open[key]) == 0 {
						continue
					}
					responses++
					oldest := open[key][0]
					open[key] = open[key][1:]
					if at := r.Frame.Exchange; p.Request != oldest.Message && at != 0 && all[p.Request.Seq-1].Exchange == at && oldest.Exchange != at {
						byExchange[p.Request], byExchange[oldest.Message] = true, true
						continue
					}
					if p.Request != oldest.Message || p.Latency != p.At-oldest.At {
						t.Errorf("%v answers %v after %v, want %v after %v", p.Message, p.Request, p.Latency, oldest.Message, p.At-oldest.At)
					}
					if want := subjects[oldest.Message]; p.Subject != want {
						t.Errorf("%v answers %q, want %q", p.Message, p.Subject, want)
					}
				}
			}
		})
		if responses == 0 {
			t.Error("the session has no response")
		}
		if heads := slices.ContainsFunc(all, func(f tap.Frame) bool { return f.Lane == tap.Lifecycle && f.Exchange != 0 }); !heads && len(byExchange) > 0 {
			t.Errorf("%v: no exchange identifies them", byExchange)
		}
	})
}

// matches lists the frames that match a filter.
func matches(t *testing.T, all []tap.Frame, query string) (seqs []uint64) {
	t.Helper()
	f, err := filter.Parse(query)
	if err != nil {
		t.Fatal(err)
	}
	survey := session.NewSurvey(true)
	for i := range all {
		survey.Add(&all[i])
	}
	survey.End(0)
	x := &session.Tracker{}
	x.Survey = survey
	for i := range all {
		if f.MatchAny(Items(nil, x.Add(&all[i]))) {
			seqs = append(seqs, all[i].Seq)
		}
	}
	return seqs
}

const framesToFilter = `
		> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}
		< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-03-26","serverInfo":{"name":"s","version":"1"}}}
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":1}}}
		< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}
		< {"jsonrpc":"2.0","id":"a","method":"sampling/createMessage","params":{}}
		> {"jsonrpc":"2.0","id":"a","result":{}}
		< {"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"no such file"}]}}
		> [{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"hang"}}]
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}
		> {"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"file:///a.md"}}
		< {"jsonrpc":"2.0","id":2,"result":{}}
		< {"jsonrpc":"2.0","id":2,"result":{}}
		< {"jsonrpc":"2.0","id":99,"result":{}}
		< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
		! warning: out of memory
		. {"event":"exit","signal":"SIGKILL"}
		.7 {"event":"request","method":"POST","target":"/mcp"}
		.7 {"event":"response","status":404}
		<7 {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
		.7 {"event":"end"}
		<7 {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
		> [{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":6,"method":"ping"}]
	`

func TestItems(t *testing.T) {
	all := frames(t, framesToFilter)
	for query, want := range map[string][]uint64{
		"method:tools/call":          {3, 7, 8},
		"tool:echo":                  {3, 7},
		"tool:hang":                  {8},
		"tool:echo is:error":         {7},
		"uri:file:///*":              {10},
		"method:initialize":          {1, 2},
		"id:2":                       {8, 11, 12},
		`id:"a"`:                     {5, 6},
		"is:pending":                 {8, 10, 22},
		"is:pending tool:hang":       {8},
		"is:pending method:ping":     {22}, // that of frame 8 has a response
		"is:cancelled":               {8},
		"is:cancelled method:ping":   nil,
		"is:nested":                  {5, 6},
		"is:orphan":                  {13},
		"is:duplicate":               {12},
		"is:unsolicited dir:life":    nil,
		"is:unsolicited -exchange:7": {14},
		"is:batch":                   {8, 22},
		"kind:batch":                 {8, 22},
		"kind:batch -method:ping":    {8}, // the other message of it
		"kind:batch tool:*":          {8},
		"is:error":                   {7, 16, 18},
		"status:404":                 {18, 19, 20},
		"kind:http_response":         {18},
		"memory":                     {15},
		"latency:>=30ms":             {7, 11, 12},
		"rev:2025-03-26 seq:1..2":    {1, 2},
		"session:1 kind:stderr":      {15},
		"session:2":                  nil,
		"-is:error -kind:life seq:7": nil,
	} {
		if got := matches(t, all, query); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}

// The beginning of a frame that is too large to load is searched.
func TestLargeFrames(t *testing.T) {
	all := frames(t, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","x":"needle"}}
		< {"jsonrpc":"2.0","id":1,"result":{"isError":true}}
	`)
	for i := range all {
		all[i].Raw = all[i].Raw[:len(all[i].Raw)-1]
	}
	for query, want := range map[string][]uint64{"needle": {1}, "}}}": nil, "method:tools/call": {1, 2}} {
		if got := matches(t, all, query); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	read(t, all, func(_ *session.Tracker, r *session.Entry) {
		if r.Frame.Seq == 2 && (!NewRow(r).Failed || NewRow(r).Method != "tools/call") {
			t.Errorf("%+v", NewRow(r))
		}
	})
}

// Calls that are no longer tracked are listed up to a limit and counted beyond it, whether
// a response follows or not.
func TestRowBoundsWhatIsUnanswered(t *testing.T) {
	const more = 10
	x := &session.Tracker{}
	seq := uint64(0)
	add := func(lane tap.Lane, text string) {
		seq++
		x.Add(&tap.Frame{Seq: seq, Lane: lane, Raw: []byte(text), Size: int64(len(text))})
	}
	for range session.MaxOpen + session.MaxGone {
		add(tap.ToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, seq+1))
	}
	all, beyond := x.Unanswered()
	if len(all) != session.MaxOpen+session.MaxGone || beyond != 0 {
		t.Fatalf("%d are unanswered, and %d more", len(all), beyond)
	}
	for i := range all {
		if all[i].Ref.Seq != uint64(i+1) || all[i].Lost || all[i].Status != session.CallPending {
			t.Fatalf("number %d is %+v", i, all[i])
		}
	}
	add(tap.ToClient, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, session.MaxGone))
	for range more {
		add(tap.ToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, seq+1))
	}
	if all, beyond := x.Unanswered(); len(all) != session.MaxOpen+session.MaxGone || beyond != more {
		t.Errorf("%d are unanswered, and %d more, want %d, and %d", len(all), beyond, session.MaxOpen+session.MaxGone, more)
	}
}
