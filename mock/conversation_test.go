package mock

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

// Of many streams the newest can be resumed, and those that are not over. Their order does not
// change.
func TestForgetsTheOldestStreams(t *testing.T) {
	c := &conversation{streams: map[replay.Stream]*stream{}, times: map[string]int{}}
	open := []int{0, 5, 6}
	const many = 3 * maxResumable
	for i := range many {
		x := c.stream(formEvents)
		x.reading = false
		c.name(x, strconv.Itoa(i))
		c.keptBytes += x.put(replay.Output{Raw: []byte("{}")})
		x.over = !slices.Contains(open, i)
		x.reading = i == 9
	}
	want := append(slices.Clone(open), 9)
	for i := many - maxResumable + len(want); i < many; i++ {
		want = append(want, i)
	}
	var got []int
	kept := 0
	for _, x := range c.kept {
		n, _ := strconv.Atoi(x.name)
		got = append(got, n)
		for _, e := range x.pieces {
			kept += len(e.data)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d streams %v, want %d %v", len(got), got[:8], len(want), want[:8])
	}
	if c.keptBytes != kept {
		t.Errorf("kept %d bytes, want %d", c.keptBytes, kept)
	}
}

// A client preferably gets a recorded session with its era, then one with its path, then the least
// played one, then the first.
func TestServerChoosesSession(t *testing.T) {
	legacy := lines(">" + opening + "\n" + `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}` + "\n")
	modern := lines(stateless)
	var all []*played
	for _, c := range []struct {
		frames []tap.Frame
		path   string
	}{{legacy, "/a"}, {modern, "/a"}, {legacy, "/b"}, {modern, "/b"}, {legacy, ""}, {legacy, "/b"}} {
		p := loaded(t, c.frames, replay.Options{}).sessions[0]
		p.path = c.path
		all = append(all, p)
	}
	s := NewServer(&Recording{Script: all[0].Script, sessions: all}, ServerOptions{})
	for i, c := range []struct {
		modern bool
		path   string
		want   int
	}{
		{false, "/b", 2}, {false, "/b", 4}, {false, "/b", 5}, {false, "/b", 2}, {true, "/b", 3}, {true, "/b", 3}, {true, "/a", 1},
		{true, "/elsewhere", 1}, {true, "/elsewhere", 1}, {false, "/elsewhere", 4}, {false, "/a", 0}, {false, "/a", 0}, {true, "", 3},
	} {
		r := &http.Request{URL: &url.URL{Path: c.path}}
		got := s.choose(r, &posted{modern: c.modern})
		s.played[got]++
		if got != all[c.want] {
			t.Fatalf("choice %d, %+v: got session %d", i, c, slices.Index(all, got))
		}
	}
}

// A session that is over is forgotten, but not one that its client has begun since.
func TestServerForgetsSession(t *testing.T) {
	rec := loaded(t, lines(stateless), replay.Options{})
	s := NewServer(rec, ServerOptions{})
	s.mu.Lock()
	older, newer := s.begin(rec.sessions[0], false), s.begin(rec.sessions[0], false)
	one := sessionKey{number: 1}
	older.number, newer.number = one, one
	s.byNumber[one] = newer
	s.mu.Unlock()
	s.drop(older)
	if s.byNumber[one] != newer || len(s.open) != 1 {
		t.Errorf("the newer session was forgotten; %d remain", len(s.open))
	}
	s.drop(newer)
	if len(s.byNumber) != 0 || len(s.open) != 0 {
		t.Errorf("%d and %d remain", len(s.byNumber), len(s.open))
	}
}

const statelessMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a"}}`

// stateless returns a session of 2026-07-28.
const stateless = `>{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + statelessMeta + `}}
{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}
>{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + statelessMeta + `}}
{"jsonrpc":"2.0","id":2,"result":{"tools":[1]}}
>{"jsonrpc":"2.0","id":3,"method":"resources/list","params":{` + statelessMeta + `}}
{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no"}}
>{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"survey",` + statelessMeta + `}}
{"jsonrpc":"2.0","id":4,"result":{"content":[]}}
`
