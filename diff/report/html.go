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

// page is no variable, since mcptap starts faster without.
func page() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"escape": escape.Escape, "url": pageURL, "party": party, "revision": func(s diff.Side) string { return Revision(&s) }, "location": Location, "means": Means,
		"times": Times, "sections": sections, "rows": Rows, "has": func(side []jsontree.Piece) bool { return side != nil }, "wide": wide, "shown": shown,
		"failed": func(s *Set, r *diff.Report) bool { return s.Fails && r.AtLeast(s.FailOn) > 0 },
	}).Parse(pageText))
}

// HTML writes a page that needs nothing else: no script, no picture, and its
// policy lets none in.
func HTML(w io.Writer, s *Set) error { return page().Execute(w, s) }

// A section is the differences of one class on the page.
type section struct {
	Class       diff.Class
	Title       string
	Count, Left uint64
	Calls       []CallPart
	// Open reports that they are shown at once.
	Open bool
}

func sections(r *diff.Report) (all []section) {
	for c := diff.Classes; c > 0; {
		c--
		if r.Counts[c] == 0 {
			continue
		}
		s := section{Class: c, Title: titles[c], Count: r.Counts[c], Left: r.Left[c], Calls: ByCall(r, c), Open: c >= diff.Behaviour}
		all = append(all, s)
	}
	return all
}

// wide reports whether rows are one value that is on one side only.
func wide(rows []jsontree.Row) bool {
	return len(rows) == 1 && (rows[0].Old == nil) != (rows[0].New == nil)
}

// A shownLine is the pieces of one side's line. Marked reports that what differs in it
// stands out, which it need not where all does.
type shownLine struct {
	Old, Marked bool
	Pieces      []jsontree.Piece
}

func shown(old bool, pieces []jsontree.Piece) shownLine {
	alike := func(p jsontree.Piece) bool { return !p.Differs }
	return shownLine{old, slices.ContainsFunc(pieces, alike), pieces}
}
