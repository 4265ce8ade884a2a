package mock

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

const statelessMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a"}}`

// simple are recordings in which each request has its answer before the next comes, so
// that nobody has to wait for anything, whatever he asks.
var simple = map[string]string{
	"a handshake": `>{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"a"}}}
{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}
>{"jsonrpc":"2.0","method":"notifications/initialized"}
>{"jsonrpc":"2.0","id":1,"method":"tools/list"}
{"jsonrpc":"2.0","id":1,"result":{"tools":[1]}}
>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"survey","_meta":{"progressToken":7}}}
{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}
{"jsonrpc":"2.0","id":2,"result":{"content":[]}}
>{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"survey"}}
{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no"}}
>{"jsonrpc":"2.0","id":4,"method":"tools/list"}
{"jsonrpc":"2.0","id":4,"result":{"tools":[2]}}
`,
	"no handshake": `>{"jsonrpc":"2.0","id":1,"method":"tools/list"}
{"jsonrpc":"2.0","id":1,"result":{"tools":[1]}}
>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"survey"}}
{"jsonrpc":"2.0","id":2,"result":{"content":[]}}
`,
	"versions": `>{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + statelessMeta + `}}
{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}
>{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + statelessMeta + `}}
{"jsonrpc":"2.0","id":2,"result":{"tools":[1]}}
>{"jsonrpc":"2.0","id":3,"method":"resources/list","params":{` + statelessMeta + `}}
{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no"}}
>{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"survey",` + statelessMeta + `}}
{"jsonrpc":"2.0","id":4,"result":{"content":[]}}
`,
	"a probe": `>{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + statelessMeta + `}}
{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}
>{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"a"}}}
{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}
>{"jsonrpc":"2.0","id":3,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"result":{"tools":[1]}}
`,
}

// simpleFrames are those of some of them, one behind the other, some of whose requests
// come again at the end, behind others that nobody asks for.
func simpleFrames(r *rand.Rand, names []string) []tap.Frame {
	var text strings.Builder
	for range 1 + r.IntN(2) {
		text.WriteString(simple[names[r.IntN(len(names))]])
	}
	for i := range r.IntN(40) {
		fmt.Fprintf(&text, ">{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"x\"}\n{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":%d}\n", i+100, i+100, i)
	}
	if r.IntN(2) == 0 {
		text.WriteString(simple[names[r.IntN(len(names))]])
	}
	return lines(text.String())
}

// A visitor is a client of a server: it has connections of its own, and keeps the id of
// the session that it was given last.
type visitor struct {
	over http.RoundTripper
	name string
	id   string
}

// visit sends a request, and returns in words what came back.
func (v *visitor) visit(t *testing.T, url string, x said) string {
	t.Helper()
	mine := x
	mine.header = []string{"User-Agent: " + v.name}
	for _, h := range x.header {
		name, value, _ := strings.Cut(h, ": ")
		if value == "mine" {
			value = v.id
		}
		if value != "" {
			mine.header = append(mine.header, name+": "+value)
		}
	}
	res, body := askOver(t, v.over, url, mine)
	id := res.Header.Get(idHeader)
	if id != "" {
		v.id = id
	}
	return fmt.Sprintf("%s of %s: %s %v %s, named %v: %s\n", x.method, v.name, x.body, res.Status, res.Header.Get("Content-Type"), id != "", body)
}

// wish is something that a client may ask.
func wish(r *rand.Rand, frames []tap.Frame) said {
	const mine = idHeader + ": mine"
	x := said{"POST", "/mcp", []string{mine}, ""}
	if r.IntN(6) == 0 {
		x.header = nil
	}
	switch r.IntN(12) {
	case 0:
		x.method = []string{"GET", "DELETE", "PUT"}[r.IntN(3)]
		if x.method == "GET" {
			x.header = nil // with a session it is a stream
		}
		return x
	case 1:
		x.body = opening
		x.header = nil
	case 2:
		x.body = `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"survey","arguments":{"nothing":"like this"}}}`
	case 3:
		x.body = `{"jsonrpc":"2.0","id":"p","method":"ping"}`
	case 4:
		x.body = listing[:30]
	default:
		for x.body == "" {
			if f := frames[r.IntN(len(frames))]; f.Lane == tap.ToServer {
				x.body = string(bytes.TrimSpace(f.Raw))
			}
		}
	}
	m := jsonrpc.Peek([]byte(x.body))
	if claim := replay.ReadClaim(&m); claim.Modern {
		x.header = append(x.header, "Mcp-Protocol-Version: "+claim.Version, "Mcp-Method: "+claim.Method, "Mcp-Name: "+claim.Name)
	}
	return x
}

// visited is all that some clients get who do what they like, one thing after the other,
// and what there is to say of them.
func visited(t *testing.T, rec *Recording, r *rand.Rand, frames []tap.Frame) string {
	t.Helper()
	var notes notes
	coverage := replay.NewCoverage(rec.Scripts()...)
	s, url := served(t, rec, ServerOptions{Note: notes.note, Cut: r.IntN(3)})
	var all []*visitor
	for i := range 4 {
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		all = append(all, &visitor{over: transport, name: "visitor " + fmt.Sprint(i/2)}) // two are alike
	}
	var got strings.Builder
	for range 10 + r.IntN(30) {
		got.WriteString(all[r.IntN(len(all))].visit(t, url, wish(r, frames)))
	}
	s.Close()
	var words []string
	for _, n := range notes.all {
		words = append(words, fmt.Sprintf("%+v\n", n))
	}
	slices.Sort(words) // of several sessions
	fmt.Fprint(&got, words, coverage.Recorded())
	return got.String()
}

// What a server says does not depend on how much of its recording had been read.
func TestServerOfBegunSaysTheSame(t *testing.T) {
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range simple {
			if !yield(name) {
				return
			}
		}
	})
	for n := range uint64(40) {
		r := rand.New(rand.NewPCG(3, n))
		frames := simpleFrames(r, names)
		opt := replay.Options{Pace: replay.Instant, Match: replay.Match(r.IntN(4)), Repeat: replay.Repeat(r.IntN(3))}
		if r.IntN(4) == 0 {
			opt.Faults = []replay.Fault{{Kind: replay.FaultStatus, Code: 503, Chance: 0.2}}
		}
		play := func(rec *Recording) string { return visited(t, rec, rand.New(rand.NewPCG(4, n)), frames) }
		want := play(loaded(t, frames, opt))
		for _, lull := range []int{300, 3000} {
			rec := begin(t, &trickle{frames: frames, lull: lull, r: rand.New(rand.NewPCG(5, n))}, opt, 1)
			if got := play(rec); got != want {
				t.Fatalf("%d: got\n%s\nwant\n%s\nof\n%s", n, got, want, serverHalf(frames))
			}
		}
	}
}
