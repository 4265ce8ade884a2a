package main

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/diff"
	diffreport "github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/diff/tree"
)

// weatherDiff compares the two transcripts that the formats are tested with.
func weatherDiff(t *testing.T) *diffreport.Set {
	t.Helper()
	set := &diffreport.Set{Fails: true, FailOn: diff.Behaviour, Unpaired: []diffreport.Unpaired{{Second: true, Name: "new\x1b[2J"}}}
	d := differ{a: &app{env: os.Getenv}, ctx: context.Background(), set: set}
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
		if err := printDiff(&b, palette{}, width, set); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := columns.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns of %d: %s", n, width, line)
			}
		}
		if width != 60 {
			golden(t, "diff-"+strconv.Itoa(width)+".txt", b.Bytes())
		}
	}
	var b bytes.Buffer
	if err := printDiff(&b, palette{true}, 140, set); err != nil {
		t.Fatal(err)
	}
	golden(t, "diff-color.txt", b.Bytes())
}

func TestWrapPieces(t *testing.T) {
	text := func(lines [][]tree.Piece) (out []string) {
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
	pieces := []tree.Piece{{Text: "one "}, {Text: "two three", Differs: true}, {Text: "天気予報🌦"}, {Text: "e\u0301"}}
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
