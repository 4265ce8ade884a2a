package report

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap/session"
)

// jsonVersion is the version of the names below, which are stable.
const jsonVersion = 1

// What each line begins with.
type jsonHead struct {
	V    int    `json:"v"`
	Type string `json:"type"`
}

// jsonDiff is the first line of a comparison.
type jsonDiff struct {
	jsonHead      // "diff"
	A        Side `json:"a"`
	B        Side `json:"b"`
}

// jsonDifference is the line of a difference.
type jsonDifference struct {
	jsonHead // "difference"
	Difference
}

// jsonGroup sums up the calls of one method about one thing.
type jsonGroup struct {
	jsonHead                   // "group"
	Method   string            `json:"method,omitempty"`
	Name     string            `json:"name,omitempty"`
	Others   bool              `json:"others,omitempty"`
	Calls    uint64            `json:"calls"`
	Same     uint64            `json:"same"`
	Alike    uint64            `json:"alike"`
	Missing  uint64            `json:"missing"`
	Extra    uint64            `json:"extra"`
	Counts   map[string]uint64 `json:"differences"`
	Timed    int               `json:"timed"`
	MedianA  int64             `json:"median_a_ns,omitempty"`
	MedianB  int64             `json:"median_b_ns,omitempty"`
}

// jsonSummary is the last line of a comparison.
type jsonSummary struct {
	jsonHead                   // "summary"
	Summary  string            `json:"summary"`
	Calls    uint64            `json:"calls"`
	Same     uint64            `json:"same"`
	Alike    uint64            `json:"alike"`
	Counts   map[string]uint64 `json:"differences"`
	Left     map[string]uint64 `json:"not_told"`
	Ignored  uint64            `json:"ignored"`
	Noise    uint64            `json:"noise"`
	TooLarge int               `json:"too_large"`
	FailOn   string            `json:"fail_on,omitempty"`
	Failed   bool              `json:"failed"`
}

// jsonUnpaired is a recording that only one of two directories has.
type jsonUnpaired struct {
	jsonHead        // "unpaired"
	Side     string `json:"side"` // a or b
	Name     string `json:"name"`
}

// A Sides is a comparison as one document of JSON, for a page that shows two
// sessions side by side: encoding/json writes it as it is. All texts in it are
// escaped like those for a terminal, so that a page only has to set them as
// text. Its size is bounded by [diff.Options.Rows] and [diff.Options.Most].
type Sides struct {
	V       int    `json:"v"` // 1
	Summary string `json:"summary"`
	A       Side   `json:"a"`
	B       Side   `json:"b"`
	// Calls, Same and Alike are as in [diff.Report], Counts is how many
	// differences there are of each class, by its name; NotTold how many of
	// them are not in Differences. Noise and Ignored were left out.
	Calls   uint64            `json:"calls"`
	Same    uint64            `json:"same"`
	Alike   uint64            `json:"alike"`
	Counts  map[string]uint64 `json:"counts"`
	NotTold map[string]uint64 `json:"not_told"`
	Noise   uint64            `json:"noise"`
	Ignored uint64            `json:"ignored"`
	// Rows are the calls side by side, MoreRows how many calls are beyond. There
	// are none unless [diff.Options.Rows] asks for them.
	Rows     []CallRow `json:"rows"`
	MoreRows uint64    `json:"more_rows"`
	// Session are indexes of the differences that are in no call.
	Session     []int        `json:"session"`
	Differences []Difference `json:"differences"`
}

// A Side describes a session.
type Side struct {
	Name     string        `json:"name"`
	Era      string        `json:"era,omitempty"`
	Revision string        `json:"revision,omitempty"`
	Client   session.Party `json:"client,omitzero"`
	Server   session.Party `json:"server,omitzero"`
	Calls    uint64        `json:"calls"`
	Frames   uint64        `json:"frames"`
	// Lacks says what is missing in the recording, "" if nothing is.
	Lacks string `json:"lacks,omitempty"`
}

