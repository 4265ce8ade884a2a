package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// Messages that are too large to be loaded are read from their beginning. A member that
// was not read is guessed only if there is one possibility.
func TestPairingUnread(t *testing.T) {
	const large = " \x00" // before the part that is cut off
	for _, c := range []struct {
		name, frames, want string
	}{
		{"id first", `
			> {"id":1,"method":"tools/call","params":{"name":"` + large + `
			< {"id":1,"result":{"x":"` + large,
			"1 request 1; 2 response 1"},
		{"id after the result", `
			> {"id":1,"method":"tools/call"}
			< {"result":{"x":"` + large,
			"1 request 1; 2 response 1 guess"},
		{"error with the id after it", `
			> {"id":1,"method":"tools/call"}
			< {"error":{"x":"` + large,
			"1 request 1; 2 response 1 guess"},
		{"two requests are open", `
			> {"id":1,"method":"tools/call"}
			> {"id":2,"method":"tools/call"}
			< {"result":{"x":"` + large,
			"1 request 1; 2 request 2; 3 unread 0"},
		{"two requests with one id are open", `
			> {"id":1,"method":"tools/call"}
			> {"id":1,"method":"tools/call"}
			< {"result":{"x":"` + large,
			"1 request 1; 2 request 2; 3 unread 0"},
		{"two requests on exchanges of their own", `
			>1 {"id":1,"method":"tools/call"}
			>2 {"id":2,"method":"tools/call"}
			<2 {"result":{"x":"` + large,
			"1 request 1; 2 request 2; 3 response 2 guess"},
		{"on a stream without a request", `
			>1 {"id":1,"method":"tools/call"}
			<9 {"result":{"x":"` + large,
			"1 request 1; 2 response 1 guess"},
		{"nothing is open", `
			< {"result":{"x":"` + large,
			"1 unread 0"},
		{"request with the id last", `
			> {"method":"tools/call","params":{"x":"` + large + `
			> {"id":2,"method":"ping"}
			< {"id":2,"result":{}}
			< {"id":1,"result":{}}
			< {"id":1,"result":{}}`,
			"1 request 1; 2 request 2; 3 response 2; 4 response 1 guess; 5 orphan 0"},
		{"two requests with the id last", `
			> {"method":"tools/call","params":{"x":"` + large + `
			> {"method":"tools/call","params":{"x":"` + large + `
			< {"id":1,"result":{}}`,
			"1 request 1; 2 request 2; 3 orphan 0"},
		{"both ids last, on exchanges", `
			>1 {"method":"tools/call","params":{"x":"` + large + `
			>2 {"method":"tools/call","params":{"x":"` + large + `
			<2 {"result":{"x":"` + large + `
			<1 {"result":{"x":"` + large,
			"1 request 1; 2 request 2; 3 response 2 guess; 4 response 1 guess"},
		{"notification", `
			> {"id":1,"method":"tools/call","params":{"_meta":{"progressToken":1}}}
			< {"method":"notifications/progress","params":{"progressToken":1,"message":"` + large,
			"1 request 1; 2 unmatched 0"},
		{"batch", `
			> [{"id":4,"method":"ping"},{"x":"` + large,
			"1 unread 0"},
		{"result of a task", `
			> {"id":1,"method":"tools/call"}
			< {"id":1,"result":{"resultType":"task","taskId":"t","status":"working"}}
			> {"id":2,"method":"tasks/get","params":{"taskId":"t"}}
			< {"id":2,"result":{"taskId":"t","status":"completed","result":"` + large + `
			> {"id":3,"method":"tasks/get","params":{"taskId":"t"}}`,
			"1 request 1; 2 interim 1; 3 retry 1; 4 response 1 guess; 5 retry 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tracker Pairing
			var got []string
			for i, line := range strings.Split(strings.TrimSpace(c.frames), "\n") {
				head, text, _ := strings.Cut(strings.TrimSpace(line), " ")
				f := tap.Frame{Seq: uint64(i + 1), Lane: tap.ToServer, Form: tap.FormLine, Exchange: uint64(len(head) - 1)}
				if head[0] == '<' {
					f.Lane = tap.ToClient
				}
				if len(head) > 1 {
					f.Exchange = uint64(head[1] - '0')
				}
				text, cut := strings.CutSuffix(text, large)
				f.Raw, f.Size = []byte(text), int64(len(text))
				if cut {
					f.Size = 100 << 20
				}
				m := jsonrpc.PeekFrame(&f)
				for _, p := range tracker.Add(&f, &m) {
					s := fmt.Sprintf("%d %v %d", p.Message.Seq, p.Role, p.Call.Seq)
					if p.Guess {
						s += " guess"
					}
					got = append(got, s)
				}
			}
			if s := strings.Join(got, "; "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
		})
	}
}
