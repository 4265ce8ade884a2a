package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/tap/session"

	diffreport "github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
)

// weatherDiff compares the two transcripts that the formats are tested with.
func weatherDiff(t *testing.T) *diffreport.Set {
	t.Helper()
	set := &diffreport.Set{Fails: true, FailOn: diff.Behaviour, Unpaired: []diffreport.Unpaired{{Second: true, Name: "new\x1b[2J"}}}
	a, _ := testApp(nil)
	t.Cleanup(a.removeTemp)
	d := differ{a: a, ctx: t.Context(), set: set}
	const dir = "../../diff/report/testdata/"
	if err := d.recordings(dir+"before.txtar", dir+"after.txtar", nil); err != nil {
		t.Fatal(err)
	}
	return set
}

func TestDiffOnTerminals(t *testing.T) {
	set := weatherDiff(t)
	for _, width := range []int{60, 80, 140, 200} {
		var b bytes.Buffer
		if err := printDiff(&term.Printer{W: &b, Width: width}, set); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := term.Width(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns of %d: %s", n, width, line)
			}
		}
		if width != 60 {
			golden(t, "diff-"+strconv.Itoa(width)+".txt", b.Bytes())
		}
	}
	var b bytes.Buffer
	if err := printDiff(&term.Printer{W: &b, Palette: term.Palette{On: true}, Width: 140}, set); err != nil {
		t.Fatal(err)
	}
	golden(t, "diff-color.txt", b.Bytes())
}

func TestWrapPieces(t *testing.T) {
	text := func(lines [][]jsontree.Piece) (out []string) {
		for _, line := range lines {
			s := ""
			for _, p := range line {
				if p.Differs {
					s += "[" + p.Text + "]"
				} else {
					s += p.Text
				}
			}
			out = append(out, s)
		}
		return out
	}
	pieces := []jsontree.Piece{{Text: "one "}, {Text: "two three", Differs: true}, {Text: "天気予報🌦"}, {Text: "e\u0301"}}
	for width, want := range map[int]string{
		0:  "one [two three]天気予報🌦e\u0301",
		6:  "one [tw]|[o thre]|[e]天気|予報🌦e\u0301",
		99: "one [two three]天気予報🌦e\u0301",
	} {
		if got := strings.Join(text(wrapPieces(pieces, width)), "|"); got != want {
			t.Errorf("%d columns: %s, want %s", width, got, want)
		}
	}
	for _, line := range wrapPieces(pieces, 1) {
		if n := piecesWidth(line); n > 2 {
			t.Errorf("%v takes %d columns", line, n)
		}
	}
}

// TestSessionsFindTheirCounterparts holds that clients of one server may come in
// any order.
func TestSessionsFindTheirCounterparts(t *testing.T) {
	sessions := func(clients string) (all []*diff.Session) {
		for i, name := range strings.Fields(clients) {
			s := diff.NewSession(name+strconv.Itoa(i), nil)
			raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":%q,"version":"1"}}}`, name)
			var tracker session.Tracker
			s.Add(tracker.Add(&tap.Frame{Seq: 1, Lane: tap.ToServer, Raw: raw, Size: int64(len(raw))}), false)
			s.End()
			all = append(all, s)
		}
		return all
	}
	for _, c := range []struct{ a, b, want string }{
		{"x y", "y x", "x0-x1 y1-y0"},
		{"x x", "x x", "x0-x0 x1-x1"},
		{"x y z", "z q", "x0-q1 y1- z2-z0"},
		{"x", "q x y", "x0-x1 -q0 -y2"},
		{"old", "new", "old0-new0"},
		{"", "x", "-x0"},
	} {
		as := sessions(c.a)
		others, alone := matched(as, sessions(c.b))
		var got []string
		for i, a := range as {
			name := a.Name() + "-"
			if others[i] != nil {
				name += others[i].Name()
			}
			got = append(got, name)
		}
		for _, b := range alone {
			got = append(got, "-"+b.Name())
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s and %s: %s, want %s", c.a, c.b, s, c.want)
		}
	}
}
