package report

import (
	"cmp"
	"io"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// jsonVersion is the version of the member names below, which are stable.
const jsonVersion = 1

// jsonHead has the first members of each line.
type jsonHead struct {
	V    int    `json:"v"`
	Type string `json:"type"`
}

// jsonSummary is the last line of a comparison.
type jsonSummary struct {
	jsonHead
	Summary  string      `json:"summary"`
	Calls    uint64      `json:"calls"`
	Same     uint64      `json:"same"`
	Alike    uint64      `json:"alike"`
	Counts   diff.Counts `json:"differences"`
	Left     diff.Counts `json:"not_listed"`
	Ignored  uint64      `json:"ignored"`
	Noise    uint64      `json:"noise"`
	TooLarge int         `json:"too_large"`
	FailOn   string      `json:"fail_on,omitempty"`
	Failed   bool        `json:"failed"`
}

// A Sides is a comparison as one JSON document, for a page that shows two sessions side by side.
// All texts in it are escaped as for a terminal, so a page only needs to set them as text. Its
// size is bounded by [diff.Options.Rows] and [diff.Options.Most].
type Sides struct {
	V       int       `json:"v"` // 1
	Summary string    `json:"summary"`
	A       diff.Side `json:"a"`
	B       diff.Side `json:"b"`
	// Calls, Same, Alike, Counts, Noise and Ignored are as in [diff.Report]. NotListed is the
	// number of differences that are not in Differences.
	Calls     uint64      `json:"calls"`
	Same      uint64      `json:"same"`
	Alike     uint64      `json:"alike"`
	Counts    diff.Counts `json:"counts"`
	NotListed diff.Counts `json:"not_listed"`
	Noise     uint64      `json:"noise"`
	Ignored   uint64      `json:"ignored"`
	// Rows and MoreRows are as in [diff.Report].
	Rows     []diff.CallRow `json:"rows"`
	MoreRows uint64         `json:"more_rows"`
	// Session are the indexes of the differences that are in no call.
	Session     []int            `json:"session"`
	Differences []PageDifference `json:"differences"`
}

// A PageDifference is a [diff.Difference] for a page. Its rows are those of [Rows] and replace
// Old and New.
type PageDifference struct {
	diff.Difference
	// Call, Where and Means are the results of [CallOf], [Location] and [Means].
	Call  string `json:"call"`
	Where string `json:"where"`
	Means string `json:"means"`
	URL   string `json:"url"` // of the page of the specification
}

// JSON writes one JSON object per line: for each comparison a line that describes both sides, one
// for each difference, one for each group of calls, and a summary; then the recordings without a
// counterpart. The lines are safe to print on a terminal.
func JSON(w io.Writer, s *Set) (err error) {
	line := func(v any) {
		text, e := escape.JSON(v)
		if err = cmp.Or(err, e); err == nil {
			_, err = w.Write(append(text, '\n'))
		}
	}
	for _, r := range s.Reports {
		line(struct {
			jsonHead
			A diff.Side `json:"a"`
			B diff.Side `json:"b"`
		}{jsonHead{jsonVersion, "diff"}, r.A, r.B})
		for _, d := range r.Differences {
			line(struct {
				jsonHead
				diff.Difference
			}{jsonHead{jsonVersion, "difference"}, d})
		}
		for _, g := range r.Groups {
			line(struct {
				jsonHead
				*diff.Group
			}{jsonHead{jsonVersion, "group"}, g})
		}
		end := jsonSummary{
			jsonHead: jsonHead{jsonVersion, "summary"}, Summary: r.Summary, Calls: r.Calls, Same: r.Same, Alike: r.Alike,
			Counts: r.Counts, Left: r.Left, Ignored: r.Ignored, Noise: r.Noise, TooLarge: r.TooLarge,
		}
		if s.Fails {
			end.FailOn, end.Failed = s.FailOn.String(), r.AtLeast(s.FailOn) > 0
		}
		line(end)
	}
	for _, u := range s.Unpaired {
		side := map[bool]string{false: "a", true: "b"}[u.Second]
		line(struct {
			jsonHead
			Side string `json:"side"`
			Name string `json:"name"`
		}{jsonHead{jsonVersion, "unpaired"}, side, u.Name})
	}
	return err
}

// NewSides returns the document for a comparison.
func NewSides(r *diff.Report) *Sides {
	s := &Sides{
		V: jsonVersion, Summary: escape.String(r.Summary), A: escapeSide(r.A), B: escapeSide(r.B),
		Calls: r.Calls, Same: r.Same, Alike: r.Alike, Counts: r.Counts, NotListed: r.Left, Noise: r.Noise, Ignored: r.Ignored,
		MoreRows: r.MoreRows, Rows: []diff.CallRow{}, Session: []int{}, Differences: []PageDifference{},
	}
	for _, row := range r.Rows {
		row.A, row.B = escapeCall(row.A), escapeCall(row.B)
		s.Rows = append(s.Rows, row)
	}
	for i, d := range r.Differences {
		if d.Method == "" {
			s.Session = append(s.Session, i)
		}
		p := PageDifference{d, CallOf(&d), Location(&d), Means(&d), pageURL(d.Page)}
		p.Rows, p.Old, p.New = Rows(&d), "", ""
		escapeAll(&p.Method, &p.Subject, &p.Message, &p.What, &p.Reason)
		s.Differences = append(s.Differences, p)
	}
	return s
}

func escapeAll(texts ...*string) {
	for _, s := range texts {
		*s = escape.String(*s)
	}
}

func escapeSide(s diff.Side) diff.Side {
	s.Revision = jsonrpc.Revision(escape.String(string(s.Revision)))
	escapeAll(&s.Name, &s.Lacks, &s.Client.Name, &s.Client.Title, &s.Client.Version, &s.Server.Name, &s.Server.Title, &s.Server.Version)
	return s
}

func escapeCall(c *diff.CallSide) *diff.CallSide {
	if c == nil {
		return nil
	}
	escaped := *c
	escaped.Subject = short(c.Subject, subjectBytes)
	escapeAll(&escaped.Method, &escaped.Subject)
	return &escaped
}
