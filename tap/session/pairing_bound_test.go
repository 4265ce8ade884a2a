package session

import (
	"fmt"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// If too many requests are open, the oldest are let go and marked so. The others are not
// affected.
func TestPairingMaxOpen(t *testing.T) {
	const more = 3
	var tracker Pairing
	var ended []*Call
	for i := range MaxOpen + more {
		trackerAdd(&tracker, i+1, tap.ToServer, fmt.Sprintf(`{"id":%d,"method":"x","params":{"_meta":{"progressToken":%[1]d}}}`, i+1))
		ended = append(ended, tracker.Ended()...)
	}
	if len(ended) != more {
		t.Fatalf("%d calls were let go, want %d", len(ended), more)
	}
	for i, c := range ended {
		if c.Ref.Seq != uint64(i+1) || c.Status != CallPending || c.Notes != NoteLetGo || len(c.Parts) != 1 {
			t.Errorf("call %d: %+v", i, c)
		}
	}
	if open := tracker.Open(); len(open) != MaxOpen || open[0].Ref.Seq != more+1 || tracker.held != MaxOpen {
		t.Errorf("%d calls are open, the first is %v, %d requests", len(open), open[0].Ref, tracker.held)
	}
	if n := tracker.entries(); n > 4*MaxOpen+2*more+MaxPast {
		t.Errorf("%d entries", n)
	}
	for i, c := range []struct {
		text string
		call uint64
		role Role
		late bool
	}{
		{`{"method":"notifications/progress","params":{"progressToken":2}}`, 2, RoleProgress, true},
		{`{"id":2,"result":{}}`, 2, RoleLate, true},
		{`{"id":2,"result":{}}`, 2, RoleRepeat, true},
		{fmt.Sprintf(`{"id":%d,"result":{}}`, more+1), more + 1, RoleResponse, false},
	} {
		p := trackerAdd(&tracker, 2*MaxOpen+i, tap.ToClient, c.text)[0]
		if p.Call.Seq != c.call || p.Role != c.role || p.Late != c.late || p.Method == "" {
			t.Errorf("%s: %+v", c.text, p)
		}
	}
	if tracker.held != MaxOpen-1 {
		t.Errorf("%d requests are open", tracker.held)
	}
}

// A call may have any number of open requests. It is let go with all of them.
func TestPairingMaxOpenOfOneCall(t *testing.T) {
	var tracker Pairing
	trackerAdd(&tracker, 1, tap.ToServer, `{"id":"a","method":"tools/call","params":{"task":{}}}`)
	trackerAdd(&tracker, 2, tap.ToClient, `{"id":"a","result":{"task":{"taskId":"t","status":"working"}}}`)
	var ended []*Call
	for i := range MaxOpen + 1 {
		trackerAdd(&tracker, 3+i, tap.ToServer, fmt.Sprintf(`{"id":%d,"method":"tasks/get","params":{"taskId":"t"}}`, i))
		ended = append(ended, tracker.Ended()...)
	}
	if len(ended) != 1 || ended[0].Ref.Seq != 1 || ended[0].Notes != NoteLetGo || ended[0].Status != CallWorking {
		t.Fatalf("%d calls were let go: %+v", len(ended), ended)
	}
	if n := len(tracker.Open()) + tracker.held + len(tracker.words); n != 0 {
		t.Errorf("%d things are open", n)
	}
}

// Sessions share the limit of open requests, but each has a reserved share.
func TestTrackerMaxOpen(t *testing.T) {
	const share, clients = MaxOpen / MaxSessions, MaxSessions + 10
	var all Tracker
	seq, exchange, begun, ended := uint64(0), uint64(0), 0, 0
	add := func(f tap.Frame) {
		seq++
		f.Seq, f.Exchange = seq, exchange
		ended += len(all.Add(&f).Ended)
	}
	ask := func(client, n int) {
		exchange++
		add(tap.Frame{Lane: tap.Lifecycle, Raw: fmt.Appendf(nil, `{"event":"request","method":"POST","target":"/mcp","header":[["Mcp-Session-Id","%d"]]}`, client)})
		for range n {
			begun++
			add(tap.Frame{Lane: tap.ToServer, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"x"}`)})
		}
	}
	ask(0, MaxOpen+1)
	if ended != 1 || all.open != MaxOpen {
		t.Fatalf("%d calls were let go, %d are open", ended, all.open)
	}
	for client := 1; client < clients; client++ {
		ask(client, share)
		if client < MaxSessions && ended != 1 {
			t.Fatalf("%d calls were let go at client %d", ended, client)
		}
	}
	open := all.Open()
	if len(open) != MaxSessions*share || all.open != len(open) || ended+len(open) != begun {
		t.Errorf("%d calls begun, %d ended, %d open, counted %d", begun, ended, len(open), all.open)
	}
}
