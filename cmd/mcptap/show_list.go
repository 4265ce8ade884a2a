package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/check/load"
	"github.com/mcptap/mcptap/internal/listing"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// firstLines is the number of items that are flushed one by one, so that the first page
// appears at once even if matches are rare.
const firstLines = 100

// A lister prints the selected part of one recording.
type lister struct {
	*view.Listing
	o     *showOptions
	label string // set if there are several recordings
	rec   *store.Recording
	now   func() time.Time
	start time.Time
	w     *bufio.Writer
	out   listing.Printer

	last    uint64 // the last frame to read
	printed uint64 // number of items
	partial bool   // not all frames were read
}

func newLister(ctx context.Context, a *app, o *showOptions, rec *store.Recording, info store.Info, sel view.Selection,
	label string) (*lister, error) {
	var err error
	if sel.Span, err = o.span(a, info); err != nil {
		return nil, err
	}
	l := &lister{o: o, label: label, rec: rec, now: a.now, start: info.Header.Start, last: math.MaxUint64,
		w: bufio.NewWriterSize(a.stdout, 32<<10)}
	opt := view.Options{
		Calls: o.byCall(), Flat: o.json, Diff: o.diff, Stderr: o.stderr, Plumbing: o.http || o.json,
		Follow: o.follow, FollowFrom: info.Frames,
	}
	if info.Status == store.Live {
		opt.Now = func() time.Duration { return l.now().Sub(l.start) }
	}
	opt.Body = func(head *tap.Frame) string { return bodyAfter(rec, head) }
	l.Listing = view.NewListing(sel, opt)
	if sel.Needs(filter.NeedFindings) {
		if !o.json {
			sayRules(a, sel.Filter.String())
		}
		if l.Findings, err = load.Findings(ctx, rec, info.Frames); err != nil {
			return nil, err
		}
	}
	l.out = l.printer(a, info)
	future := (sel.Needs(filter.NeedFuture) || sel.Needs(filter.NeedWait) && !o.follow) && !o.byCall()
	sessions := sel.Session > 0 || sel.Needs(filter.NeedSession) || o.json
	if future || sessions && info.Header.Transport == "http" && !o.follow {
		return l, l.lookAhead(ctx, future)
	}
	return l, nil
}

// maxAhead is how many frames after the head of a response are read to find its body.
const maxAhead = 100

// bodyAfter returns the reason in the body that follows the head of a response, "" if there
// is none.
func bodyAfter(rec *store.Recording, head *tap.Frame) string {
	for f, err := range rec.Frames(head.Seq) {
		if err != nil || f.Seq > head.Seq+maxAhead {
			break
		}
		if f.Exchange == head.Exchange && f.Lane == tap.ToClient {
			return session.BodyReason(f.Raw)
		}
	}
	return ""
}

func (l *lister) printer(a *app, info store.Info) listing.Printer {
	if l.o.json {
		p := &listing.JSON{W: l.w, Ended: l.Ended}
		if l.label != "" {
			p.Recording = info.Header.ID
		}
		if l.o.payload {
			p.Payload = l.rec
		}
		return p
	}
	when := listing.Clock(info.Header.Start, a.zone)
	if l.o.byCall() {
		calls := listing.NewCalls(a.printer(l.w), info, l.o.tree)
		calls.Ended, calls.Follow = l.Ended, l.o.follow
		calls.WithLabel(l.label, when)
		return calls
	}
	info.ExtendLive(a.now())
	frames := listing.NewFrames(a.printer(l.w), info)
	frames.Findings = l.Findings
	frames.WithLabel(l.label, when)
	return frames
}

// lookAhead makes a first pass over the whole recording, to find its sessions and the
// outcome of requests. The second pass ignores frames that arrive later.
func (l *lister) lookAhead(ctx context.Context, future bool) error {
	survey := session.NewSurvey(future)
	l.last = 0
	for f, err := range recording.Read(ctx, l.rec, 0, false) {
		if err != nil {
			return err
		}
		survey.Add(&f)
		l.last = f.Seq
	}
	info, err := l.rec.Info()
	if err != nil {
		return err
	}
	info.ExtendLive(l.now())
	survey.End(info.Duration)
	l.Tracker.Survey = survey
	if n := survey.Sessions(); l.Session > n {
		return recording.NoSession(l.rec.Path(), n, l.Session)
	}
	return nil
}

