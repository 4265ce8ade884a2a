package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/view"
)

// maxAlike is how many notifications of one kind in a row that belong to no call
// are printed before the rest of them is only counted.
const maxAlike = 3

// repeats counts lines that are alike.
type repeats struct {
	method string
	lane   tap.Lane
	n      uint64
}

// loose prints what belongs to no call. Nobody waits for the end of a row of
// notifications while more are coming.
func (t *callRows) loose(l *view.Row) error {
	if l.Part.Kind == jsonrpc.Notification && !t.follow {
		if t.again.n > 0 && t.again.method == l.Method && t.again.lane == l.Part.Lane {
			if t.again.n++; t.again.n > maxAlike {
				return nil
			}
		} else {
			if err := t.flush(); err != nil {
				return err
			}
			t.again = repeats{strings.Clone(l.Method), l.Part.Lane, 1}
		}
	} else if err := t.flush(); err != nil {
		return err
	}
	c := looseCells(l)
	c.offset = t.when(l.Part.At)
	return t.write(c)
}

// flush tells how many notifications were not printed.
func (t *callRows) flush() error {
	again := t.again
	t.again = repeats{}
	if again.n <= maxAlike {
		return nil
	}
	return t.write(callCells{
		arrow: arrows[again.lane], lane: again.lane, title: plainTitle(escape(fmt.Sprintf("… %d more %s", again.n-maxAlike, again.method)), dim),
	})
}

// looseCells are those of a line that belongs to no call, but for its time.
func looseCells(l *view.Row) callCells {
	p := &l.Part
	c := callCells{number: strconv.FormatUint(p.Message.Seq, 10), arrow: arrows[p.Lane], lane: p.Lane}
	c.title = newTitle(l.Title())
	c.title.fault = joinWords(", ", fault(l), odd(l))
	switch {
	case p.Lane == tap.Stderr || p.Kind == jsonrpc.Notification:
	default:
		c.title.name = strings.TrimSpace(rowKind(l) + " " + c.title.name)
	}
	if p.Lane == tap.Lifecycle || p.Lane == tap.Stderr {
		c.title.style = dim
	}
	if l.Failed {
		c.mark = callMark{"✗", "", boldRed}
	}
	return c
}
