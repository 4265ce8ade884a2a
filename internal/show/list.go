// Package show lists the selected frames or calls of recordings, including live ones.
package show

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/check/load"
	"github.com/mcptap/mcptap/internal/listing"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// ErrNone is the error of a listing that nothing matched. The reason has been reported.
var ErrNone = errors.New("nothing matched")

// Options control what is listed, and how.
type Options struct {
	Calls, Tree  bool // list calls instead of frames
	Stderr, Diff bool
	HTTP         bool // also list connections, heads, ends and comments
	Follow       bool
	Since, Until string // moments, "" for none

	JSON, Payload bool
	Out           io.Writer
	Printer       func(io.Writer) *term.Printer // returns a printer for Out
	Zone          *time.Location
	Now           func() time.Time
	Say           func(string) // reports on stderr
}

// ByCall reports whether calls are listed instead of frames.
func (o *Options) ByCall() bool { return o.Calls || o.Tree }

// CheckSpan checks Since and Until.
func (o *Options) CheckSpan() error {
	_, _, err := o.moments()
	return err
}

// List lists the selected part of one recording. It returns [ErrNone] if nothing matched.
func List(ctx context.Context, o *Options, rec *store.Recording, sel view.Selection) error {
	info, err := rec.Info()
	if err != nil {
		return err
	}
	l, err := newLister(ctx, o, rec, info, sel, "")
	if err != nil {
		return err
	}
	if o.Follow {
		err = followOne(ctx, o, l)
	} else {
		err = l.all(ctx)
	}
	if err != nil {
		return errors.Join(l.w.Flush(), err)
	}
	return l.verdict(ctx)
}

// SayRules prints the requirements of the rules that a filter names.
func SayRules(say func(string), query string) {
	for _, id := range filter.Values(query, "rule") {
		if r := check.Lookup(strings.ToLower(id)); r != nil {
			say(r.ID + ": " + r.Text)
		}
	}
}

// firstLines is the number of items that are flushed one by one, so that the first page appears
// immediately even if matches are rare.
const firstLines = 100

