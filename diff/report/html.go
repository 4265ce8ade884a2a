package report

import (
	_ "embed" // of the page
	"html/template"
	"io"
	"slices"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/term/escape"
)

//go:embed page.html
var pageText string

// page is no variable, since mcptap starts faster without.
func page() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"escape": escape.Escape, "url": pageURL, "party": party, "revision": func(s diff.Side) string { return Revision(&s) }, "location": Location, "means": Means, "by": By,
		"times": Times, "sections": sections, "lines": lines, "wide": wide, "shown": shown,
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

// HasOld reports whether the first side has the line, be it empty.
func (l *SidesLine) HasOld() bool { return l.Old != nil }

// HasNew reports whether the second side has the line, be it empty.
func (l *SidesLine) HasNew() bool { return l.New != nil }

// wide reports whether lines are one value that is on one side only.
func wide(lines []SidesLine) bool {
	return len(lines) == 1 && lines[0].HasOld() != lines[0].HasNew()
}

// A shownLine is the pieces of one side's line. Marked reports that what differs in it
// stands out, which it need not where all does.
type shownLine struct {
	Old, Marked bool
	Pieces      []SidesPiece
}

func shown(old bool, pieces []SidesPiece) shownLine {
	alike := func(p SidesPiece) bool { return !p.Differs }
	return shownLine{old, slices.ContainsFunc(pieces, alike), pieces}
}
