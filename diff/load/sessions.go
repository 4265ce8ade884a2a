package load

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/diff"
	diffreport "github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A sessionReader passes the frames of a recording to its sessions.
type sessionReader struct {
	*Recording
	only *Only
	// several reports whether the recording has more than one session.
	several  bool
	tracker  session.Tracker
	items    []filter.Item
	made     map[int]*diff.Session
	requests int // number of requests in the sessions
	all      []*diff.Session
	held     FrameCache
	// seen, if not nil, is called with each frame of a session and whether the filter selected
	// it.
	seen func(e *session.Entry, marked bool)
}

// firstPass determines what only later frames reveal: in HTTP traffic the session of a request
// head, and for some filters the outcome of a request.
func (r *sessionReader) firstPass(ctx context.Context) error {
	future := r.only != nil && r.only.Filter != nil && r.only.Filter.Needs().Has(filter.NeedFuture)
	if r.Info.Header.Transport != "http" && !future {
		return nil
	}
	survey := session.NewSurvey(future)
	err := r.Each(ctx, func(f *tap.Frame) error {
		survey.Add(f)
		return nil
	})
	survey.End(0)
	r.several = survey.Sessions() > 1
	r.tracker.Survey = survey
	return err
}

// read reads a frame, and reports whether the filter selected it.
func (r *sessionReader) read(f *tap.Frame) (e *session.Entry, marked bool) {
	e = r.tracker.Add(f)
	switch {
	case r.only == nil:
		return e, false
	case r.only.Filter == nil:
		return e, slices.ContainsFunc(r.only.Frames, func(n tap.Range) bool { return n.From <= f.Seq && f.Seq <= n.To })
	}
	r.items = view.Items(r.items[:0], e)
	return e, r.only.Filter.MatchAny(r.items)
}

// Only selects calls, by a filter or by frame numbers.
type Only struct {
	Filter *filter.Filter
	Frames []tap.Range
	Text   string // as entered by the user
	// Matched reports that a frame of a call matched.
	Matched bool
}

// Check returns an error if no frame of a call matched o. A nil o matches all frames.
func (o *Only) Check() error {
	if o == nil || o.Matched {
		return nil
	}
	return hint.With(fmt.Errorf("--only: no call matches %s", term.Quote(o.Text)), "`mcptap show REC --calls` lists the calls, `mcptap help filter` explains filters")
}

func (r *sessionReader) add(f *tap.Frame) error {
	e, marked := r.read(f)
	if number := e.Session; number != 0 && (r.Session == 0 || number == r.Session) { // pages and tokens have no session
		inCall := func(p session.Part) bool { return p.Call != (session.Ref{}) }
		if marked && (e.Refuses.Call != (session.Ref{}) || slices.ContainsFunc(e.Parts, inCall)) {
			r.only.Matched = true
		}
		if r.seen != nil {
			r.seen(e, marked)
		}
		s := r.made[number]
		if s == nil {
			s = r.begin(number)
			r.made[number] = s
			r.all = append(r.all, s)
		}
		if f.Lane == tap.ToServer || f.Lane == tap.ToClient {
			r.held.keep(f)
			limit := maxDiffRequests
			if r.seen != nil { // memory also holds a plan to play them
				limit /= 2
			}
			if r.requests += requestsIn(&e.Message); r.requests > limit {
				return hint.With(fmt.Errorf("read %s: more than %d requests, too many to compare", r.Name, limit),
					"compare one session of it, such as REC#2")
			}
		}
		s.Add(e, marked)
	}
	r.over(e.Ended)
	return nil
}

// over passes ended calls to their sessions.
func (r *sessionReader) over(calls []*session.Call) {
	for _, c := range calls {
		if s := r.made[c.Session]; s != nil {
			s.Over(c)
		}
	}
}

// end ends all sessions.
func (r *sessionReader) end() {
	r.over(r.tracker.Open())
	for _, s := range r.all {
		s.End()
	}
}

// maxDiffRequests is the maximum number of requests in one recording that can be compared: each
// takes some hundred bytes of memory.
const maxDiffRequests = 400_000

// requestsIn returns the number of requests in a message.
func requestsIn(m *jsonrpc.Message) (n int) {
	if m.Kind == jsonrpc.Request {
		n++
	}
	for i := range m.Batch {
		n += requestsIn(&m.Batch[i])
	}
	return n
}

// begin returns a new session for a session number.
func (r *sessionReader) begin(number int) *diff.Session {
	name := r.Name
	if r.several {
		name = fmt.Sprintf("%s#%d", name, number)
	}
	s := diff.NewSession(name, r.held.Get)
	var gaps []string
	for i, g := range r.Info.Gaps {
		if i == 3 {
			gaps = append(gaps, "…")
			break
		}
		gaps = append(gaps, fmt.Sprintf("%d to %d", g.From, g.To))
	}
	if len(gaps) > 0 {
		s.Lacks("frames " + strings.Join(gaps, ", ") + " are missing")
	}
	return s
}

// Directories compares the recordings of two directories that have the same label. If several
// have the same label, they are paired by age. Recordings of processes that a client started
// only to probe the server's protocol version are paired separately.
func (d *Differ) Directories(first, second string) error {
	as, err := d.labelled(first)
	if err != nil {
		return err
	}
	bs, err := d.labelled(second)
	if err != nil {
		return err
	}
	later := map[string][]*Recording{}
	for _, b := range bs {
		later[b.label()] = append(later[b.label()], b)
	}
	var alone []diffreport.Unpaired
	for _, a := range as {
		same := later[a.label()]
		if len(same) == 0 {
			alone = append(alone, diffreport.Unpaired{Name: a.Name})
			continue
		}
		later[a.label()] = same[1:]
		if err := d.Both(a, same[0], nil); errors.Is(err, store.ErrDamaged) {
			d.skip(err)
		} else if err != nil {
			return err
		}
	}
	for _, b := range bs {
		if slices.Contains(later[b.label()], b) {
			alone = append(alone, diffreport.Unpaired{Second: true, Name: b.Name})
		}
	}
	d.Set.Unpaired = append(alone, d.Set.Unpaired...)
	return nil
}

// skip reports once that a file cannot be compared.
func (d *Differ) skip(err error) {
	if text := err.Error(); !slices.Contains(d.Skipped, text) {
		d.Skipped = append(d.Skipped, text)
		d.say("skipped: " + text)
	}
}

// label returns the label by which recordings of two directories are paired.
func (c *Recording) label() string {
	if c.Info.Tally.Facts.Probe {
		return c.Info.Header.Label + "\x00probe"
	}
	return c.Info.Header.Label
}

// labelled opens the recordings and the text files in a directory, ordered by start time. It
// skips those that cannot be read.
func (d *Differ) labelled(dir string) ([]*Recording, error) {
	var all []*Recording
	infos, err := store.List(dir)
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		var c *Recording
		err := info.Err
		if !info.Status.Unreadable() {
			c, err = d.Load(info.Path)
		}
		switch {
		case err == nil:
			all = append(all, c)
		case !errors.Is(err, store.ErrNotRecording):
			d.skip(err)
		}
	}
	texts, err := recording.Texts(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range texts {
		c, err := d.Load(name)
		if err != nil {
			d.skip(err)
			continue
		}
		if c.Info.Header.Label == "" {
			c.Info.Header.Label = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no recordings in %s", dir)
	}
	slices.SortStableFunc(all, func(a, b *Recording) int { return a.Info.Header.Start.Compare(b.Info.Header.Start) })
	return all, nil
}
