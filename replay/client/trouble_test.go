package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// answering serves with a function that gets the method and the id of each message, including those
// in batches, and returns the line to write, "" for none. An error ends the server.
func answering(fn func(method, id, raw string) (string, error)) func(io.Reader, io.Writer) {
	return func(in io.Reader, out io.Writer) {
		r := bufio.NewReader(in)
		for {
			raw, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			all := []json.RawMessage{raw}
			if raw[0] == '[' {
				_ = json.Unmarshal(raw, &all)
			}
			for _, raw := range all {
				var m struct {
					ID     json.RawMessage
					Method string
				}
				_ = json.Unmarshal(raw, &m)
				text, err := fn(m.Method, string(m.ID), string(raw))
				if text != "" {
					if _, err := io.WriteString(out, text); err != nil {
						return
					}
				}
				if err != nil {
					return
				}
			}
		}
	}
}

const opening = `
>{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"tester","version":"1"}}}
{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"subject","version":"1.0.0"}}}
>{"jsonrpc":"2.0","method":"notifications/initialized"}
`

const twoCalls = opening + `
>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}
{"jsonrpc":"2.0","id":2,"result":{"content":[]}}
>{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"b"}}
{"jsonrpc":"2.0","id":3,"result":{"content":[]}}
`

func result(id string) string {
	return fmt.Sprintf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[],\"protocolVersion\":\"2025-11-25\"}}\n", id)
}

// slow makes all answers except that to the call of a take a minute in the recording, so that a
// short timeout is short only for that call.
func slow(frames []tap.Frame, timeout time.Duration) []tap.Frame {
	at := time.Duration(0)
	for i := range frames {
		if m := jsonrpc.PeekFrame(&frames[i]); timeout < time.Minute && m.Kind == jsonrpc.Response && string(m.ID) != "2" {
			at += time.Minute
		}
		at += time.Millisecond
		frames[i].At = at
	}
	return frames
}

var errLeave = errors.New("leave")

// A trouble is a misbehaving server.
type trouble struct {
	frames  string
	timeout time.Duration
	serve   func(method, id, raw string) (string, error)
	want    []string
	sent    string // what must be sent nevertheless
}

var troubles = map[string]trouble{
	"dies": {twoCalls, time.Minute, func(method, id, _ string) (string, error) {
		if method == "tools/call" {
			return "", errLeave
		}
		return result(id), nil
	}, []string{"died: unexpected EOF while tools/call a (#4) waited for a response", "unsent: tools/call b (#6) was not sent"}, `"name":"a"`},
	"dies at once": {twoCalls, time.Minute, func(string, string, string) (string, error) { return "", errLeave },
		[]string{"died: unexpected EOF while initialize tester 1, 2025-11-25 (#1) waited for a response", "unsent: 2 requests were not sent: tools/call a (#4), tools/call b (#6)"}, "initialize"},
	"hangs": {twoCalls, 50 * time.Millisecond, func(method, id, raw string) (string, error) {
		if strings.Contains(raw, `"name":"a"`) || id == "" {
			return "", nil
		}
		return result(id), nil
	}, []string{"timeout: tools/call a (#4) got no response within"}, `"name":"b"`},
	"asks something new": {twoCalls, time.Minute, func(_, id, raw string) (string, error) {
		if strings.Contains(raw, `"name":"a"`) {
			return `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Sure?"}}` + "\n", nil
		}
		if id == `"q"` {
			return result("2"), nil
		}
		if id == "" {
			return "", nil
		}
		return result(id), nil
	}, []string{"unknown: the server sent elicitation/create Sure?, which was never recorded"}, `"id":"q","error":{"code":-32601`},
	"sends garbage": {twoCalls, time.Minute, func(_, id, _ string) (string, error) {
		if id == "" {
			return "", nil
		}
		return "\x1b[2Jbanner\n[[[[\n\xff\xfe\n{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n" + strings.Repeat("[", 100000) + "\n" + result(id), nil
	}, nil, `"name":"b"`},
}

func TestTrouble(t *testing.T) {
	for name, c := range troubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opt := patient()
			opt.Timeout = c.timeout
			noted := notes(&opt)
			got := bodies(play(t, planned(slow(lines(c.frames), c.timeout), nil), opt, answering(c.serve)))
			if len(*noted) != len(c.want) {
				t.Errorf("notes %q, want %q", *noted, c.want)
			}
			for i, w := range c.want {
				if i < len(*noted) && !strings.HasPrefix((*noted)[i], w) {
					t.Errorf("note %q, want %q", (*noted)[i], w)
				}
			}
			if !strings.Contains(got, c.sent) {
				t.Errorf("not sent: %s\n%s", c.sent, got)
			}
		})
	}
}

