package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/session"
)

// The first and the last messages of a long call are kept.
func TestNodeKeepsBothEnds(t *testing.T) {
	text := request(1, "tools/call")
	for range 100 {
		text += progress(1)
	}
	got := outlined(t, NewOutline(), frames(t, text+answerTo(1)))
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != 1+2*MaxLines+1 || lines[MaxLines+1] != fmt.Sprintf("  … %d progress", 101-2*MaxLines) ||
		lines[MaxLines] != "  9 progress" || lines[MaxLines+2] != "  95 progress" || lines[2*MaxLines+1] != "  102 response" {
		t.Errorf("got\n%s", got)
	}
}

// The first and the last calls within it are kept, and those that are open.
func TestNodeKeepsOpenKids(t *testing.T) {
	const kids = 10_000
	var text strings.Builder
	text.WriteString(request(1, "tools/call"))
	for i := range kids {
		fmt.Fprintf(&text, ask, i)
		if i%1000 != 500 {
			fmt.Fprintf(&text, reply, i)
		}
	}
	o := NewOutline()
	most := 0
	x := read(t, frames(t, text.String()), func(_ *session.Tracker, r *session.Entry) {
		if nodes := o.Add(r); len(nodes) != 0 {
			t.Fatalf("frame %d: %d nodes", r.Frame.Seq, len(nodes))
		}
		most = max(most, len(o.nodes))
	})
	if most > 5*MaxKids+20 {
		t.Errorf("%d calls were held", most)
	}
	nodes := o.End(x.Open())
	if len(nodes) != 1 {
		t.Fatalf("%d nodes", len(nodes))
	}
	n := nodes[0]
	if n.KidsSkipped == 0 || uint64(len(n.Kids))+n.KidsSkipped != kids || n.Further() != kids {
		t.Errorf("%d calls, %d left out", len(n.Kids), n.KidsSkipped)
	}
	open, skipped := 0, false
	for _, e := range n.Entries() {
		if e.Kid != nil && !e.Kid.Call.Status.Settled() {
			open++
		}
		skipped = skipped || e.Calls == n.KidsSkipped
	}
	if open != 10 || !skipped {
		t.Errorf("%d open calls, and skipped calls are an entry: %v", open, skipped)
	}
}

const callsToFilter = `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":1}}}
		< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"message":"halfway"}}
		< {"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"no such file"}]}}
		> {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"file:///a"}}
		< {"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"gone"}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"hang"}}
		> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"given-up"}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}
		> {"jsonrpc":"2.0","id":5,"method":"prompts/get","params":{"name":"p"}}
		< {"jsonrpc":"2.0","id":5,"result":{"messages":[]}}
	`

// The item of a call for a filter.
func TestNodeItems(t *testing.T) {
	all := frames(t, callsToFilter)
	for query, want := range map[string][]uint64{
		"tool:echo":                {1},
		"is:error":                 {1, 4},
		"-is:error":                {6, 7, 9},
		"kind:error":               {4},
		"kind:response":            {1, 9},
		"kind:request":             {6, 7},
		"halfway":                  {1},
		"halfway gone":             nil,
		"halfway echo":             {1}, // in two messages
		"echo*halfway":             nil, // a text is in one message
		"tool:echo -halfway":       nil,
		"file:///a gone":           {4},
		"is:pending":               {6, 7},
		"is:cancelled":             {7},
		"is:pending -is:cancelled": {6},
		"latency:>=20ms":           {1, 6},
		"latency:>0ms":             {1, 4, 6, 7, 9},
		"size:>150":                {1, 7},
		"uri:file:///*":            {4},
		"prompt:p":                 {9},
		"-tool:*":                  {4, 9},
		"dir:to_client":            nil,
		"seq:4..6":                 {4, 6},
	} {
		f, err := filter.Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		o := NewOutline()
		o.Search = f.Search
		var nodes []*Node
		x := read(t, all, func(_ *session.Tracker, r *session.Entry) { nodes = append(nodes, o.Add(r)...) })
		nodes = append(nodes, o.End(x.Open())...)
		var got []uint64
		for _, n := range nodes {
			it := n.Item(time.Second)
			if f.Match(&it, n.Found()) {
				got = append(got, n.Call.Ref.Seq)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}

// The title of a call has what those of its messages have.
func TestNodeTitle(t *testing.T) {
	for call, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"p2"}}`:                             "tools/list p2",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"a"}}}`: `echo {"message":"a"}`,
	} {
		o := NewOutline()
		x := read(t, frames(t, "> "+call), func(_ *session.Tracker, r *session.Entry) { o.Add(r) })
		title := o.End(x.Open())[0].Title()
		if got := JoinWords(" ", title.Name, title.Args); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A text is found in any message of a long call, even in one that is not kept.
func TestNodeSearchesEveryMessage(t *testing.T) {
	const needle = `< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"message":"needle"}}` + "\n"
	text := request(1, "tools/call") + strings.Repeat(progress(1), 100) + needle + strings.Repeat(progress(1), 100)
	f, err := filter.Parse("needle thread")
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]bool{"thread": true, "hay": false} {
		o := NewOutline()
		o.Search = f.Search
		var nodes []*Node
		x := read(t, frames(t, text+`< {"jsonrpc":"2.0","id":1,"result":{"x":"`+answer+`"}}`), func(_ *session.Tracker, r *session.Entry) { nodes = append(nodes, o.Add(r)...) })
		nodes = append(nodes, o.End(x.Open())...)
		it := nodes[0].Item(0)
		if got := f.Match(&it, nodes[0].Found()); got != want {
			t.Errorf("%s: %v", answer, got)
		}
	}
}
