package check

import (
	"testing"

	"github.com/mcptap/mcptap/tap/session"
)

// Pages are summed, a list that is requested again counts once, and results are measured per tool.
func TestContext(t *testing.T) {
	var tracker session.Tracker
	var c Context
	for _, f := range frames(t, `= D
> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
< {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","description":"Adds.", "inputSchema":{"type":"object"}}],"nextCursor":"2"}}
> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"2"}}
< {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"b","inputSchema":{"type":"object"}}]}}
> {"jsonrpc":"2.0","id":3,"method":"tools/list"}
< {"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"a","description":"Adds.","inputSchema":{"type":"object"}}],"nextCursor":"2"}}
> {"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"2"}}
< {"jsonrpc":"2.0","id":4,"result":{"tools":[{"name":"b","inputSchema":{"type":"object"}}]}}
> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a"}}
< {"jsonrpc":"2.0","id":5,"result":{"content":[]}}
> {"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"a"}}
< {"jsonrpc":"2.0","id":6,"result":{"content":[{"type":"text","text":"€€"}]}}
`) {
		c.Add(tracker.Add(&f))
	}
	lists := c.Lists()
	if len(lists) != 1 {
		t.Fatalf("%d lists", len(lists))
	}
	l := lists[0]
	a, b := len(`{"name":"a","description":"Adds.","inputSchema":{"type":"object"}}`), len(`{"name":"b","inputSchema":{"type":"object"}}`)
	if l.Server != "s" || l.Requested != 2 || l.Different != 0 || len(l.Tools) != 2 || l.Tools[0].Name != "a" || l.Whole.Bytes != a+b {
		t.Errorf("got %+v, want %d bytes", l, a+b)
	}
	if got := l.Tools[0].Description; got != (Size{7, 2}) {
		t.Errorf("the description has the size %v", got)
	}
	if l.Partial {
		t.Error("the list is partial")
	}
	results := c.Results()
	if len(results) != 1 || results[0].Count() != 2 || results[0].Frame() != 15 ||
		results[0].Largest != (Size{len(`{"content":[{"type":"text","text":"€€"}]}`), (len(`{"content":[{"type":"text","text":""}]}`)+3)/4 + 2}) {
		t.Errorf("got %+v", results[0])
	}
}

// A list whose last page has a cursor was not read to its end.
func TestContextOfPartOfAList(t *testing.T) {
	var tracker session.Tracker
	var c Context
	for _, f := range frames(t, `= D
> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
< {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"2"}}
`) {
		c.Add(tracker.Add(&f))
	}
	if lists := c.Lists(); len(lists) != 1 || !lists[0].Partial {
		t.Errorf("got %+v", lists)
	}
}
