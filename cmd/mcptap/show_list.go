package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// firstLines is the number of lines that are flushed one by one, so that the first
// page appears at once even if matches are rare.
const firstLines = 100

// A lister prints what is wanted of one recording.
type lister struct {
	o     *showOptions
	label string // where there are several
	rec   *store.Recording
	info  store.Info // as it was at the beginning
	now   func() time.Time
	want  *selection
	span  span
	w     *bufio.Writer
	rows  rowPrinter // of frames

	v       *viewer
	answers *view.Answers
	near    nearby
	last    time.Duration // of the frames that were read
	shown   uint64        // frames, or calls
	folded  uint64        // of these not printed, as they are HTTP's own
	// exchanges are those without a message or a response, by number.
	exchanges map[uint64]session.Request
	lines     uint64    // that were printed, parts of calls aside
	stderr    lastLines // of the server, where a request hangs
	partial   bool      // not all frames were read

	byCall *callLister // of calls, else nil
}

func newLister(ctx context.Context, a *app, o *showOptions, rec *store.Recording, info store.Info, want *selection, label string) (*lister, error) {
	l := &lister{o: o, now: a.now, label: label, rec: rec, info: info, want: want, w: bufio.NewWriterSize(a.stdout, 32<<10), v: newViewer(), exchanges: map[uint64]session.Request{}}
	var err error
	if l.span, err = want.span(rec, info); err != nil {
		return nil, err
	}
	l.v.only = want.session
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
	future := want.future() && !o.byCall()
	if future || (want.needsSessions() || o.json) && info.Header.Transport == "http" && !o.follow {
		return l, l.lookAhead(ctx, future)
	}
	return l, nil
}

// lookAhead is the first pass, over the whole recording: what is to come of
// requests, and which sessions there are. What a live one gets later is left out
// of the second.
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
	if n := survey.Sessions(); l.want.session > n {
		return fmt.Errorf("%s has %s, so there is no #%d", quote(filepath.Base(l.rec.Path())), plural(uint64(n), "session", "sessions"), l.want.session)
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

// frame takes the next frame. It reports whether no more are needed.
func (l *lister) frame(ctx context.Context, f *tap.Frame) (enough bool, err error) {
	l.last = f.At
	if f.Lane == tap.Stderr && l.want.pending() {
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

// row prints a frame, if it is wanted.
func (l *lister) row(r *session.Entry) error {
	var deltas []*view.Delta
	if l.answers != nil {
		deltas = l.answers.Add(r)
	}
	if !l.span.holds(r.Frame) {
		return nil
	}
	ok := l.want.frame(r)
	if l.o.stderr && l.want.picks() {
		around := l.near.row(r, ok)
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
	if l.folds() && view.Plumbing(r) {
		l.folded++
		return nil
	}
	row := view.NewRow(r)
	return l.print(&row, deltas)
}

// openExchange keeps track of exchanges without a message that have no response yet: no
// row shows them until then.
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

// printed writes out what was printed, if somebody may wait for it.
func (l *lister) printed() error {
	if l.lines++; l.lines < firstLines || l.o.follow {
		return l.w.Flush()
	}
	return nil
}

// folds reports whether frames that only show how HTTP carries messages are left out.
func (l *lister) folds() bool { return !l.o.http && !l.o.json && !l.want.picks() }

// finish prints what there is to say at the end.
func (l *lister) finish(ctx context.Context) error {
	if l.byCall != nil {
		if err := l.byCall.finish(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return errors.Join(l.w.Flush(), err)
	}
	if l.o.json || l.lines > 0 || l.want.everything() || l.opensWait() {
		return errors.Join(l.total(), l.w.Flush())
	}
	return nil // as grep does: the verdict is all there is to say
}

// opensWait reports whether HTTP exchanges without a message wait for a response, and are
// what was asked for.
func (l *lister) opensWait() bool { return l.want.pending() && len(l.exchanges) > 0 }

// total prints what the listing adds up to.
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

// sum is what the listing adds up to.
func (l *lister) sum() (*summary, error) {
	info, err := l.rec.Info()
	if err != nil {
		return nil, err
	}
	extendLive(&info, l.now())
	s := &summary{counts: l.v.counts, info: info, selected: !l.want.everything(), shown: l.shown, label: l.label}
	if s.pending = l.want.pending(); s.pending || !l.want.picks() {
		s.unanswered, s.beyond = l.v.tracker.Unanswered()
		s.stderr = l.stderr
		for _, n := range slices.Sorted(maps.Keys(l.exchanges)) {
			s.unanswered = append(s.unanswered, l.exchanges[n])
		}
	}
	if only := l.want.session; only > 0 {
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
	if l.folded > 0 {
		s.notes = append(s.notes, plural(l.folded, "HTTP frame is", "HTTP frames are")+" hidden (use --http)")
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

// verdict is a negative answer when nothing of what was asked for is there.
func (l *lister) verdict(a *app) error {
	if l.want.everything() || l.lines > 0 || l.opensWait() {
		return nil
	}
	what := "frame"
	if l.byCall != nil {
		what = "call"
	}
	text := "no " + what + " in that period"
	switch {
	case l.want.filter != nil:
		text = "no " + what + " matches " + l.want.filter.String()
	case l.want.picks():
		text = "no such " + what
	}
	a.say(text)
	return exitCode(exitNo)
}

// deltaWords says what changed from one answer to the next, a line each,
// escaped. A change that has no room of so many columns on one line, 0 for any,
// gets three.
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
