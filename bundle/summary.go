package bundle

import (
	"cmp"
	"context"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// How much of a recording a summary tells.
const (
	// maxFailed is how many of the calls that failed are told: the first and the
	// last of them.
	maxFailed = 6
	// maxOdd is how many lines that are no messages are quoted, maxWaiting how
	// many calls without a response, and maxSlowest of the slowest, are named.
	maxOdd     = 5
	maxWaiting = 20
	maxSlowest = 5
	// maxSessions is how many sessions are told apart.
	maxSessions = 10
	// stderrBefore and stderrAfter are how many lines of stderr are quoted before
	// a failure and after it, and maxStderr how many bytes of one.
	stderrBefore = 20
	stderrAfter  = 10
	maxStderr    = 500
)

// A Source is the recording that a summary is made of.
type Source interface {
	// Frame returns one frame, with only the beginning of its Raw where that is
	// large.
	Frame(seq uint64) (tap.Frame, error)
	// Frames yields the frames above a number, in order.
	Frames(after uint64) iter.Seq2[tap.Frame, error]
	// WriteRaw writes all bytes of a frame that it returned.
	WriteRaw(w io.Writer, f tap.Frame) error
}

// About is what a summary says beside what the frames tell.
type About struct {
	Header tap.Header
	// Status is how the recording ended: ended, live, cut or damaged.
	Status   string
	Duration time.Duration
	Gaps     []tap.Range
	// Program is the program that makes the summary, with its version.
	Program string
	// Secrets says that they were left in; else Replaced is how many values have
	// pseudonyms.
	Secrets  bool
	Replaced uint64
	// Bundle is the file name of the bundle, "" for a summary that comes alone.
	Bundle string
}

// A failure is a call that failed.
type failure struct {
	request, answer session.Ref
	lane            tap.Lane
	title, fault    string
	at, took        time.Duration
}

// A facts is what was found in a recording.
type facts struct {
	src      Source
	tracker  session.Tracker
	stats    *session.Stats
	frames   uint64
	failed   []failure
	failures int
	odd      []uint64 // frames that are no messages
	odds     int
	end      *tap.Event // what became of the server
	broken   []tap.Event
	stderr   stderr
}

// WriteSummary writes a summary of a recording in Markdown, for an issue tracker.
func WriteSummary(ctx context.Context, w io.Writer, src Source, about About) error {
	x := &facts{src: src, stats: session.NewStats("", maxSlowest)}
	end := about.Duration
	for f, err := range src.Frames(0) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = x.add(&f)
		}
		if err != nil {
			return err
		}
		end = max(end, f.At)
	}
	x.stats.Finish(x.tracker.Open(), end)
	about.Duration = end
	return x.write(w, &about)
}

func (x *facts) add(f *tap.Frame) error {
	x.frames++
	r := x.tracker.Add(f)
	if f.Lane == tap.Stderr {
		x.stderr.add(f)
	}
	x.event(&r.Event)
	for _, c := range r.Ended {
		x.stats.Add(c)
		x.call(c)
	}
	if (f.Lane == tap.ToServer || f.Lane == tap.ToClient) && r.Message.Kind == jsonrpc.Invalid {
		x.stderr.failed()
		if x.odds++; len(x.odd) < maxOdd {
			x.odd = append(x.odd, f.Seq)
		}
	}
	return nil
}

// event notes what ended the run.
func (x *facts) event(e *tap.Event) {
	switch e.Name {
	case tap.EventExit, tap.EventSpawnFailed:
		end := *e
		x.end = &end
	case tap.EventBroken:
		if len(x.broken) < int(tap.Lanes) {
			x.broken = append(x.broken, *e)
		}
	}
}

// call notes a call that failed. One that is answered with 401 is asked again
// with a token, and that is another call.
func (x *facts) call(c *session.Call) {
	if c.Status != session.CallError && c.Status != session.CallToolError || c.Notes&session.NoteChallenged != 0 {
		return
	}
	x.stderr.failed()
	x.failures++
	if len(x.failed) == maxFailed {
		x.failed = slices.Delete(x.failed, maxFailed/2, maxFailed/2+1)
	}
	x.failed = append(x.failed, failure{
		request: c.Ref, answer: c.Answer, lane: c.Lane,
		title: span(join(" ", c.Method, c.Subject)), fault: span(join(" ", c.ErrorCode, c.ErrorText)),
		at: c.At, took: c.End - c.At,
	})
}

// stderr holds the lines of the server's standard error around the last failure,
// and the last lines of all.
type stderr struct {
	last   []piece
	around []piece
	after  int // how many more lines belong to the failure
}

// A piece is one frame of stderr, or the beginning of one that is long.
type piece struct {
	seq  uint64
	text string
}

func (s *stderr) add(f *tap.Frame) {
	p := piece{f.Seq, shorten(string(f.Raw[:min(len(f.Raw), maxStderr+1)]), maxStderr)}
	if len(s.last) == stderrBefore {
		s.last = slices.Delete(s.last, 0, 1)
	}
	s.last = append(s.last, p)
	if s.after > 0 {
		s.after--
		s.around = append(s.around, p)
	}
}

// failed says that something has just gone wrong.
func (s *stderr) failed() {
	s.around, s.after = append(s.around[:0], s.last...), stderrAfter
}

// lines returns the pieces, in order, each once.
func (s *stderr) lines() []piece {
	all := append(slices.Clone(s.around), s.last...)
	slices.SortStableFunc(all, func(a, b piece) int { return cmp.Compare(a.seq, b.seq) })
	return slices.CompactFunc(all, func(a, b piece) bool { return a.seq == b.seq })
}
