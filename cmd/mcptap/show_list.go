package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// firstLines is the number of lines that are flushed one by one, so that the first
// page appears at once even if matches are rare.
const firstLines = 100

// A lister prints the selected part of one recording.
type lister struct {
	o     *showOptions
	label string // set if there are several recordings
	rec   *store.Recording
	info  store.Info // at the start of the listing
	now   func() time.Time
	sel   *selection
	span  span
	w     *bufio.Writer
	rows  rowPrinter // of frames

	v       *viewer
	answers *view.Answers
	context nearby
	last    time.Duration // offset of the last frame read
	shown   uint64        // frames or calls printed
	hidden  uint64        // of shown: HTTP frames that are hidden
	// exchanges holds the exchanges without a message or a response, by number.
	exchanges map[uint64]session.Request
	lines     uint64    // printed, without parts of calls
	stderr    lastLines // of the server, if requests are pending
	partial   bool      // not all frames were read

	byCall *callLister // nil unless calls are listed
}

func newLister(ctx context.Context, a *app, o *showOptions, rec *store.Recording, info store.Info, sel *selection, label string) (*lister, error) {
	l := &lister{o: o, now: a.now, label: label, rec: rec, info: info, sel: sel, w: bufio.NewWriterSize(a.stdout, 32<<10), v: newViewer(), exchanges: map[uint64]session.Request{}}
	var err error
	if l.span, err = sel.span(rec, info); err != nil {
		return nil, err
	}
	l.v.only = sel.session
	if o.diff {
		l.answers = view.NewAnswers()
	}
	id := ""
	if label != "" {
		id = info.Header.ID
	}
	switch {
	case o.byCall():
		l.byCall = newCallLister(l, a, id)
	case o.json:
		rows := &jsonRows{w: l.w, recording: id}
		if o.payload {
			rows.payload = rec
		}
		l.rows = rows
	default:
		now := info
		extendLive(&now, a.now())
		rows := newTextRows(l.w, a.palette(), a.width(), now)
		if label != "" {
			rows.withLabel(label, clock(info.Header.Start, a.zone))
		}
		l.rows = rows
	}
	future := sel.future() && !o.byCall()
	if future || (sel.needsSessions() || o.json) && info.Header.Transport == "http" && !o.follow {
		return l, l.lookAhead(ctx, future)
	}
	return l, nil
}

// lookAhead makes a first pass over the whole recording, to find its sessions and the
// outcome of requests. The second pass ignores frames that arrive later.
func (l *lister) lookAhead(ctx context.Context, future bool) error {
	survey := session.NewSurvey(future)
	last := uint64(0)
	for f, err := range readFrames(ctx, l.rec, 1, false) {
		if err != nil {
			return err
		}
		survey.Add(&f)
		last = f.Seq
	}
	survey.End()
	l.v.tracker.Survey = survey
	if l.span.last > last {
		l.span.last = last
	}
	if n := survey.Sessions(); l.sel.session > n {
		return recording.NoSession(l.rec.Path(), n, l.sel.session)
	}
	return nil
}

// all lists the recording to its end.
func (l *lister) all(ctx context.Context) error {
	for f, err := range readFrames(ctx, l.rec, 1, l.o.follow) {
		if err != nil {
			return err
		}
		enough, err := l.frame(ctx, &f)
		if err != nil {
			return err
		}
		if enough {
			l.partial = true
			break
		}
	}
	return l.finish(ctx)
}

// frame processes the next frame. It reports whether no more are needed.
func (l *lister) frame(ctx context.Context, f *tap.Frame) (enough bool, err error) {
	l.last = f.At
	if f.Lane == tap.Stderr && l.sel.pending() {
		l.stderr.add(f)
	}
	if l.byCall == nil && l.span.after(f) {
		return true, nil
	}
	r := l.v.next(f)
	l.openExchange(r)
	if l.byCall != nil {
		return l.byCall.row(r)
	}
	return false, l.row(r)
}

// row prints a frame if it is selected.
func (l *lister) row(r *session.Entry) error {
	var deltas []*view.Delta
	if l.answers != nil {
		deltas = l.answers.Add(r)
	}
	if !l.span.holds(r.Frame) {
		return nil
	}
	ok := l.sel.frame(r)
	if l.o.stderr && l.sel.picks() {
		around := l.context.row(r, ok)
		for i := range around {
			if err := l.print(&around[i], nil); err != nil {
				return err
			}
		}
	}
	if !ok {
		return nil
	}
	l.shown++
	if l.hidesHTTP() && view.Plumbing(r) {
		l.hidden++
		return nil
	}
	row := view.NewRow(r)
	return l.print(&row, deltas)
}

// openExchange records exchanges without a message until they have a response. No row
// shows them until then.
func (l *lister) openExchange(r *session.Entry) {
	switch n := r.Frame.Exchange; r.Event.Name {
	case tap.EventRequest:
		if r.Event.Method != http.MethodPost && len(l.exchanges) < 1000 {
			l.exchanges[n] = session.Request{Ref: session.Ref{Seq: r.Frame.Seq}, Method: r.Event.Method, Subject: r.Event.Target, At: r.Frame.At, Session: r.Session}
		}
	case tap.EventResponse, tap.EventEnd:
		delete(l.exchanges, n)
	default:
		if r.Frame.Lane == tap.ToClient {
			delete(l.exchanges, n)
		}
	}
}

