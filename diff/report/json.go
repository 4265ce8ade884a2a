package report

import (
	"bytes"
	"encoding/json"
	"io"
	"time"
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
	jsonHead          // "diff"
	A        jsonSide `json:"a"`
	B        jsonSide `json:"b"`
}

type jsonSide struct {
	Name     string        `json:"name"`
	Era      string        `json:"era,omitempty"`
	Revision string        `json:"revision,omitempty"`
	Client   session.Party `json:"client,omitzero"`
	Server   session.Party `json:"server,omitzero"`
	Calls    uint64        `json:"calls"`
	Frames   uint64        `json:"frames"`
	Lacks    string        `json:"lacks,omitempty"`
}

// jsonDifference is a difference.
type jsonDifference struct {
	jsonHead             // "difference"
	Class    string      `json:"class"`
	Kind     string      `json:"kind"`
	In       string      `json:"in"`
	By       string      `json:"by"`
	Method   string      `json:"method,omitempty"`
	Subject  string      `json:"subject,omitempty"`
	Message  string      `json:"message,omitempty"`
	CallA    session.Ref `json:"call_a,omitzero"`
	CallB    session.Ref `json:"call_b,omitzero"`
	A        session.Ref `json:"a,omitzero"`
	B        session.Ref `json:"b,omitzero"`
	Path     string      `json:"path,omitempty"`
	Old      *string     `json:"old,omitempty"`
	OldSize  int         `json:"old_size,omitempty"`
	New      *string     `json:"new,omitempty"`
	NewSize  int         `json:"new_size,omitempty"`
	Rows     []jsonRow   `json:"rows,omitempty"`
	MoreRows int         `json:"more_rows,omitempty"`
	What     string      `json:"what,omitempty"`
	Reason   string      `json:"reason,omitempty"`
	Page     string      `json:"page,omitempty"`
	Times    uint64      `json:"times"`
	Also     []jsonPair  `json:"also,omitempty"`
	OldTime  int64       `json:"old_ns,omitempty"`
	NewTime  int64       `json:"new_ns,omitempty"`
}

type jsonPair struct {
	A session.Ref `json:"a,omitzero"`
	B session.Ref `json:"b,omitzero"`
}

type jsonRow struct {
	A       int         `json:"a,omitempty"`
	B       int         `json:"b,omitempty"`
	Old     []jsonPiece `json:"old,omitempty"`
	New     []jsonPiece `json:"new,omitempty"`
	Same    bool        `json:"same,omitempty"`
	Skipped int         `json:"skipped,omitempty"`
}

type jsonPiece struct {
	Text    string `json:"text,omitempty"`
	Differs bool   `json:"differs,omitempty"`
	LeftOut int    `json:"left_out,omitempty"`
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

// JSON writes one JSON object a line: for each comparison a line that describes
// both sides, one for each difference, one for each group of calls, and a
// summary; then the recordings without a counterpart. The lines may go to a
// terminal as they are.
func JSON(w io.Writer, s *Set) error {
	out := jsonWriter{w: w}
	for _, r := range s.Reports {
		out.line(jsonDiff{jsonHead{jsonVersion, "diff"}, newSide(&r.A), newSide(&r.B)})
		for i := range r.Differences {
			out.line(newDifference(&r.Differences[i]))
		}
		for _, g := range r.Groups {
			out.line(newGroup(g))
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

func newSide(s *diff.Side) jsonSide {
	return jsonSide{s.Name, string(s.Era), string(s.Revision), s.Client, s.Server, s.Calls, s.Frames, s.Lacks}
}

func newDifference(d *diff.Difference) jsonDifference {
	j := jsonDifference{
		jsonHead: jsonHead{jsonVersion, "difference"}, Class: d.Class.String(), Kind: d.Kind.String(), In: d.In.String(), By: By(d),
		Method: d.Method, Subject: d.Subject, Message: d.Message, CallA: d.CallA, CallB: d.CallB, A: d.A, B: d.B, Path: d.Path,
		OldSize: d.OldSize, NewSize: d.NewSize, MoreRows: d.MoreRows, What: d.What, Reason: d.Reason, Page: d.Page, Times: d.Times,
		OldTime: int64(d.OldTime / time.Nanosecond), NewTime: int64(d.NewTime / time.Nanosecond),
	}
	if d.Old != "" {
		j.Old = &d.Old
	}
	if d.New != "" {
		j.New = &d.New
	}
	for _, p := range d.Also {
		j.Also = append(j.Also, jsonPair(p))
	}
	for _, r := range d.Rows {
		j.Rows = append(j.Rows, jsonRow{r.A, r.B, newPieces(r.Old), newPieces(r.New), r.Same, r.Skipped})
	}
	return j
}

func newPieces(pieces []jsontree.Piece) (all []jsonPiece) {
	for _, p := range pieces {
		all = append(all, jsonPiece{p.Text, p.Differs, p.Bytes})
	}
	return all
}

func newGroup(g *diff.Group) jsonGroup {
	return jsonGroup{
		jsonHead: jsonHead{jsonVersion, "group"}, Method: g.Method, Name: g.Name, Others: g.Others,
		Calls: g.Calls, Same: g.Same, Alike: g.Alike, Missing: g.Missing, Extra: g.Extra, Counts: counts(&g.Counts),
		Timed: g.Timed, MedianA: int64(g.MedianA), MedianB: int64(g.MedianB),
	}
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
