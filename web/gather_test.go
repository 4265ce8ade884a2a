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

// TestViews plays the cases of testdata/views.txt: what a page is told of some
// frames. Each has a name, the options, the frames, and what comes of them.
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
			t.Fatalf("%s: nothing is expected", name)
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

var rewrite = flag.Bool("update", false, "rewrite what is expected in testdata")

// play reads a case: lines that begin with filter, calls or after are options;
// > < ! and . are frames on the lanes; = says that all that there is was read.
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
			if g, err = newGatherer(&m, o, &seen{}); err != nil {
				t.Fatal(err)
			}
		}
		if word == "=" {
			g.pause()
			drain(&out, g)
			continue
		}
		lane, ok := map[string]tap.Lane{">": tap.ToServer, "<": tap.ToClient, "!": tap.Stderr, ".": tap.Lifecycle}[word]
		if !ok {
			t.Fatalf("no line begins with %q", word)
		}
		m.add(lane, rest+"\n")
		f := m.frames[len(m.frames)-1]
		g.add(&f)
		drain(&out, g)
	}
	return strings.TrimSpace(out.String())
}

// drain writes down what the page is told.
func drain(out *strings.Builder, g *gatherer) {
	for g.found() > 0 {
		rows, updates := g.take(maxRows)
		for _, r := range rows {
			fmt.Fprintf(out, "row %s %s", idText(r.ID), view.JoinWords(" ", r.Kind, r.Role, r.Method, "|", r.Name, r.Preview, r.Quiet))
			if r.Fault != "" {
				fmt.Fprintf(out, " fault=%q", r.Fault)
			}
			for _, x := range []struct {
				name string
				id   rowID
			}{{"call", r.Call}, {"in", r.Parent}, {"to", r.Request}, {"before", r.Before}} {
				if x.id != 0 && x.id != r.ID {
					fmt.Fprintf(out, " %s=%s", x.name, idText(x.id))
				}
			}
			out.WriteByte('\n')
		}
		for _, u := range updates {
			fmt.Fprintf(out, "update %s", idText(u.ID))
			if u.Answer != 0 {
				fmt.Fprintf(out, " answer=%s", idText(u.Answer))
			}
			if u.Latency != 0 {
				fmt.Fprintf(out, " %dms", u.Latency/1e6)
			}
			for _, word := range []string{u.Status, u.Error, map[bool]string{true: "dropped"}[u.Drop]} {
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

// TestHeldRowsAreBounded: a call that goes on for ever and does not match must
// not be kept in memory.
func TestHeldRowsAreBounded(t *testing.T) {
	var m memory
	g, err := newGatherer(&m, viewOptions{Calls: true, Filter: "is:error needle"}, &seen{})
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
	u := g.units[session.Ref{Seq: 1}]
	if u == nil {
		t.Fatal("the call is not open")
	}
	if n := len(u.held); n != maxHeld {
		t.Errorf("%d rows are held", n)
	}
	m.add(tap.ToClient, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"failed"}}`)
	f := m.frames[len(m.frames)-1]
	g.add(&f)
	if len(g.rows) != maxHeld || g.rows[0].ID != idOf(session.Ref{Seq: 1}) || g.rows[len(g.rows)-1].ID != idOf(session.Ref{Seq: f.Seq}) {
		t.Errorf("%d rows came when it matched", len(g.rows))
	}
	if len(g.units) != 0 || len(g.open()) != 0 {
		t.Errorf("something is left of a call that is over: %d units", len(g.units))
	}
}

// open is what a gatherer remembers of calls beside its units.
func (g *gatherer) open() map[session.Ref]struct{} { return g.sent }

// TestMemoryOfManyCalls: what is kept is what is open.
func TestMemoryOfManyCalls(t *testing.T) {
	n := 20_000
	if longtest.Sampled(t) {
		n = 5_000
	}
	for _, o := range []viewOptions{{}, {Filter: "is:pending"}, {Filter: "is:pending", Calls: true}, {Filter: "is:error"}} {
		g, err := newGatherer(&memory{frames: busy(n)}, o, &seen{})
		if err != nil {
			t.Fatal(err)
		}
		most := 0
		for _, f := range busy(n) {
			g.add(&f)
			g.take(maxRows)
			most = max(most, len(g.units)+len(g.sent)+len(g.dirty))
		}
		if most > 3000 {
			t.Errorf("%+v: %d things were remembered, of one open call", o, most)
		}
	}
}