// all lists the recording to its end.
func (l *lister) all(ctx context.Context) error {
	for f, err := range recording.Read(ctx, l.rec, 0, false) {
		if err != nil {
			return err
		}
		if done, err := l.frame(&f); err != nil {
			return err
		} else if done {
			break
		}
	}
	return l.finish(ctx)
}

// frame lists the next frame. It reports whether no more are needed.
func (l *lister) frame(f *tap.Frame) (done bool, err error) {
	var items []view.Item
	if done = f.Seq > l.last; !done {
		items, done = l.Add(f)
	}
	l.partial = done
	return done, l.print(items)
}

func (l *lister) print(items []view.Item) error {
	for i := range items {
		if err := l.out.Item(&items[i]); err != nil {
			return err
		}
		if l.printed++; l.printed < firstLines || l.o.follow { // a person may be waiting for it
			if err := l.w.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish prints the calls that have not ended, and the summary.
func (l *lister) finish(ctx context.Context) error {
	info, err := l.rec.Info()
	if err != nil {
		return err
	}
	info.ExtendLive(l.now())
	if err := l.finishCalls(info); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return errors.Join(l.w.Flush(), err)
	}
	if l.o.json || l.printed > 0 || l.All() || l.Waits() {
		return errors.Join(l.out.End(l.summary(info)), l.w.Flush())
	}
	return nil // like grep; verdict reports that nothing matched
}

func (l *lister) finishCalls(info store.Info) error {
	if info.Status == store.Live && l.partial {
		info.Duration = 0 // open calls have waited until the last frame that was read
	}
	if calls, ok := l.out.(*listing.Calls); ok {
		calls.Live = info.Status == store.Live
	}
	return l.print(l.End(info.Duration))
}

// summary returns the summary of the listing.
func (l *lister) summary(info store.Info) *listing.Summary {
	s := &listing.Summary{Summary: l.Summary(), Info: info, Selected: !l.All(), Pending: l.Pending(), Label: l.label,
		ByCall: l.o.byCall(), Partial: l.partial}
	if l.Session > 0 {
		x, _ := l.Tracker.Sessions.Session(l.Session)
		if info.Status != store.Live || x.Over {
			s.Info.Duration = x.Ended
		}
		s.Info.Duration -= x.Began
	} else if l.partial {
		t := &info.Tally
		s.Frames, s.Errors, s.Bytes = t.Frames.Total(), t.Errors, int64(t.Bytes.Total())
	}
	return s
}

// verdict returns exit code 1 if nothing matched.
func (l *lister) verdict(ctx context.Context, a *app) error {
	if l.All() || l.printed > 0 || l.Waits() {
		return nil
	}
	what := "frame"
	if l.o.byCall() {
		what = "call"
	}
	info, err := l.rec.Info()
	if err != nil {
		return err
	}
	size := fmt.Sprintf("the recording has frames 1 to %d, in %s", info.Frames, view.Took(info.Duration))
	text := "no " + what + " in that period: " + size
	switch {
	case l.Filter != nil && len(l.Ranges) > 0:
		text = "no " + what + " in that range matches " + l.Filter.String()
	case l.Filter != nil:
		text = "no " + what + " matches " + l.Filter.String()
	case len(l.Ranges) == 0 && l.ByLane:
		if text = "no frames in the lane " + l.Lane.String(); l.Span != view.Whole {
			text += " in that period"
		}
	case l.Picks() && l.Ranges[0].From > info.Frames:
		text = "no such frame: " + size
	case l.Picks() && l.o.byCall() && l.Session == 0 && len(l.Ranges) == 1 && l.Ranges[0].From == l.Ranges[0].To:
		text = fmt.Sprintf("frame %d belongs to no call", l.Ranges[0].From)
	case l.Picks():
		text = "no such " + what
	}
	a.say(text)
	if l.Filter != nil {
		near := filter.Suggest(l.Filter.String(), a.seen(ctx, l.rec.Path()))
		switch {
		case near != "":
			a.say("hint: did you mean " + near + "?")
		case slices.ContainsFunc(filter.Values(l.Filter.String(), "rule"), func(id string) bool { return check.Lookup(strings.ToLower(id)) == nil }):
			a.say("hint: " + hintRules)
		}
	}
	return exitCode(exitNo)
}
