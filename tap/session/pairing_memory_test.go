package session

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// entries counts the state of a Pairing except for open requests.
func (t *Pairing) entries() (n int) {
	for _, list := range t.words {
		n += len(list)
	}
	return n + len(t.calls) + len(t.open) + t.past.Len()
}

// A million frames that leave as much state as possible: answered calls,
// cancelled ones, abandoned chains and tasks, names of all kinds.
// The memory of a Pairing is still bounded.
func TestPairingMemory(t *testing.T) {
	frames := 1_000_000
	if longtest.Sampled(t) {
		frames = 100_000
	}
	const most = MaxPast + 10*MaxOpen
	var tracker Pairing
	rng := rand.New(rand.NewPCG(1, 1))
	var ended, begun, seq int
	add := func(lane tap.Lane, text string, args ...any) {
		seq++
		raw := fmt.Appendf(nil, text, args...)
		m := jsonrpc.Peek(raw)
		f := tap.Frame{Seq: uint64(seq), At: time.Duration(seq), Lane: lane, Exchange: uint64(seq % 5), Size: int64(len(raw))}
		for _, p := range tracker.Add(&f, &m) {
			if p.Role == RoleRequest {
				begun++
			}
		}
		ended += len(tracker.Ended())
	}
	for i := 0; seq < frames; i++ {
		leaveBehind(add, rng.IntN(6), i)
		if i%5000 != 0 {
			continue
		}
		if n := tracker.entries(); n > most {
			t.Fatalf("%d entries after %d frames, want %d at most", n, seq, most)
		}
	}
	open := len(tracker.Open())
	if open > MaxOpen || ended+open != begun {
		t.Errorf("%d calls begun, %d ended, %d open", begun, ended, open)
	}
	if n := tracker.held; n > MaxOpen {
		t.Errorf("%d are held", n)
	}
}

// leaveBehind makes a call, or something else, that leaves some state.
func leaveBehind(add func(tap.Lane, string, ...any), what, i int) {
	request := `{"id":%d,"method":"tools/call","params":{"name":"t%[1]d","task":{},"_meta":{"progressToken":"t%[1]d","io.modelcontextprotocol/logLevel":"info","io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	switch what {
	case 0:
		add(tap.ToServer, request, i)
		add(tap.ToClient, `{"id":%d,"method":"elicitation/create","params":{"elicitationId":"e%[1]d"}}`, i)
		add(tap.ToServer, `{"id":%d,"result":{}}`, i)
		add(tap.ToClient, `{"id":%d,"result":{}}`, i)
	case 1:
		add(tap.ToServer, request, i)
		add(tap.ToServer, `{"method":"notifications/cancelled","params":{"requestId":%d}}`, i)
	case 2:
		add(tap.ToServer, request, i)
		add(tap.ToClient, `{"id":%d,"result":{"resultType":"input_required","requestState":"s%[1]d","inputRequests":{"k":{"method":"roots/list"}}}}`, i)
	case 3:
		add(tap.ToServer, request, i)
		add(tap.ToClient, `{"id":%d,"result":{"task":{"taskId":"k%[1]d","status":"working"}}}`, i)
		add(tap.ToServer, `{"id":%d,"method":"tasks/get","params":{"taskId":"k%[1]d"}}`, i)
		add(tap.ToClient, `{"id":%d,"result":{"taskId":"k%[1]d","status":"completed"}}`, i)
	case 4:
		add(tap.ToServer, `{"id":%d,"method":"subscriptions/listen","params":{"_meta":{"progressToken":%[1]d}}}`, i)
		add(tap.ToClient, `{"method":"notifications/cancelled","params":{"requestId":%d}}`, i)
	case 5:
		add(tap.ToClient, `{"id":%d,"error":{"code":1,"message":""}}`, i)
		add(tap.ToClient, `{"method":"notifications/progress","params":{"progressToken":"t%d"}}`, i-1)
	}
}

// A cancelled call was handed over because too many others wait: its answer is still
// late, and the next one is a repeat.
func TestPairingGivesUpCancelledCalls(t *testing.T) {
	var tracker Pairing
	var ended []*Call
	for i := range MaxOpen + 1 {
		trackerAdd(&tracker, 2*i+1, tap.ToServer, fmt.Sprintf(`{"id":%d,"method":"tools/call"}`, i))
		ended = append(ended, tracker.Ended()...)
		trackerAdd(&tracker, 2*i+2, tap.ToServer, fmt.Sprintf(`{"method":"notifications/cancelled","params":{"requestId":%d}}`, i))
	}
	if len(ended) != 1 || ended[0].Ref.Seq != 1 || ended[0].Status != CallCancelled || ended[0].Notes != 0 {
		t.Fatalf("ended: %+v", ended)
	}
	for i, want := range []Role{RoleLate, RoleRepeat} {
		p := trackerAdd(&tracker, 3*MaxOpen+i, tap.ToClient, `{"id":0,"result":{}}`)[0]
		if p.Role != want || p.Call.Seq != 1 || !p.Late || p.Method != "tools/call" {
			t.Errorf("answer %d: %+v", i, p)
		}
	}
	// The one with id 1 still waits, and ends with its late answer.
	if p := trackerAdd(&tracker, 3*MaxOpen+2, tap.ToClient, `{"id":1,"result":{}}`)[0]; p.Role != RoleLate {
		t.Errorf("%+v", p)
	}
	if e := tracker.Ended(); len(e) != 1 || e[0].Status != CallCancelledLate {
		t.Errorf("%+v", e)
	}
}

// An abandoned chain is dropped, and reported as such.
func TestPairingLetsGo(t *testing.T) {
	var tracker Pairing
	var ended []*Call
	for i := range MaxOpen + 1 {
		trackerAdd(&tracker, 2*i+1, tap.ToServer, fmt.Sprintf(`{"id":%d,"method":"tools/call"}`, i))
		ended = append(ended, tracker.Ended()...)
		trackerAdd(&tracker, 2*i+2, tap.ToClient, fmt.Sprintf(`{"id":%d,"result":{"resultType":"input_required"}}`, i))
	}
	if len(ended) != 1 || ended[0].Status != CallInputRequired || ended[0].Notes != NoteLetGo {
		t.Fatalf("ended: %+v", ended)
	}
}