// TestServerValues: values of the live server are carried over, and requests that need a value
// which it did not send are not sent.
func TestServerValues(t *testing.T) {
	frames := lines(opening + `
>{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":2,"result":{"tools":[],"nextCursor":"c1"}}
>{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"c1"}}
{"jsonrpc":"2.0","id":3,"result":{"tools":[],"nextCursor":"c2"}}
>{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"c2"}}
{"jsonrpc":"2.0","id":4,"result":{"tools":[]}}
>{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a","task":{}}}
{"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"t1","status":"working"}}}
>{"jsonrpc":"2.0","id":6,"method":"tasks/get","params":{"taskId":"t1"}}
{"jsonrpc":"2.0","id":6,"result":{"taskId":"t1","status":"completed"}}
>{"jsonrpc":"2.0","id":7,"method":"tasks/result","params":{"taskId":"t1"}}
{"jsonrpc":"2.0","id":7,"result":{"content":[]}}
`)
	polls := 0
	serve := func(method, id, raw string) (string, error) {
		answer := `{"content":[]}`
		switch {
		case id == "":
			return "", nil
		case id == "2":
			answer = `{"tools":[],"nextCursor":"live \u00e9"}`
		case method == "tools/call":
			answer = `{"task":{"taskId":"live-task","status":"working"}}`
		case method == "tasks/get":
			if polls++; polls < 3 {
				answer = `{"taskId":"live-task","status":"working"}`
			} else {
				answer = `{"taskId":"live-task","status":"completed"}`
			}
		}
		return `{"jsonrpc":"2.0","id":` + id + `,"result":` + answer + "}\n", nil
	}
	opt := patient()
	noted := notes(&opt)
	got := bodies(play(t, planned(frames, nil), opt, answering(serve)))
	if len(*noted) != 0 {
		t.Errorf("notes %q", *noted)
	}
	for _, want := range []string{`{"cursor":"live é"}`, `"id":6,"method":"tasks/get","params":{"taskId":"live-task"}`, `"method":"tasks/result","params":{"taskId":"live-task"}`} {
		if !strings.Contains(got, want) {
			t.Errorf("not sent: %s\n%s", want, got)
		}
	}
	if strings.Contains(got, "c2") || polls != 3 {
		t.Errorf("%d polls\n%s", polls, got)
	}
}

// TestPages: a list is read to its end as in the recording, however many pages the live server has.
// Recorded cursors are not sent.
func TestPages(t *testing.T) {
	frames := lines(opening + `
>{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":2,"result":{"tools":[],"nextCursor":"c1"}}
>{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"c1"}}
{"jsonrpc":"2.0","id":3,"result":{"tools":[],"nextCursor":"c2"}}
>{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"c2"}}
{"jsonrpc":"2.0","id":4,"result":{"tools":[]}}
>{"jsonrpc":"2.0","id":5,"method":"ping"}
{"jsonrpc":"2.0","id":5,"result":{}}
`)
	for _, c := range []struct {
		pages int // -1: the first one is refused
		sent  string
		notes string
	}{
		{1, "", ""},
		{2, "l1", ""},
		{3, "l1 l2", ""},
		{5, "l1 l2 l3 l4", ""},
		{-1, "", "skipped: tools/list c1 (#6) was not sent, since the server sent no cursor for it\n" +
			"skipped: tools/list c2 (#8) was not sent, since the server sent no cursor for it"},
	} {
		page := 0
		serve := func(method, id, raw string) (string, error) {
			answer := `"result":{"tools":[]}`
			switch {
			case id == "":
				return "", nil
			case method != "tools/list":
				answer = `"result":{}`
			case c.pages < 0:
				answer = `"error":{"code":-32603,"message":"broken"}`
			default:
				if page++; page < c.pages {
					answer = fmt.Sprintf(`"result":{"tools":[],"nextCursor":"l%d"}`, page)
				}
			}
			return `{"jsonrpc":"2.0","id":` + id + `,` + answer + "}\n", nil
		}
		opt := patient()
		noted := notes(&opt)
		got := bodies(play(t, planned(frames, nil), opt, answering(serve)))
		var sent []string
		for _, m := range regexp.MustCompile(`"cursor":"(\w+)"`).FindAllStringSubmatch(got, -1) {
			sent = append(sent, m[1])
		}
		if strings.Join(sent, " ") != c.sent || strings.Join(*noted, "\n") != c.notes || !strings.Contains(got, `"ping"`) {
			t.Errorf("%d pages: cursors %q, notes %q\n%s", c.pages, sent, *noted, got)
		}
	}
}

