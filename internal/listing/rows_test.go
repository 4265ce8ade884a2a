package listing

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// The words in the column KIND are filter words, and match that frame.
func TestKindsAreFilterWords(t *testing.T) {
	var rows []view.Row
	for k := range jsonrpc.Kinds {
		rows = append(rows, view.Row{Part: session.Part{Lane: tap.ToClient}, Kind: k.String()})
	}
	for _, sort := range []string{"body", "bytes", "ping", "pong", "close", "event", "priming", "comment", "endpoint"} {
		rows = append(rows, view.Row{Part: session.Part{Lane: tap.ToClient}, Kind: "other", Sort: sort})
	}
	for _, event := range []string{
		tap.EventStart, tap.EventSpawnFailed, tap.EventEOF, tap.EventBroken, tap.EventSignal, tap.EventExit, tap.EventGap,
		tap.EventConnect, tap.EventDisconnect, tap.EventRequest, tap.EventResponse, tap.EventRewrite, tap.EventEnd,
	} {
		rows = append(rows, view.Row{Part: session.Part{Lane: tap.Lifecycle}, Kind: event})
	}
	for i := range rows {
		r := &rows[i]
		query := `kind:"` + rowKind(r) + `"`
		f, err := filter.Parse(query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		for j := range rows {
			other := &rows[j]
			got := f.Match(&filter.Item{Frame: &tap.Frame{Lane: other.Part.Lane}, Kind: other.Kind, Sort: other.Sort}, nil)
			want := i == j || rowKind(r) == "other" && other.Kind == "other"
			if got != want {
				t.Errorf("%s matches %s %s: %v", query, other.Kind, other.Sort, got)
			}
		}
	}
}

// A response that cannot be assigned names the open request that it is probably meant for.
func TestResponsesNameSimilarRequests(t *testing.T) {
	const request = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}`
	for _, x := range []struct{ response, want string }{
		{`{"jsonrpc":"2.0","id":"2","result":{}}`, `no request has id "2", #1 has 2`},
		{`{"jsonrpc":"2.0","id":3,"result":{}}`, `no such request: id 3`},
		{`DEBUG {"jsonrpc":"2.0","id":2,"result":{}}`, `response to #1 inside, not JSON`},
		{`DEBUG {"jsonrpc":"2.0","id":"2","result":{}}`, `  not JSON`},
		{`DEBUG {"jsonrpc":"2.0","id":2,"method":"ping"}`, `  not JSON`},
	} {
		for _, calls := range []bool{false, true} {
			var text bytes.Buffer
			out := Printer(NewFrames(&term.Printer{W: &text}, store.Info{}))
			if calls {
				out = NewCalls(&term.Printer{W: &text}, store.Info{}, false)
			}
			l := view.NewListing(view.Selection{Span: view.Whole}, view.Options{Calls: calls})
			print := func(items []view.Item) {
				for i := range items {
					if err := out.Item(&items[i]); err != nil {
						t.Fatal(err)
					}
				}
			}
			for i, raw := range []string{request, x.response} {
				items, _ := l.Add(&tap.Frame{Seq: uint64(i + 1), Lane: []tap.Lane{tap.ToServer, tap.ToClient}[i], Raw: []byte(raw + "\n")})
				print(items)
			}
			print(l.End(0))
			if !strings.Contains(text.String(), x.want) {
				t.Errorf("%s, calls %v: not %q in\n%s", x.response, calls, x.want, &text)
			}
		}
	}
}

// The failure of the handshake is more important than the client.
func TestFailureOfInitialize(t *testing.T) {
	for room, want := range map[int]string{
		70: "initialize my-agent 0.9.0, 2025-11-25  HTTP 404 Not Found: no route",
		60: "initialize my-agent 0.9.0, 20…  HTTP 404 Not Found: no route",
		45: "initialize  HTTP 404 Not Found: no route",
		30: "initialize  HTTP 404 Not Foun…",
	} {
		got := title{name: "initialize my-agent 0.9.0, 2025-11-25", fault: "HTTP 404 Not Found: no route", method: "POST /mcp"}
		if got := got.fit(room).paint(term.Palette{}); got != want {
			t.Errorf("%d columns: %q, want %q", room, got, want)
		}
	}
}
