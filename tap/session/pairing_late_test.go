package session

import (
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// Progress that names its request by the id, as in the 002 dialect, is late after the
// call was cancelled, and also after it was answered; a cancellation never is.
func TestProgressByIDThatIsLate(t *testing.T) {
	var tracker Pairing
	for i, step := range []struct {
		lane tap.Lane
		text string
		role Role
		late bool
	}{
		{tap.ToServer, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f"}}`, RoleRequest, false},
		{tap.ToClient, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"id":1,"progress":1}}`, RoleProgress, false},
		{tap.ToServer, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, RoleCancel, false},
		{tap.ToClient, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"id":1,"progress":2}}`, RoleProgress, true},
		{tap.ToServer, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, RoleCancel, false},
		{tap.ToClient, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, RoleLate, true},
		{tap.ToClient, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"id":1,"progress":3}}`, RoleProgress, true},
		{tap.ToClient, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"id":7,"progress":3}}`, RoleUnmatched, false},
	} {
		p := trackerAdd(&tracker, i+1, step.lane, step.text)[0]
		if p.Role != step.role || p.Late != step.late || step.role != RoleUnmatched && p.Call.Seq != 1 {
			t.Errorf("%d %s: %v of #%d, late %v, want %v, %v", i+1, step.text, p.Role, p.Call.Seq, p.Late, step.role, step.late)
		}
	}
}

// A server's request for a task that is over belongs to the call of the task.
func TestServerRequestOfAnEndedTask(t *testing.T) {
	var tracker Pairing
	var last []Part
	for i, step := range []struct {
		lane tap.Lane
		text string
	}{
		{tap.ToServer, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f","task":{"ttl":1000}}}`},
		{tap.ToClient, `{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"t1","status":"working"}}}`},
		{tap.ToServer, `{"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"t1"}}`},
		{tap.ToClient, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`},
		{tap.ToClient, `{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"message":"m","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}}`},
	} {
		last = trackerAdd(&tracker, i+1, step.lane, step.text)
		if i == 3 {
			if e := tracker.Ended(); len(e) != 1 || e[0].Ref.Seq != 1 {
				t.Fatalf("%+v", e)
			}
		}
	}
	if p := last[0]; p.Parent.Seq != 1 || p.Call.Seq != 5 {
		t.Errorf("%+v", p)
	}
}
