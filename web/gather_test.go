package web

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// TestViews runs the cases of testdata/views.txt. Each has a name, options, frames, and the
// expected rows and updates.
func TestViews(t *testing.T) {
	text, err := os.ReadFile("testdata/views.txt")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "\n== ")
	cases := strings.Split(rest, "\n== ")
	if len(cases) < 10 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		name, rest, _ := strings.Cut(c, "\n")
		given, want, ok := strings.Cut(rest, "\n--\n")
		if !ok {
			t.Fatalf("%s: no expected output", name)
		}
		t.Run(name, func(t *testing.T) {
			got := play(t, given)
			head += "\n== " + name + "\n" + given + "\n--\n" + got + "\n"
			if got != strings.TrimSpace(want) && !*rewrite {
				t.Errorf("got:\n%s\nwant:\n%s", got, strings.TrimSpace(want))
			}
		})
	}
	if *rewrite {
		if err := os.WriteFile("testdata/views.txt", []byte(head), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

var rewrite = flag.Bool("update", false, "rewrite the expected output in testdata")

// play runs a case: lines that begin with filter, calls or after are options; > < ! and . are frames on the
// lanes; = means that all recorded frames have been read.
func play(t *testing.T, given string) string {
	t.Helper()
	var m memory
	var o viewOptions
	var g *gatherer
	var out strings.Builder
	for line := range strings.Lines(given) {
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "filter":
			o.Filter = rest
			continue
		case "calls":
			o.Calls = true
			continue
		case "after":
			fmt.Sscan(rest, &o.After)
			continue
		case "":
			continue
		}
		if g == nil {
			var err error
			if g, err = newGatherer(o, &seen{}); err != nil {
				t.Fatal(err)
			}
		}
		if word == "=" {
			g.decideOpen()
			drain(&out, g)
			continue
		}
		lane, ok := map[string]tap.Lane{">": tap.ToServer, "<": tap.ToClient, "!": tap.Stderr, ".": tap.Lifecycle}[word]
		if !ok {
			t.Fatalf("invalid line that begins with %q", word)
		}
		m.add(lane, rest+"\n")
		f := m.frames[len(m.frames)-1]
		g.add(&f)
		drain(&out, g)
	}
	return strings.TrimSpace(out.String())
}

// drain writes the rows and updates for the page.
func drain(out *strings.Builder, g *gatherer) {
	for g.pending() > 0 {
		rows, updates := g.take(maxRows)
		for _, r := range rows {
			fmt.Fprintf(out, "row %s %s", idText(r.ID), view.JoinWords(" ", r.Kind, r.Role, r.Method, "|", r.Name, r.Preview, r.Detail))
			if r.Fault != "" {
				fmt.Fprintf(out, " fault=%q", r.Fault)
			}
			for _, x := range []struct {
				name string
				id   rowID
			}{{"call", r.Call}, {"in", r.Parent}, {"to", r.Request}, {"previous", r.Previous}} {
				if x.id != 0 && x.id != r.ID {
					fmt.Fprintf(out, " %s=%s", x.name, idText(x.id))
				}
			}
			out.WriteByte('\n')
		}
		for _, u := range updates {
			fmt.Fprintf(out, "update %s", idText(u.ID))
			if u.Response != 0 {
				fmt.Fprintf(out, " response=%s", idText(u.Response))
			}
			if u.Latency != 0 {
				fmt.Fprintf(out, " %dms", u.Latency/1e6)
			}
			if u.End != 0 && u.State == session.StateCancelled {
				fmt.Fprintf(out, " end=%dms", u.End/1e6)
			}
			for _, word := range []string{string(u.State), u.Error, map[bool]string{true: "dropped"}[u.Drop]} {
				if word != "" {
					fmt.Fprintf(out, " %s", word)
				}
			}
			out.WriteByte('\n')
		}
	}
}

func idText(id rowID) string {
	switch index := id & batchIndex; index {
	case 0:
		return fmt.Sprintf("#%d", id>>indexBits)
	case batchIndex:
		return fmt.Sprintf("#%d.all", id>>indexBits)
	default:
		return fmt.Sprintf("#%d.%d", id>>indexBits, index)
	}
}

// TestHeldRowsAreBounded checks that a call that never ends and does not match uses bounded memory.
func TestHeldRowsAreBounded(t *testing.T) {
	var m memory
	g, err := newGatherer(viewOptions{Calls: true, Filter: "is:error needle"}, &seen{})
	if err != nil {
		t.Fatal(err)
	}
	m.add(tap.ToServer, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"long","_meta":{"progressToken":7}}}`)
	for i := range 5000 {
		text := ""
		if i == 2500 {
			text = "a needle"
		}
		m.add(tap.ToClient, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":%d,"message":%q}}`, i, text))
	}
	for i := range m.frames {
		g.add(&m.frames[i])
	}
	c := g.candidates[session.Ref{Seq: 1}]
	if c == nil {
		t.Fatal("the call is not open")
	}
	if n := len(c.rows); n != maxHeld {
		t.Errorf("%d rows are held", n)
	}
	m.add(tap.ToClient, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"failed"}}`)
	f := m.frames[len(m.frames)-1]
	g.add(&f)
	if len(g.rows) != maxHeld || g.rows[0].ID != idOf(session.Ref{Seq: 1}) || g.rows[len(g.rows)-1].ID != idOf(session.Ref{Seq: f.Seq}) {
		t.Errorf("%d rows were sent when it matched", len(g.rows))
	}
	if len(g.candidates)+len(g.sent) != 0 {
		t.Errorf("%d candidates and %d calls are left after the end of the call", len(g.candidates), len(g.sent))
	}
}

// TestMemoryOfManyCalls checks that a gatherer keeps only open calls.
func TestMemoryOfManyCalls(t *testing.T) {
	n := 20_000
	if longtest.Sampled(t) {
		n = 5_000
	}
	for _, o := range []viewOptions{{}, {Filter: "is:pending"}, {Filter: "is:pending", Calls: true}, {Filter: "is:error"}} {
		g, err := newGatherer(o, &seen{})
		if err != nil {
			t.Fatal(err)
		}
		most := 0
		for _, f := range busy(n) {
			g.add(&f)
			g.take(maxRows)
			most = max(most, len(g.candidates)+len(g.sent))
		}
		if most > 3000 {
			t.Errorf("%+v: %d candidates and calls, for one open call", o, most)
		}
	}
}

// TestAcceptedRequest checks that the page learns why a request that got only the status 202 is still
// pending.
func TestAcceptedRequest(t *testing.T) {
	g, err := newGatherer(viewOptions{}, &seen{})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range []tap.Frame{
		{Raw: tap.Event{Name: tap.EventRequest, Conn: 1, Proto: "HTTP/1.1", Method: "POST", Target: "/mcp", Header: [][2]string{{"Mcp-Session-Id", "s"}}}.Encode()},
		{Lane: tap.ToServer, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f"}}`)},
		{Raw: tap.Event{Name: tap.EventResponse, Status: 202}.Encode()},
		{Raw: tap.Event{Name: tap.EventEnd, By: "server"}.Encode()},
	} {
		f.Seq, f.Exchange = uint64(i+1), 1
		g.add(&f)
	}
	_, updates := g.take(10)
	want := update{ID: idOf(session.Ref{Seq: 2}), Error: "HTTP 202 without a response"}
	if len(updates) == 0 || updates[len(updates)-1] != want {
		t.Errorf("updates: %+v, want %+v", updates, want)
	}
}
