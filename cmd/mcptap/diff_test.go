package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/diff/load"
	diffreport "github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/internal/term"
)

// weatherDiff compares the two transcripts used to test the formats.
func weatherDiff(t *testing.T) *diffreport.Set {
	t.Helper()
	set := &diffreport.Set{Fails: true, FailOn: diff.Behaviour, Unpaired: []diffreport.Unpaired{{Second: true, Name: "new\x1b[2J"}}}
	a, _ := testApp(nil)
	t.Cleanup(a.removeTemp)
	d := load.Differ{Ctx: t.Context(), Open: a.open, Say: a.say, Set: set}
	const dir = "../../diff/report/testdata/"
	if err := d.Recordings(dir+"before.txtar", dir+"after.txtar", nil); err != nil {
		t.Fatal(err)
	}
	return set
}

func TestDiffOnTerminals(t *testing.T) {
	set := weatherDiff(t)
	for _, width := range []int{60, 80, 140, 200} {
		var b bytes.Buffer
		if err := diffreport.Text(&term.Printer{W: &b, Width: width}, set); err != nil {
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
	if err := diffreport.Text(&term.Printer{W: &b, Palette: term.Palette{On: true}, Width: 140}, set); err != nil {
		t.Fatal(err)
	}
	golden(t, "diff-color.txt", b.Bytes())
}
