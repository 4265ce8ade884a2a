package check

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// feed checks messages sent alternately by the two sides.
func feed(messages func(yield func(lane tap.Lane, text string) bool)) *Report {
	var tracker session.Tracker
	c := New(Rules())
	seq := uint64(0)
	for lane, text := range messages {
		seq++
		f := tap.Frame{Seq: seq, Lane: lane, Raw: []byte(text + "\n"), Size: int64(len(text) + 1)}
		c.Add(tracker.Add(&f))
	}
	return c.Report(tracker.Open())
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

// The number of different findings is bounded, and the rest is counted.
func TestManyFindings(t *testing.T) {
	const n = 30_000
	r := feed(func(yield func(tap.Lane, string) bool) {
		yield(tap.ToServer, hello)
		for i := range n {
			yield(tap.ToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t%d"}}`, i+1, i))
			yield(tap.ToClient, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":[]}`, i+1))
		}
	})
	if len(r.Findings) < maxFindings || len(r.Findings) > maxFindings+5 || r.More < n-maxFindings {
		t.Errorf("%d findings and %d more", len(r.Findings), r.More)
	}
}

// A finding of a worse class is kept, however many others came before.
func TestWorstFindingsAreKept(t *testing.T) {
	r := feed(func(yield func(tap.Lane, string) bool) {
		yield(tap.ToServer, hello)
		for i := range maxFindings + 10 {
			yield(tap.ToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"own/%d"}`, i+1, i))
		}
		yield(tap.ToClient, `{"jsonrpc":"2.0","id":1,"result":[]}`)
	})
	if r.Worst() != ClientBreaking || r.Findings[0].Rule.ID != "rpc-10" || r.MoreWorst >= ClientBreaking {
		t.Errorf("the worst is %v, the worst left out %v", r.Findings[0].Rule.ID, r.MoreWorst)
	}
}

// Requests without a response, and definitions, take a bounded amount of memory.
func TestHeldBytes(t *testing.T) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	big := strings.Repeat("x", 200<<10)

	keep := feed(func(yield func(tap.Lane, string) bool) {
		yield(tap.ToServer, hello)
		for i := range 1000 { // 200 MB
			yield(tap.ToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, i+1, big))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
	})
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 128<<20 {
		t.Errorf("%d MiB are held", grown>>20)
	}
	runtime.KeepAlive(keep)
}

// Schemas that are deep, refer to themselves, or contain slow patterns are handled in bounded time, as
// are arguments for them. Otherwise the test would time out.
func TestHostileSchemas(t *testing.T) {
	deep := strings.Repeat(`{"properties":{"a":`, 400) + `{}` + strings.Repeat(`}}`, 400)
	arguments := strings.Repeat(`{"a":`, 400) + `{}` + strings.Repeat(`}`, 400)
	for name, schema := range map[string]string{
		"deep":        `{"type":"object","properties":{"a":` + deep + `}}`,
		"loop":        `{"type":"object","$ref":"#"}`,
		"deepest":     `{"type":"object","properties":{"a":` + strings.Repeat(`{"properties":{"a":`, 4900) + `{}` + strings.Repeat(`}}`, 4900) + `}}`,
		"two loops":   `{"type":"object","properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`,
		"pattern":     `{"type":"object","properties":{"s":{"pattern":"^(a+)+$"}}}`,
		"huge":        `{"type":"object","properties":{"s":{"pattern":"(((((a{1,100}){1,100}){1,100}){1,100}){1,100}){1,100}"}}}`,
		"huge number": `{"type":"object","properties":{"a":{"maximum":10,"multipleOf":1e-99999999}}}`,
		"null":        `{"type":"object","properties":null}`,
		"file":        `{"type":"object","$ref":"file:///etc/passwd"}`,
	} {
		t.Run(name, func(t *testing.T) {
			feed(func(yield func(tap.Lane, string) bool) {
				yield(tap.ToServer, hello)
				yield(tap.ToClient, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`)
				yield(tap.ToServer, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
				yield(tap.ToClient, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":`+schema+`,"outputSchema":`+schema+`}]}}`)
				yield(tap.ToServer, `{"jsonrpc":"2.0","id":500,"method":"tools/call","params":{"name":"t","arguments":{"a":1e9999999}}}`)
				for i := range 20 {
					yield(tap.ToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":%s}}`, i+2, arguments))
					yield(tap.ToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"s":"%sb"}}}`, i+102, strings.Repeat("a", 5000)))
				}
			})
		})
	}
}

// Checking costs a few times as much as pairing: see docs/figures.md.
func BenchmarkCheck(b *testing.B) {
	var all []tap.Frame
	add := func(lane tap.Lane, text string) {
		all = append(all, tap.Frame{Seq: uint64(len(all) + 1), Lane: lane, Raw: []byte(text + "\n"), Size: int64(len(text) + 1)})
	}
	add(tap.ToServer, hello)
	add(tap.ToClient, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`)
	add(tap.ToServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	add(tap.ToServer, `{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	add(tap.ToClient, `{"jsonrpc":"2.0","id":"list","result":{"tools":[{"name":"t","description":"Returns the weather.","inputSchema":{"type":"object",`+
		`"properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}}]}}`)
	for i := range 50_000 {
		add(tap.ToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"city":"Oslo","days":%d}}}`, i+1, i))
		add(tap.ToClient, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"It is %d degrees in Oslo today."}]}}`, i+1, i))
	}
	pair := func(c *Checker, s *session.Stats) {
		var tracker session.Tracker
		for i := range all {
			e := tracker.Add(&all[i])
			if c != nil {
				c.Add(e)
			}
			if s != nil {
				for _, ended := range e.Ended {
					s.Add(ended)
				}
			}
		}
	}
	b.Run("stats", func(b *testing.B) {
		for b.Loop() {
			pair(nil, session.NewStats("", 5))
		}
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			pair(New(Rules()), nil)
		}
	})
}

// The definitions that are kept are bounded, however many a server offers.
func TestOffersAreBounded(t *testing.T) {
	c := New(nil)
	for i := range 2000 {
		c.offer(uint64(i+1), "tools/list", fmt.Sprint(i%100), fmt.Appendf(nil, `{"name":"%d","description":"%s"}`, i, strings.Repeat("x", 100<<10)))
	}
	held := 0
	for _, all := range c.offered["tools/list"] {
		if len(all) > maxOffers {
			t.Fatalf("%d versions are kept", len(all))
		}
		for _, o := range all {
			held += len(o.text)
		}
	}
	if held != c.offeredBytes || held > maxOffered || !c.dropped {
		t.Errorf("%d bytes are held, but %d are counted", held, c.offeredBytes)
	}
}
