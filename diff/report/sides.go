package report

import (
	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

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
	Rows     []SidesRow `json:"rows"`
	MoreRows uint64     `json:"more_rows"`
	// Session are indexes of the differences that are in no call.
	Session     []int             `json:"session"`
	Differences []SidesDifference `json:"differences"`
}

// A Side describes a session.
type Side struct {
	Name string `json:"name"`
	// Revision is the protocol's, or the name of the dialect; "" if unknown.
	Revision string `json:"revision"`
	// Client and Server are names and versions.
	Client string `json:"client"`
	Server string `json:"server"`
	Calls  uint64 `json:"calls"`
	Frames uint64 `json:"frames"`
	// Lacks says what is missing in the recording, "" if nothing is.
	Lacks string `json:"lacks"`
}

// A SidesRow is a call of both sides, or of one. If Folded is not 0, it stands
// for so many calls without a difference, and nothing else is set.
type SidesRow struct {
	A      *SidesCall `json:"a,omitempty"`
	B      *SidesCall `json:"b,omitempty"`
	Folded uint64     `json:"folded,omitempty"`
	// Class is the highest class of a difference, "" if there is none.
	Class string `json:"class"`
	// Differences are indexes in those of the document.
	Differences []int `json:"differences,omitempty"`
}

// A SidesCall is a call on one side. Ref names its first request. At and Took
// are in nanoseconds; Took is 0 if it was not answered.
type SidesCall struct {
	Ref     session.Ref `json:"ref"`
	Lane    string      `json:"lane"`
	Method  string      `json:"method"`
	Subject string      `json:"subject"`
	Status  string      `json:"status"`
	At      int64       `json:"at_ns"`
	Took    int64       `json:"took_ns"`
}

// A SidesDifference is a difference, in words and with what is there on each side.
type SidesDifference struct {
	// Class, Kind and In are stable names, see [diff.Difference]; By is client
	// or server.
	Class string `json:"class"`
	Kind  string `json:"kind"`
	In    string `json:"in"`
	By    string `json:"by"`
	// Call and Where say where it is, as [Call] and [Location] do, Means what it
	// is.
	Call  string `json:"call"`
	Where string `json:"where"`
	Means string `json:"means"`
	// Reason says why it is of its class, Page which page of the specification
	// says so, URL where that is; each may be "".
	Reason string `json:"reason"`
	Page   string `json:"page"`
	URL    string `json:"url"`
	// Times is how often it occurs.
	Times uint64 `json:"times"`
	// A and B name the messages that differ, of which one may not be there.
	A session.Ref `json:"a,omitzero"`
	B session.Ref `json:"b,omitzero"`
	// Lines are what is there on each side, MoreLines how many are left out.
	Lines     []SidesLine `json:"lines,omitempty"`
	MoreLines int         `json:"more_lines,omitempty"`
}

// A SidesLine is one line of each side, or of one: Old and New are nil on a side
// that has none, and without pieces where the line is empty. Skipped is how many lines that are the same are left out before it.
type SidesLine struct {
	Old     []SidesPiece `json:"old,omitzero"`
	New     []SidesPiece `json:"new,omitzero"`
	Same    bool         `json:"same,omitempty"`
	Skipped int          `json:"skipped,omitempty"`
}

// A SidesPiece is a part of a line. Differs reports that the other side has
// something else there; LeftOut that the text only says how much is left out.
type SidesPiece struct {
	Text    string `json:"text"`
	Differs bool   `json:"differs,omitempty"`
	LeftOut bool   `json:"left_out,omitempty"`
}

// NewSides makes the document of a comparison.
func NewSides(r *diff.Report) *Sides {
	s := &Sides{
		V: jsonVersion, Summary: escape.Escape(r.Summary), A: sideOf(&r.A), B: sideOf(&r.B),
		Calls: r.Calls, Same: r.Same, Alike: r.Alike, Counts: counts(&r.Counts), NotTold: counts(&r.Left), Noise: r.Noise, Ignored: r.Ignored,
		MoreRows: r.MoreRows, Rows: []SidesRow{}, Session: []int{}, Differences: []SidesDifference{},
	}
	for i := range r.Rows {
		s.Rows = append(s.Rows, sidesRow(&r.Rows[i]))
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		if d.Method == "" {
			s.Session = append(s.Session, i)
		}
		s.Differences = append(s.Differences, sidesDifference(d))
	}
	return s
}

func sideOf(s *diff.Side) Side {
	e := escape.Escape
	return Side{
		Name: e(s.Name), Revision: e(Revision(s)), Client: e(party(s.Client)), Server: e(party(s.Server)),
		Calls: s.Calls, Frames: s.Frames, Lacks: e(s.Lacks),
	}
}

func sidesRow(r *diff.CallRow) SidesRow {
	row := SidesRow{A: sidesCall(r.A), B: sidesCall(r.B), Folded: r.Same, Differences: r.Differences}
	if r.Differs {
		row.Class = r.Worst.String()
	}
	return row
}

func sidesCall(c *diff.CallSide) *SidesCall {
	if c == nil {
		return nil
	}
	return &SidesCall{
		Ref: c.Ref, Lane: c.Lane.String(), Method: escape.Escape(c.Method), Subject: escape.Escape(short(c.Subject, subjectBytes)),
		Status: c.Status.String(), At: int64(c.At), Took: int64(c.Took),
	}
}

func sidesDifference(d *diff.Difference) SidesDifference {
	s := SidesDifference{
		Class: d.Class.String(), Kind: d.Kind.String(), In: d.In.String(), By: By(d), Call: Call(d), Where: Location(d), Means: Means(d),
		Reason: escape.Escape(d.Reason), Page: d.Page, URL: pageURL(d.Page), Times: d.Times, A: d.A, B: d.B, MoreLines: d.MoreRows,
	}
	s.Lines = lines(d)
	return s
}

// lines are what is there on each side.
func lines(d *diff.Difference) (all []SidesLine) {
	for _, r := range d.Rows {
		line := SidesLine{Same: r.Same, Skipped: r.Skipped}
		if r.A > 0 {
			line.Old = sidesPieces(r.Old)
		}
		if r.B > 0 {
			line.New = sidesPieces(r.New)
		}
		if r.Same {
			line.New = line.Old
		}
		all = append(all, line)
	}
	if len(d.Rows) == 0 && (d.Old != "" || d.New != "") {
		return []SidesLine{wholeLine(d)}
	}
	return all
}

// wholeLine is both values in short. What was moved is the same on both sides.
func wholeLine(d *diff.Difference) SidesLine {
	whole := func(text string, size int) []SidesPiece {
		if text == "" {
			return nil
		}
		return []SidesPiece{{Text: Value(text, size), Differs: d.Kind != diff.Moved}}
	}
	line := SidesLine{Old: whole(d.Old, d.OldSize), New: whole(d.New, d.NewSize), Same: d.Kind == diff.Moved}
	if line.Same {
		line.New = line.Old
	}
	return line
}

func sidesPieces(pieces []jsontree.Piece) []SidesPiece {
	all := []SidesPiece{}
	for _, p := range Pieces(pieces) {
		all = append(all, SidesPiece{p.Text, p.Differs, p.LeftOut})
	}
	return all
}

// Revision names what a side speaks: a revision of the protocol or the dialect,
// "" if that is not known. It is as it came.
func Revision(s *diff.Side) string {
	if s.Revision == jsonrpc.Dialect {
		return "dialect " + jsonrpc.Dialect002
	}
	return string(s.Revision)
}