func (l *lister) print(r *view.Row, deltas []*view.Delta) error {
	if err := l.rows.row(r, deltas); err != nil {
		return err
	}
	return l.printed()
}

// printed flushes the output if a person may be waiting for it.
func (l *lister) printed() error {
	if l.lines++; l.lines < firstLines || l.o.follow {
		return l.w.Flush()
	}
	return nil
}

// hidesHTTP reports whether frames that only carry HTTP are hidden.
func (l *lister) hidesHTTP() bool { return !l.o.http && !l.o.json && !l.sel.picks() }

// finish prints the summary.
func (l *lister) finish(ctx context.Context) error {
	if l.byCall != nil {
		if err := l.byCall.finish(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return errors.Join(l.w.Flush(), err)
	}
	if l.o.json || l.lines > 0 || l.sel.everything() || l.opensWait() {
		return errors.Join(l.total(), l.w.Flush())
	}
	return nil // like grep; verdict reports that nothing matched
}

// opensWait reports whether pending requests are selected and HTTP exchanges without a
// message wait for a response.
func (l *lister) opensWait() bool { return l.sel.pending() && len(l.exchanges) > 0 }

// total prints the summary of the listing.
func (l *lister) total() error {
	s, err := l.sum()
	if err != nil {
		return err
	}
	if l.byCall != nil {
		return l.byCall.out.end(s)
	}
	return l.rows.end(s)
}

// sum returns the summary of the listing.
func (l *lister) sum() (*summary, error) {
	info, err := l.rec.Info()
	if err != nil {
		return nil, err
	}
	extendLive(&info, l.now())
	s := &summary{counts: l.v.counts, info: info, selected: !l.sel.everything(), shown: l.shown, label: l.label}
	if s.pending = l.sel.pending(); s.pending || !l.sel.picks() {
		s.unanswered, s.beyond = l.v.tracker.Unanswered()
		s.stderr = l.stderr
		for _, n := range slices.Sorted(maps.Keys(l.exchanges)) {
			s.unanswered = append(s.unanswered, l.exchanges[n])
		}
	}
	if only := l.sel.session; only > 0 {
		s.unanswered = slices.DeleteFunc(s.unanswered, func(q session.Request) bool { return q.Session != only })
		x, _ := l.v.tracker.Sessions.Session(only)
		if info.Status != store.Live || x.Over {
			s.info.Duration = x.Ended
		}
		s.info.Duration -= x.Began
	} else if l.partial {
		t := &info.Tally
		s.counts = rowCounts{frames: t.Frames.Total(), errors: t.Errors, bytes: int64(t.Bytes.Total())}
	}
	if s.byCall = l.byCall != nil; s.byCall && !l.partial {
		s.calls = &l.byCall.total
	}
	if l.hidden > 0 {
		s.notes = append(s.notes, plural(l.hidden, "HTTP frame is", "HTTP frames are")+" hidden (use --http)")
	}
	if x := l.answers; x != nil {
		if x.TooLarge > 0 {
			s.notes = append(s.notes, plural(x.TooLarge, "response was", "responses were")+" too large to compare")
		}
		if x.Forgotten > 0 {
			s.notes = append(s.notes, plural(x.Forgotten, "response was", "responses were")+" not compared: too many responses since the previous one")
		}
	}
	return s, nil
}

// verdict returns exit code 1 if nothing matched.
func (l *lister) verdict(a *app) error {
	if l.sel.everything() || l.lines > 0 || l.opensWait() {
		return nil
	}
	what := "frame"
	if l.byCall != nil {
		what = "call"
	}
	text := "no " + what + " in that period"
	switch {
	case l.sel.filter != nil:
		text = "no " + what + " matches " + l.sel.filter.String()
	case l.sel.picks():
		text = "no such " + what
	}
	a.say(text)
	return exitCode(exitNo)
}

// deltaWords describes how a response differs from the one before, a line per change,
// escaped. A change wider than room takes three lines; a room of 0 means unlimited.
func deltaWords(d *view.Delta, room int) (out []string) {
	if d == nil {
		return nil
	}
	if len(d.Changes) == 0 {
		return []string{fmt.Sprintf("= same as #%d", d.Previous.Seq)}
	}
	out = append(out, fmt.Sprintf("≠ changed from #%d:", d.Previous.Seq))
	for _, c := range d.Changes {
		path, before, after := escape(c.Path), escape(c.Old), escape(c.New)
		line := "~ " + path + ": " + before + " → " + after
		switch {
		case c.Old == "":
			line = "+ " + path + ": " + after
		case c.New == "":
			line = "- " + path + ": " + before
		case room > 0 && columns.StringWidth(line) > room:
			out = append(out, "~ "+path+":", "  - "+before)
			line = "  + " + after
		}
		out = append(out, line)
	}
	if d.More > 0 {
		out = append(out, "… "+plural(uint64(d.More), "more change", "more changes"))
	}
	return out
}

const (
	// nearTime is how long before and after a match the server's stderr is shown.
	nearTime = time.Second
	// nearLines limits the lines before a match, stderrLinesHeld those held for calls.
	nearLines       = 20
	stderrLinesHeld = 256
)

// nearby selects lines of stderr around matching frames: within nearTime, and while a
// matching request is open.
type nearby struct {
	held  []view.Row
	until time.Duration
	open  map[session.Ref]bool
}

// row adds the next row, and whether it matches. It returns the lines to print first, or
// an unmatched line of stderr that is to be printed itself.
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

// opened records the open requests of a row.
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

// take removes and returns the lines between two offsets.
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
