package view

import (
	"regexp"
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

const (
	// nearTime is how long before and after a match the server's stderr is listed.
	nearTime = time.Second
	// nearRows limits the rows of stderr before a match, and callRows those held for calls.
	nearRows = 20
	callRows = 256
	// lastRows is how many of the last rows a [Summary] has, and reportRows how many if they
	// report an error, which is searched for in the last heldRows.
	lastRows   = 5
	reportRows = 12
	heldRows   = 100
)

// lastOf holds the last rows that were added.
type lastOf struct {
	rows []Row
	max  int
}

func (l *lastOf) add(r Row) {
	if len(l.rows) == l.max {
		l.rows = append(l.rows[:0], l.rows[1:]...)
	}
	l.rows = append(l.rows, r)
}

// cause matches the line of a report that names the error; in Python that is the last line.
var cause = regexp.MustCompile(`^[\w.]*(?:Error|ERROR|error|Exception)\b|^panic: |^fatal error: |^Traceback |\bpanicked at `)

// lastReport returns the last rows, from the beginning of a report of an error that was just
// written. Of a long one it leaves out rows after the first.
func lastReport(rows []Row) []Row {
	first := max(len(rows)-lastRows, 0)
	for i := range rows[:first] {
		if rows[len(rows)-1].Part.At-rows[i].Part.At < nearTime && cause.MatchString(rows[i].About) {
			first = i
			break
		}
	}
	if n := len(rows) - first; n > reportRows {
		rest := len(rows) - reportRows + 2
		return slices.Concat(rows[first:first+1], []Row{{Part: rows[rest-1].Part, About: "…"}}, rows[rest:])
	}
	return rows[first:]
}

// take removes and returns the rows between two offsets.
func (l *lastOf) take(from, to time.Duration) (taken []Row) {
	kept := l.rows[:0]
	for _, r := range l.rows {
		if r.Part.At >= from && r.Part.At <= to {
			taken = append(taken, r)
		} else {
			kept = append(kept, r)
		}
	}
	l.rows = kept
	return taken
}

// nearby selects rows of stderr around matching frames: within nearTime, and while a
// matching request is open.
type nearby struct {
	held  lastOf
	until time.Duration
	open  map[session.Ref]bool
}

func newNearby() nearby {
	return nearby{held: lastOf{max: nearRows}, open: map[session.Ref]bool{}}
}

// add adds the next entry, and whether it matches. It returns the rows to list first, or
// the row of the entry, if it does not match but must be listed.
func (n *nearby) add(e *session.Entry, matches bool) (rows []Row) {
	at, stderr := e.Frame.At, e.Frame.Lane == tap.Stderr
	for _, c := range e.Ended {
		if n.open[c.Ref] {
			delete(n.open, c.Ref)
			n.until = max(n.until, at+nearTime)
		}
	}
	switch {
	case matches:
		rows = n.held.take(at-nearTime, at)
		n.held.rows = n.held.rows[:0]
		if stderr {
			break
		}
		n.until = max(n.until, at+nearTime)
		for i := range e.Parts {
			if p := &e.Parts[i]; p.Kind == jsonrpc.Request {
				n.open[p.Call] = true
			}
		}
		for _, c := range e.Ended {
			delete(n.open, c.Ref)
		}
	case !stderr:
	case len(n.open) > 0 || at <= n.until:
		rows = append(rows, NewRow(e))
	default:
		n.held.add(NewRow(e))
	}
	return rows
}
