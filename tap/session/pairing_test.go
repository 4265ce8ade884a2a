package session

import (
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

func trackerAdd(tracker *Pairing, seq int, lane tap.Lane, text string) []Part {
	m := jsonrpc.Peek([]byte(text))
	return tracker.Add(&tap.Frame{Seq: uint64(seq), At: time.Duration(seq), Lane: lane, Size: int64(len(text))}, &m)
}

// The first and the last parts of a long call are kept.
func TestPairingKeepsBothEnds(t *testing.T) {
	const progress = 1000
	var tracker Pairing
	trackerAdd(&tracker, 1, tap.ToServer, `{"id":1,"method":"tools/call","params":{"_meta":{"progressToken":1}}}`)
	for i := range progress {
		trackerAdd(&tracker, 2+i, tap.ToClient, `{"method":"notifications/progress","params":{"progressToken":1}}`)
	}
	before := tracker.Open()[0]
	trackerAdd(&tracker, 2+progress, tap.ToClient, `{"id":1,"result":{}}`)
	after := tracker.Ended()[0]
	for _, c := range []struct {
		call *Call
		all  uint64
	}{{before, 1 + progress}, {after, 2 + progress}} {
		parts := c.call.Parts
		if len(parts) != 2*MaxCallParts || c.call.Skipped != c.all-2*MaxCallParts || c.call.Counts[RoleProgress] != progress {
			t.Fatalf("%d parts, %d skipped, %d progress", len(parts), c.call.Skipped, c.call.Counts[RoleProgress])
		}
		for i, p := range parts {
			want := uint64(i + 1)
			if i >= MaxCallParts {
				want = c.all - uint64(2*MaxCallParts-i) + 1
			}
			if p.Message.Seq != want {
				t.Errorf("part %d is frame %d, want %d", i, p.Message.Seq, want)
			}
		}
	}
}

// A request with a long id is cancelled only by exactly this id, not by another one with
// the same length and prefix.
func TestPairingLongIDs(t *testing.T) {
	var tracker Pairing
	long := strings.Repeat("x", jsonrpc.MaxWord)
	trackerAdd(&tracker, 1, tap.ToServer, `{"id":"`+long+`1","method":"tools/call"}`)
	for i, c := range []struct {
		end  string
		role Role
	}{{"2", RoleUnmatched}, {"1", RoleCancel}} {
		p := trackerAdd(&tracker, 2+i, tap.ToServer, `{"method":"notifications/cancelled","params":{"requestId":"`+long+c.end+`"}}`)[0]
		if p.Role != c.role {
			t.Errorf("%s: %v", c.end, p.Role)
		}
	}
	open := tracker.Open()
	if len(open) != 1 || open[0].Notes != NoteLong || len(open[0].ID) != jsonrpc.MaxWord || open[0].Status != CallCancelled {
		t.Errorf("%+v", open)
	}
}

// Many requests with one id, and many of one shape: no step iterates over them.
func TestPairingManyAlike(t *testing.T) {
	const n = 50_000
	var tracker Pairing
	for i := range n {
		trackerAdd(&tracker, i+1, tap.ToServer, `{"id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":1}}}`)
	}
	for i := range n {
		text := `{"id":1,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"roots/list"}}}}`
		if p := trackerAdd(&tracker, n+i+1, tap.ToClient, text)[0]; p.Call.Seq != uint64(i+1) || p.Role != RoleInterim {
			t.Fatalf("%d: %+v", i, p)
		}
	}
	for i := range 1000 {
		text := `{"id":1,"method":"tools/call","params":{"name":"t","requestState":"s","inputResponses":{"k":{}}}}`
		if p := trackerAdd(&tracker, 2*n+i+1, tap.ToServer, text)[0]; p.Role != RoleRetry || !p.Guess {
			t.Fatalf("%d: %+v", i, p)
		}
	}
	if open := tracker.Open(); len(open) != n {
		t.Errorf("%d are open", len(open))
	}
}

// Add ignores what is not traffic.
func TestPairingIgnoresOtherTraffic(t *testing.T) {
	var tracker Pairing
	m := jsonrpc.Peek([]byte(`{"id":1,"method":"ping"}`))
	for _, lane := range []tap.Lane{tap.Lifecycle, tap.Stderr, tap.Lanes} {
		if p := tracker.Add(&tap.Frame{Seq: 1, Lane: lane}, &m); p != nil {
			t.Errorf("%v: %+v", lane, p)
		}
	}
	if p := tracker.Add(&tap.Frame{Seq: 1, Lane: tap.ToServer}, nil); p != nil {
		t.Errorf("%+v", p)
	}
	if p := tracker.Add(&tap.Frame{Seq: 1, Lane: tap.ToServer}, &jsonrpc.Message{Kind: jsonrpc.Other}); len(p) > 0 {
		t.Errorf("%+v", p)
	}
	if open := tracker.Open(); open != nil {
		t.Errorf("%+v", open)
	}
}

func TestCallNames(t *testing.T) {
	seen := map[string]bool{"": true}
	for r := range Roles {
		if seen[r.String()] {
			t.Errorf("role %d has no name of its own: %q", r, r)
		}
		seen[r.String()] = true
	}
	seen = map[string]bool{"": true}
	for s := range callStatuses {
		if seen[s.String()] {
			t.Errorf("status %d has no name of its own: %q", s, s)
		}
		seen[s.String()] = true
	}
	if s := (NoteClash | NoteLetGo).String(); s != "clash,let_go" {
		t.Error(s)
	}
	if Roles.String() != "role(16)" || callStatuses.String() != "status(9)" {
		t.Error(Roles.String(), callStatuses.String())
	}
}

// An error without an id is about the request of its POST, but on a WebSocket it may be
// about anything.
func TestPairingErrorWithoutID(t *testing.T) {
	for form, want := range map[tap.Form]Role{tap.FormBody: RoleResponse, tap.FormText: RoleOrphan} {
		var tracker Pairing
		add := func(seq uint64, lane tap.Lane, text string) []Part {
			m := jsonrpc.Peek([]byte(text))
			return tracker.Add(&tap.Frame{Seq: seq, Lane: lane, Exchange: 1, Form: form, Size: int64(len(text))}, &m)
		}
		add(1, tap.ToServer, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		if p := add(2, tap.ToClient, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}`); p[0].Role != want {
			t.Errorf("in a %v it is %v, want %v", form, p[0].Role, want)
		}
	}
}
