package bundle

import (
	"cmp"
	"context"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// Limits of a summary.
const (
	maxFailed     = 6 // failed calls, the first and the last ones
	maxInvalid    = 5 // frames that are not messages
	maxPages      = 3 // lists with a further page
	maxGaps       = 5
	maxUnanswered = 20
	maxCancelled  = 20
	maxSlowest    = 5
	maxSessions   = 10
	maxFindings   = 8 // of check.Should or worse
	// stderrBefore and stderrAfter are the numbers of stderr pieces quoted before and after a
	// failure, and maxStderr the bytes of each.
	stderrBefore = 20
	stderrAfter  = 10
	maxStderr    = 500
)

// A Source is a recording to summarize.
type Source interface {
	// Frame returns one frame, with Raw truncated if it is large.
	Frame(seq uint64) (tap.Frame, error)
	// Frames yields the frames above a number, in order.
	Frames(after uint64) iter.Seq2[tap.Frame, error]
}

// About describes a recording without its frames.
type About struct {
	Header tap.Header
	// Status is ended, live, cut or damaged.
	Status   string
	Duration time.Duration
	Gaps     []tap.Range
	// Program is the name and version of the program that writes the summary.
	Program string
	// Secrets reports that secrets were kept. Otherwise Replaced is the number of values that
	// were replaced by pseudonyms.
	Secrets  bool
	Replaced uint64
	// Bundle is the file name of the bundle, "" if there is none.
	Bundle string
}

// A failure is a failed call.
type failure struct {
	request, response session.Ref
	exchange          uint64
	lane              tap.Lane
	title, fault      string
	at, took          time.Duration
}

// A summary collects the facts about a recording.
type summary struct {
	src      Source
	tracker  session.Tracker
	stats    *session.Stats
	checker  *check.Checker
	findings []*check.Finding
	frames   uint64
	failed   []failure
	failures int
	// cancelled are the first cancelled calls, without their parts.
	cancelled  []session.Call
	cancelleds int
	pages      view.NextPages
	invalid    []uint64 // frames that are not messages
	invalids   int
	end        *tap.Event // the end of the server
	broken     []tap.Event
	stderr     stderr
}

// WriteSummary writes a Markdown summary of a recording, for an issue tracker.
func WriteSummary(ctx context.Context, w io.Writer, src Source, about About) error {
	s := &summary{src: src, stats: session.NewStats("", maxSlowest), checker: check.New(check.Rules())}
	for f, err := range src.Frames(0) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		s.add(&f)
		about.Duration = max(about.Duration, f.At)
	}
	for _, c := range s.tracker.Open() {
		s.addCancelled(c)
	}
	s.stats.Live = about.Status == "live"
	s.stats.Finish(s.tracker.Open(), about.Duration)
	s.findings = slices.DeleteFunc(s.checker.Report(s.tracker.Open()).Findings, func(f *check.Finding) bool { return f.Class < check.Should })
	return s.write(w, &about)
}

func (s *summary) add(f *tap.Frame) {
	s.frames++
	r := s.tracker.Add(f)
	s.checker.Add(r)
	s.pages.Add(r)
	if f.Lane == tap.Stderr {
		s.stderr.add(f)
	}
	switch r.Event.Name {
	case tap.EventExit, tap.EventSpawnFailed:
		end := r.Event
		s.end = &end
	case tap.EventBroken:
		if len(s.broken) < int(tap.Lanes) {
			s.broken = append(s.broken, r.Event)
		}
	}
	for _, c := range r.CutOff {
		s.stats.CutOff(c)
	}
	for _, c := range r.Ended {
		s.stats.Add(c)
		s.addCall(c)
		s.addCancelled(c)
	}
	if (f.Lane == tap.ToServer || f.Lane == tap.ToClient) && r.Message.Kind == jsonrpc.Invalid {
		s.stderr.fail()
		if s.invalids++; len(s.invalid) < maxInvalid {
			s.invalid = append(s.invalid, f.Seq)
		}
	}
}

// addCall records a failed call.
func (s *summary) addCall(c *session.Call) {
	if c.Status != session.CallError && c.Status != session.CallToolError {
		return
	}
	s.stderr.fail()
	s.failures++
	if len(s.failed) == maxFailed {
		s.failed = slices.Delete(s.failed, maxFailed/2, maxFailed/2+1)
	}
	s.failed = append(s.failed, failure{
		request: c.Ref, response: c.Answer, exchange: c.Exchange, lane: c.Lane,
		title: title(c.Method, c.Subject), fault: span(view.JoinWords(" ", c.ErrorCode, c.ErrorText)),
		at: c.At, took: c.End - c.At,
	})
}

// addCancelled records a cancelled call.
func (s *summary) addCancelled(c *session.Call) {
	if c.Status != session.CallCancelled && c.Status != session.CallCancelledLate {
		return
	}
	if s.cancelleds++; len(s.cancelled) < maxCancelled {
		kept := *c
		kept.Parts, kept.Asked = nil, nil
		s.cancelled = append(s.cancelled, kept)
	}
}

// A stderr holds the standard error of the server around the last failure and at the end.
type stderr struct {
	last   []piece
	around []piece
	after  int // how many more pieces belong to the failure
}

// A piece is the beginning of a frame of stderr.
type piece struct {
	seq  uint64
	text string
}

func (s *stderr) add(f *tap.Frame) {
	p := piece{f.Seq, escape.Shorten(string(f.Raw[:min(len(f.Raw), maxStderr+1)]), maxStderr)}
	if len(s.last) == stderrBefore {
		s.last = slices.Delete(s.last, 0, 1)
	}
	s.last = append(s.last, p)
	if s.after > 0 {
		s.after--
		s.around = append(s.around, p)
	}
}

// fail records a failure.
func (s *stderr) fail() {
	s.around, s.after = append(s.around[:0], s.last...), stderrAfter
}

// pieces returns the pieces in order, each once.
func (s *stderr) pieces() []piece {
	all := append(slices.Clone(s.around), s.last...)
	slices.SortStableFunc(all, func(a, b piece) int { return cmp.Compare(a.seq, b.seq) })
	return slices.CompactFunc(all, func(a, b piece) bool { return a.seq == b.seq })
}
