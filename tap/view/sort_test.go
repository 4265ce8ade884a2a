package view

import (
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/session"
)

// Each name in a list for a frame without a message is a word of kind:, which
// finds that frame, and so does kind:other.
func TestSortsAreKinds(t *testing.T) {
	frames := map[string]tap.Frame{
		"body": {Form: tap.FormBody, Raw: []byte("<html>")}, "bytes": {Form: tap.FormBytes, Raw: []byte("PRI")},
		"ping": {Form: tap.FormPing, Raw: []byte("a")}, "pong": {Form: tap.FormPong}, "close": {Form: tap.FormClose, Raw: []byte("\x03\xe8")},
		"event":    {Form: tap.FormEvent, Raw: []byte("event: news\ndata: of today\n\n")},
		"priming":  {Form: tap.FormEvent, Raw: []byte("id: 0\ndata:\n\n")},
		"comment":  {Form: tap.FormEvent, Raw: []byte(": still there\n\n")},
		"endpoint": {Form: tap.FormEvent, Raw: []byte("event: endpoint\ndata: /messages\n\n")},
	}
	for sort, f := range frames {
		f.Seq, f.Lane, f.Exchange, f.Size = 1, tap.ToClient, 1, int64(len(f.Raw))
		feed := &session.Tracker{}
		row := feed.Add(&f)
		if l := NewRow(row); l.Kind != "other" || l.Sort != sort {
			t.Errorf("%s: a list calls it %s, %s", sort, l.Kind, l.Sort)
		}
		items := Items(nil, row)
		for other := range frames {
			if got := found(t, "kind:"+other, items); got != (sort == other) {
				t.Errorf("kind:%s finds a frame of sort %s: %v", other, sort, got)
			}
		}
		if !found(t, "kind:other", items) {
			t.Errorf("kind:other does not find %s", sort)
		}
	}
}

// is: finds messages by their roles.
func TestRolesAreFound(t *testing.T) {
	all := frames(t, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f","_meta":{"progressToken":1}}}
		< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}
		< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}
		< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"g"}}
		< {"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","requestState":"s","inputRequests":{}}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"g","requestState":"s"}}
		< {"jsonrpc":"2.0","id":3,"result":{"content":[]}}
	`)
	got := map[string][]uint64{}
	read(t, all, func(_ *session.Tracker, r *session.Entry) {
		items := Items(nil, r)
		for _, word := range []string{"progress", "stray", "log", "cancel", "interim", "retry", "orphan"} {
			if found(t, "is:"+word, items) {
				got[word] = append(got[word], r.Frame.Seq)
			}
		}
	})
	for word, want := range map[string]uint64{"progress": 2, "stray": 3, "log": 4, "cancel": 5, "interim": 7, "retry": 8} {
		if len(got[word]) != 1 || got[word][0] != want {
			t.Errorf("is:%s finds %v, want %d", word, got[word], want)
		}
	}
	if len(got) != 6 {
		t.Error(got)
	}
}

func found(t *testing.T, query string, items []filter.Item) bool {
	t.Helper()
	f, err := filter.Parse(query)
	if err != nil {
		t.Fatal(err)
	}
	return f.MatchAny(items)
}
