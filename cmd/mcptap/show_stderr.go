package main

import (
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

const (
	// nearTime is how long before and after a match the server's stderr is
	// shown with it.
	nearTime = time.Second
	// nearLines is how many lines before a match are shown at most, and
	// stderrLinesHeld how many are held for calls.
	nearLines       = 20
	stderrLinesHeld = 256
)

// nearby picks the lines of stderr around the frames that match: those of a
// second before and after, and those that came while a request that matches was
// open.
type nearby struct {
	held  []view.Row
	until time.Duration
	open  map[session.Ref]bool
}

// row takes the next row, and whether it matches. It returns the lines to be
// printed before it; one that does not match and is to be printed itself is
// among these.
func (n *nearby) row(r *session.Entry, matches bool) (lines []view.Row) {
	at := r.Frame.At
	for _, c := range r.Ended {
		if n.open[c.Ref] {
			delete(n.open, c.Ref)
			n.until = max(n.until, at+nearTime)
		}
	}
	switch {
	case matches:
		for _, l := range n.held {
			if l.Part.At >= at-nearTime {
				lines = append(lines, l)
			}
		}
		n.held = n.held[:0]
		if r.Frame.Lane != tap.Stderr {
			n.until = max(n.until, at+nearTime)
			n.opened(r)
		}
	case r.Frame.Lane != tap.Stderr:
	case len(n.open) > 0 || at <= n.until:
		lines = append(lines, view.NewRow(r))
	default:
		if len(n.held) == nearLines {
			n.held = append(n.held[:0], n.held[1:]...)
		}
		n.held = append(n.held, view.NewRow(r))
	}
	return lines
}

// opened notes the requests of a row that are open.
func (n *nearby) opened(r *session.Entry) {
	if n.open == nil {
		n.open = map[session.Ref]bool{}
	}
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Kind == jsonrpc.Request {
			n.open[p.Call] = true
		}
	}
	for _, c := range r.Ended {
		delete(n.open, c.Ref)
	}
}

// stderrLines holds the last lines of stderr until a call takes them.
type stderrLines struct{ held []view.Row }

func (s *stderrLines) add(l view.Row) {
	if len(s.held) == stderrLinesHeld {
		s.held = append(s.held[:0], s.held[1:]...)
	}
	s.held = append(s.held, l)
}

// take returns the lines from one offset to another. Each is taken once.
func (s *stderrLines) take(from, to time.Duration) (lines []view.Row) {
	kept := s.held[:0]
	for _, l := range s.held {
		if l.Part.At >= from && l.Part.At <= to {
			lines = append(lines, l)
		} else {
			kept = append(kept, l)
		}
	}
	s.held = kept
	return lines
}
