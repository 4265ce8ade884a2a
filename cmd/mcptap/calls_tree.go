package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap/view"
)

// branch prints a call and all that belongs to it as a tree. Times below it are
// relative to it.
func (t *callRows) branch(n *view.Node, stderr []view.Row) error {
	c := t.trunk(n, false)
	c.offset = t.when(n.Call.At)
	if err := t.write(c); err != nil {
		return err
	}
	return t.twigs(n, "", n.Call.At, 1, stderr)
}

// trunk is the line of a call.
func (t *callRows) trunk(n *view.Node, nested bool) callCells {
	c, mark := n.Call, markOf(n.Call, t.live)
	cells := callCells{number: strconv.FormatUint(c.Ref.Seq, 10), arrow: arrows[c.Lane], lane: c.Lane, title: callTitle(n, nested)}
	cells.title.result = "" // it stands below
	cells.title.fault = joinWords("  ", mark.sign+" "+mark.word+" "+callTook(c, t.ended()), cells.title.fault)
	cells.title.faultStyle = mark.style
	return cells
}

// twigs prints what stands below a call, with guides.
func (t *callRows) twigs(n *view.Node, guide string, from time.Duration, depth int, stderr []view.Row) error {
	entries := withStderr(n.Entries(), stderr)
	changes := deltaWords(n.Delta, t.room(guide+"└─ "))
	for i := range entries {
		e := &entries[i]
		knee, below := guide+"├─ ", guide+"│  "
		if i == len(entries)-1 && len(changes) == 0 {
			knee, below = guide+"└─ ", guide+"   "
		}
		if depth >= maxIndentedCalls { // it gets no deeper
			below = guide
		}
		var c callCells
		switch {
		case e.Kid != nil:
			c = t.trunk(e.Kid, true)
			c.offset = "+" + formatOffset(e.Kid.Call.At-from)
		case e.Row != nil:
			c = partCells(e.Row)
			c.offset = "+" + formatOffset(e.Row.Part.At-from)
			if c.took != "" {
				c.title.fault = joinWords("  ", "after "+c.took, c.title.fault)
				if !e.Row.Failed {
					c.title.faultStyle = dim
				}
			}
		case e.Asked != nil:
			c = callCells{arrow: " ", title: plainTitle(askedWords(e.Asked), plain)}
		default:
			c = callCells{arrow: " ", title: plainTitle(skippedWords(e), dim)}
		}
		c.title.indent = knee
		if err := t.write(c); err != nil {
			return err
		}
		if e.Kid != nil {
			if err := t.twigs(e.Kid, below, from, depth+1, nil); err != nil {
				return err
			}
		}
	}
	for i, text := range changes {
		knee := guide + "└─ "
		if i > 0 {
			knee = guide + strings.Repeat(" ", 3)
		}
		if err := t.write(callCells{arrow: " ", title: plainTitle(knee+text, plain)}); err != nil {
			return err
		}
	}
	return nil
}
