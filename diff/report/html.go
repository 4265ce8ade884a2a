package report

import (
	_ "embed" // of the page
	"html/template"
	"io"
	"slices"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/internal/term/escape"
)

//go:embed page.html
var pageText string

// HTML writes a self-contained page. It has no scripts and no images, and its content security
// policy allows none.
func HTML(w io.Writer, s *Set) error {
	page := template.New("page").Funcs(template.FuncMap{
		"escape": escape.String, "url": pageURL, "party": party, "revision": func(s diff.Side) string { return Revision(&s) }, "location": Location, "means": Means,
		"times": Times, "sections": sections, "rows": Rows, "has": func(side []jsontree.Piece) bool { return side != nil }, "wide": wide, "shown": shown,
		"failed": func(s *Set, r *diff.Report) bool { return s.Fails && r.AtLeast(s.FailOn) > 0 },
	})
	return template.Must(page.Parse(pageText)).Execute(w, s)
}

// A section holds the differences of one class.
type section struct {
	Class       diff.Class
	Title       string
	Count, Left uint64
	Calls       []CallPart
	Open        bool // expanded initially
}

func sections(r *diff.Report) (all []section) {
	for c := diff.Classes; c > 0; {
		if c--; r.Counts[c] > 0 {
			all = append(all, section{c, titles[c], r.Counts[c], r.Left[c], ByCall(r, c), c >= diff.Behaviour})
		}
	}
	return all
}

// wide reports whether all rows have a value on one side only, and that on the same.
func wide(rows []jsontree.Row) bool {
	return !slices.ContainsFunc(rows, func(r jsontree.Row) bool {
		return (r.Old == nil) == (r.New == nil) || (r.Old == nil) != (rows[0].Old == nil)
	})
}

// A shownLine holds the pieces of a line on one side. If Marked is set, the pieces that differ
// are highlighted. It is not set if all pieces differ.
type shownLine struct {
	Old, Marked bool
	Pieces      []jsontree.Piece
}

func shown(old bool, pieces []jsontree.Piece) shownLine {
	return shownLine{old, slices.ContainsFunc(pieces, func(p jsontree.Piece) bool { return !p.Differs }), pieces}
}