// A CallRow is a call of both sides, or of one. If Folded is not 0, the row represents that
// many calls without a difference, and nothing else is set.
type CallRow struct {
	A      *Call  `json:"a,omitempty"`
	B      *Call  `json:"b,omitempty"`
	Folded uint64 `json:"folded,omitempty"`
	// Class is the highest class of a difference, "" if there is none.
	Class string `json:"class"`
	// Differences are indexes in those of the document.
	Differences []int `json:"differences,omitempty"`
}

// A Call is a call on one side. Ref names its first request. At and Took
// are in nanoseconds; Took is 0 if it was not answered.
type Call struct {
	Ref     session.Ref `json:"ref"`
	Lane    string      `json:"lane"`
	Method  string      `json:"method"`
	Subject string      `json:"subject"`
	Status  string      `json:"status"`
	At      int64       `json:"at_ns"`
	Took    int64       `json:"took_ns"`
}

// A Difference is a [diff.Difference] with its stable names. On a page its rows are those of
// [Rows], and take the place of Old and New.
type Difference struct {
	Class    string         `json:"class"`
	Kind     string         `json:"kind"`
	In       string         `json:"in"`
	By       string         `json:"by"` // client or server
	Method   string         `json:"method,omitempty"`
	Subject  string         `json:"subject,omitempty"`
	Message  string         `json:"message,omitempty"`
	CallA    session.Ref    `json:"call_a,omitzero"`
	CallB    session.Ref    `json:"call_b,omitzero"`
	A        session.Ref    `json:"a,omitzero"`
	B        session.Ref    `json:"b,omitzero"`
	Path     string         `json:"path,omitempty"`
	Old      *string        `json:"old,omitempty"`
	OldSize  int            `json:"old_size,omitempty"`
	New      *string        `json:"new,omitempty"`
	NewSize  int            `json:"new_size,omitempty"`
	Rows     []jsontree.Row `json:"rows,omitempty"`
	MoreRows int            `json:"more_rows,omitempty"`
	What     string         `json:"what,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Page     string         `json:"page,omitempty"`
	Times    uint64         `json:"times"`
	Also     []CallPair     `json:"also,omitempty"`
	OldTime  int64          `json:"old_ns,omitempty"`
	NewTime  int64          `json:"new_ns,omitempty"`
	*InWords
}

// InWords says of a difference on a page what [CallOf], [Location] and [Means] do, and
// where the page of the specification is.
type InWords struct {
	Call  string `json:"call"`
	Where string `json:"where"`
	Means string `json:"means"`
	URL   string `json:"url"`
}

// A CallPair is a [diff.CallPair].
type CallPair struct {
	A session.Ref `json:"a,omitzero"`
	B session.Ref `json:"b,omitzero"`
}

// JSON writes one JSON object a line: for each comparison a line that describes
// both sides, one for each difference, one for each group of calls, and a
// summary; then the recordings without a counterpart. The lines may go to a
// terminal as they are.
func JSON(w io.Writer, s *Set) error {
	out := jsonWriter{w: w}
	for _, r := range s.Reports {
		out.line(jsonDiff{jsonHead{jsonVersion, "diff"}, newSide(&r.A, asItIs), newSide(&r.B, asItIs)})
		for i := range r.Differences {
			d := &r.Differences[i]
			j := newDifference(d, asItIs)
			j.Old, j.New, j.Rows = optional(d.Old), optional(d.New), d.Rows
			out.line(jsonDifference{jsonHead{jsonVersion, "difference"}, j})
		}
		for _, g := range r.Groups {
			out.line(jsonGroup{
				jsonHead: jsonHead{jsonVersion, "group"}, Method: g.Method, Name: g.Name, Others: g.Others,
				Calls: g.Calls, Same: g.Same, Alike: g.Alike, Missing: g.Missing, Extra: g.Extra, Counts: counts(&g.Counts),
				Timed: g.Timed, MedianA: int64(g.MedianA), MedianB: int64(g.MedianB),
			})
		}
		end := jsonSummary{
			jsonHead: jsonHead{jsonVersion, "summary"}, Summary: r.Summary, Calls: r.Calls, Same: r.Same, Alike: r.Alike,
			Counts: counts(&r.Counts), Left: counts(&r.Left), Ignored: r.Ignored, Noise: r.Noise, TooLarge: r.TooLarge,
		}
		if s.Fails {
			end.FailOn, end.Failed = s.FailOn.String(), r.AtLeast(s.FailOn) > 0
		}
		out.line(end)
	}
	for _, u := range s.Unpaired {
		side := "a"
		if u.Second {
			side = "b"
		}
		out.line(jsonUnpaired{jsonHead{jsonVersion, "unpaired"}, side, u.Name})
	}
	return out.err
}

// NewSides makes the document of a comparison.
func NewSides(r *diff.Report) *Sides {
	e := escape.Escape
	s := &Sides{
		V: jsonVersion, Summary: e(r.Summary), A: newSide(&r.A, e), B: newSide(&r.B, e),
		Calls: r.Calls, Same: r.Same, Alike: r.Alike, Counts: counts(&r.Counts), NotTold: counts(&r.Left), Noise: r.Noise, Ignored: r.Ignored,
		MoreRows: r.MoreRows, Rows: []CallRow{}, Session: []int{}, Differences: []Difference{},
	}
	for i := range r.Rows {
		from := &r.Rows[i]
		row := CallRow{A: newCall(from.A), B: newCall(from.B), Folded: from.Same, Differences: from.Differences}
		if from.Differs {
			row.Class = from.Worst.String()
		}
		s.Rows = append(s.Rows, row)
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		if d.Method == "" {
			s.Session = append(s.Session, i)
		}
		j := newDifference(d, e)
		j.Rows = Rows(d)
		j.InWords = &InWords{CallOf(d), Location(d), Means(d), pageURL(d.Page)}
		s.Differences = append(s.Differences, j)
	}
	return s
}

// asItIs leaves a text as it came.
func asItIs(s string) string { return s }

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func newSide(s *diff.Side, e func(string) string) Side {
	party := func(p session.Party) session.Party {
		return session.Party{Name: e(p.Name), Title: e(p.Title), Version: e(p.Version)}
	}
	return Side{e(s.Name), string(s.Era), e(string(s.Revision)), party(s.Client), party(s.Server), s.Calls, s.Frames, e(s.Lacks)}
}

func newCall(c *diff.CallSide) *Call {
	if c == nil {
		return nil
	}
	return &Call{
		Ref: c.Ref, Lane: c.Lane.String(), Method: escape.Escape(c.Method), Subject: escape.Escape(short(c.Subject, subjectBytes)),
		Status: c.Status.String(), At: int64(c.At), Took: int64(c.Took),
	}
}

// newDifference is a difference without its values.
func newDifference(d *diff.Difference, e func(string) string) Difference {
	j := Difference{
		Class: d.Class.String(), Kind: d.Kind.String(), In: d.In.String(), By: By(d),
		Method: e(d.Method), Subject: e(d.Subject), Message: e(d.Message), CallA: d.CallA, CallB: d.CallB, A: d.A, B: d.B, Path: d.Path,
		OldSize: d.OldSize, NewSize: d.NewSize, MoreRows: d.MoreRows, What: e(d.What), Reason: e(d.Reason), Page: d.Page, Times: d.Times,
		OldTime: int64(d.OldTime), NewTime: int64(d.NewTime),
	}
	for _, p := range d.Also {
		j.Also = append(j.Also, CallPair(p))
	}
	return j
}

func counts(of *[diff.Classes]uint64) map[string]uint64 {
	all := map[string]uint64{}
	for c, n := range of {
		all[diff.Class(c).String()] = n
	}
	return all
}

type jsonWriter struct {
	w   io.Writer
	err error
}

// line writes one value. Hazards are escaped, which JSON can do without loss.
func (j *jsonWriter) line(v any) {
	if j.err != nil {
		return
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if j.err = enc.Encode(v); j.err != nil {
		return
	}
	line := buf.Bytes()
	out := make([]byte, 0, len(line))
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRune(line[i:])
		if r != '\n' && escape.Hazard(r) {
			out = escape.AppendEscape(out, r)
		} else {
			out = append(out, line[i:i+n]...)
		}
		i += n
	}
	_, j.err = j.w.Write(out)
}