// A lister prints the selected part of one recording.
type lister struct {
	*view.Listing
	o     *Options
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

func newLister(ctx context.Context, o *Options, rec *store.Recording, info store.Info, sel view.Selection,
	label string) (*lister, error) {
	var err error
	if sel.Span, err = o.Span(info); err != nil {
		return nil, err
	}
	l := &lister{o: o, label: label, rec: rec, now: o.Now, start: info.Header.Start, last: math.MaxUint64,
		w: bufio.NewWriterSize(o.Out, 32<<10)}
	opt := view.Options{
		Calls: o.ByCall(), Flat: o.JSON, Diff: o.Diff, Stderr: o.Stderr, Plumbing: o.HTTP || o.JSON,
		Follow: o.Follow, FollowFrom: info.Frames,
	}
	if info.Status == store.Live {
		opt.Now = func() time.Duration { return l.now().Sub(l.start) }
	}
	opt.Body = func(head *tap.Frame) string { return bodyAfter(rec, head) }
	l.Listing = view.NewListing(sel, opt)
	if sel.Needs(filter.NeedFindings) {
		if !o.JSON {
			SayRules(o.Say, sel.Filter.String())
		}
		if l.Findings, err = load.Findings(ctx, rec, info.Frames); err != nil {
			return nil, err
		}
	}
	l.out = l.printer(info)
	future := (sel.Needs(filter.NeedFuture) || sel.Needs(filter.NeedWait) && !o.Follow) && !o.ByCall()
	sessions := sel.Session > 0 || sel.Needs(filter.NeedSession) || o.JSON
	if future || sessions && info.Header.Transport == "http" && !o.Follow {
		return l, l.lookAhead(ctx, future)
	}
	return l, nil
}

// maxAhead limits the frames after the head of a response that are read to find its body.
const maxAhead = 100

// bodyAfter returns the reason given in the body after the head of a response, or "".
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

func (l *lister) printer(info store.Info) listing.Printer {
	if l.o.JSON {
		p := &listing.JSON{W: l.w, Ended: l.Ended, Live: info.Status == store.Live && !l.o.Follow}
		if l.label != "" {
			p.Recording = info.Header.ID
		}
		if l.o.Payload {
			p.Payload = l.rec
		}
		return p
	}
	when := listing.Clock(info.Header.Start, l.o.Zone)
	if l.o.ByCall() {
		calls := listing.NewCalls(l.o.Printer(l.w), info, l.o.Tree)
		calls.Ended, calls.Follow = l.Ended, l.o.Follow
		calls.WithLabel(l.label, when)
		return calls
	}
	info.ExtendLive(l.o.Now())
	frames := listing.NewFrames(l.o.Printer(l.w), info)
	frames.Findings = l.Findings
	frames.WithLabel(l.label, when)
	return frames
}

// lookAhead reads the whole recording to find its sessions and the outcomes of requests. The second
// pass ignores frames that arrive later.
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
		if l.printed++; l.printed < firstLines || l.o.Follow { // a user may be waiting for it
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
	if l.o.JSON || l.printed > 0 || l.All() || l.Waits() {
		return errors.Join(l.out.End(l.summary(info)), l.w.Flush())
	}
	return nil // like grep: only verdict reports that nothing matched
}

func (l *lister) finishCalls(info store.Info) error {
	if info.Status == store.Live && l.partial {
		info.Duration = 0 // open calls waited until the last frame read
	}
	if calls, ok := l.out.(*listing.Calls); ok {
		calls.Live = info.Status == store.Live
	}
	return l.print(l.End(info.Duration))
}

// summary returns the summary of the listing.
func (l *lister) summary(info store.Info) *listing.Summary {
	s := &listing.Summary{Summary: l.Summary(), Info: info, Took: info.Duration, Selected: !l.All(), Pending: l.Pending(), Label: l.label, Frame: l.rec.Frame,
		ByCall: l.o.ByCall(), Partial: l.partial}
	if l.Session > 0 {
		x, _ := l.Tracker.Sessions.Session(l.Session)
		if info.Status != store.Live || x.Over {
			s.Took = x.Ended
		}
		s.Took -= x.Began
		return s
	}
	s.Sessions = info.Tally.Sessions
	if l.partial {
		t := &info.Tally
		s.Frames, s.Errors, s.Bytes = t.Frames.Total(), t.Errors, int64(t.Bytes.Total())
	}
	return s
}

// verdict reports why nothing matched, if nothing did, and returns ErrNone.
func (l *lister) verdict(ctx context.Context) error {
	if l.All() || l.printed > 0 || l.Waits() {
		return nil
	}
	what := "frame"
	if l.o.ByCall() {
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
	case l.Picks() && l.o.ByCall() && l.Session == 0 && len(l.Ranges) == 1 && l.Ranges[0].From == l.Ranges[0].To:
		text = fmt.Sprintf("frame %d belongs to no call", l.Ranges[0].From)
	case l.Picks():
		text = "no such " + what
	}
	l.o.Say(text)
	exit := l.Summary().Exit
	why := exit.NotStarted()
	if why != "" {
		l.o.Say(why)
	}
	if l.Filter != nil {
		near, is := filter.Suggest(l.Filter.String(), Seen(ctx, l.rec.Path())), filter.Values(l.Filter.String(), "is")
		switch {
		case near != "":
			l.o.Say("hint: did you mean " + near + "?")
		case slices.ContainsFunc(filter.Values(l.Filter.String(), "rule"), func(id string) bool { return check.Lookup(strings.ToLower(id)) == nil }):
			l.o.Say("hint: " + load.HintRules)
		case slices.Contains(is, "error"):
			l.sayOthers()
		case why == "" && slices.Contains(is, "pending"):
			if n := l.Summary().Errors; n > 0 {
				l.o.Say("hint: " + term.Plural(n, "error", "errors") + ": is:error")
			}
		}
	}
	return ErrNone
}

// sayOthers names the calls that failed without an error.
func (l *lister) sayOthers() {
	s := l.Summary()
	if s.Cancels > 0 {
		l.o.Say("hint: " + term.Plural(s.Cancels, "call was", "calls were") + " cancelled: is:cancelled")
	}
	requests, beyond := l.Tracker.Unanswered()
	if n := uint64(len(requests)) + beyond; n > 0 {
		text := "hint: " + term.Plural(n, "call is", "calls are") + " unanswered: is:pending"
		if slices.ContainsFunc(requests, func(q session.Request) bool { return q.Lost }) {
			text += "; --calls is:error lists those that lost their response"
		}
		l.o.Say(text)
	}
}