// TestLate: the replay waits for a response that came after its cancellation, in case it comes
// again.
func TestLate(t *testing.T) {
	frames := lines(opening + `
>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}
>{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
{"jsonrpc":"2.0","id":2,"result":{"content":[]}}
`)
	serve := func(in io.Reader, out io.Writer) { // ends with its input
		var over atomic.Bool
		done := make(chan struct{})
		answering(func(method, id, _ string) (string, error) {
			switch {
			case method == "notifications/cancelled":
				go func() {
					defer close(done)
					if time.Sleep(300 * time.Millisecond); !over.Load() {
						_, _ = io.WriteString(out, result("2"))
					}
				}()
				return "", nil
			case method == "tools/call", id == "":
				return "", nil
			}
			return result(id), nil
		})(in, out)
		over.Store(true)
		<-done
	}
	got := bodies(play(t, planned(frames, nil), patient(), serve))
	if !strings.HasSuffix(strings.TrimSpace(got), strings.TrimSpace(result("2"))) {
		t.Error(got)
	}
}

// TestChangedQuestions: a server request that differs from all recorded ones gets the response to a
// recorded one that has a response.
func TestChangedQuestions(t *testing.T) {
	frames := lines(opening + `
>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}
{"jsonrpc":"2.0","id":8,"method":"sampling/createMessage","params":{"n":1}}
{"jsonrpc":"2.0","id":2,"result":{"content":[]}}
>{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"b"}}
{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{"n":2}}
>{"jsonrpc":"2.0","id":9,"result":{"model":"m"}}
{"jsonrpc":"2.0","id":3,"result":{"content":[]}}
`)
	opt := patient()
	opt.Patience = 100 * time.Millisecond
	noted := notes(&opt)
	got := bodies(play(t, planned(frames, nil), opt, answering(func(method, id, raw string) (string, error) {
		switch {
		case strings.Contains(raw, `"name":"b"`):
			return `{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{"n":3}}` + "\n", nil
		case method == "" && id == "9":
			return result("3"), nil
		case id == "":
			return "", nil
		}
		return result(id), nil
	})))
	want := "relaxed: the server sent sampling/createMessage, which differs from #8; it got the recorded response"
	if len(*noted) != 1 || (*noted)[0] != want || !strings.Contains(got, `"model":"m"`) {
		t.Errorf("notes %q\n%s", *noted, got)
	}
}

// TestOnly: a part of a session is played with what it depends on.
func TestOnly(t *testing.T) {
	frames := lines(opening + `
>{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":2,"result":{"tools":[],"nextCursor":"c1"}}
>{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a"}}
{"jsonrpc":"2.0","id":3,"result":{"content":[]}}
>{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"c1"}}
{"jsonrpc":"2.0","id":4,"result":{"tools":[]}}
`)
	only := func(f *tap.Frame) bool { return strings.Contains(string(f.Raw), `"cursor":"c1"`) }
	got := play(t, planned(frames, only), patient(), mocked(t, frames))
	var sent []string
	for i := range got {
		if got[i].Lane == tap.ToServer {
			m := jsonrpc.PeekFrame(&got[i])
			sent = append(sent, m.Method+string(m.ID))
		}
	}
	if want := "initialize1 notifications/initialized tools/list2 tools/list4"; strings.Join(sent, " ") != want {
		t.Errorf("sent %q, want %q", sent, want)
	}
}

// TestRecordedPace: at the recorded pace the recorded time passes.
func TestRecordedPace(t *testing.T) {
	frames := lines(twoCalls)
	for i := range frames {
		frames[i].At = time.Duration(i) * 20 * time.Millisecond
	}
	opt := patient()
	opt.Pace = replay.Recorded
	began := time.Now()
	play(t, planned(frames, nil), opt, mocked(t, frames))
	if took := time.Since(began); took < 60*time.Millisecond {
		t.Errorf("it took %v", took)
	}
}

// TestInterrupted: a canceled context ends the replay.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	silent := answering(func(method, _, _ string) (string, error) {
		cancel()
		return "", nil
	})
	err := Play(ctx, planned(lines(twoCalls), nil), &wire{serve: silent}, patient())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The end of a server is noted if something remained to be sent, but not if later steps only wait
// for messages that have already arrived.
func TestEndIsNotedIfSomethingIsLeft(t *testing.T) {
	for kind, want := range map[stepKind]int{stepSend: 1, stepAwait: 0, stepReceive: 0} {
		n := 0
		p := &player{plan: &Plan{steps: []step{{kind: stepReceive}, {kind: kind, request: -1}}}, opt: Options{Note: func(Note) { n++ }}}
		p.lost(io.EOF)
		if n != want {
			t.Errorf("step %d: %d notes, want %d", kind, n, want)
		}
	}
}
