package report

import (
	_ "embed" // of the page
	"html/template"
	"io"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/tap/printable"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"escape": printable.Escape, "url": pageURL, "party": party, "call": Call, "numbers": Numbers, "location": Location, "means": Means, "by": By,
	"times": Times, "sections": sections, "values": values, "pieces": Pieces,
	"failed": func(s *Set, r *diff.Report) bool { return s.Fails && r.AtLeast(s.FailOn) > 0 },
}).Parse(pageText))

// HTML writes a page that needs nothing else: no script, no picture, and its
// policy lets none in.
func HTML(w io.Writer, s *Set) error { return page.Execute(w, s) }

// A section is the differences of one class on the page.
type section struct {
	Class       diff.Class
	Title       string
	Count, Left uint64
	Differences []*diff.Difference
	// Open says that they are shown at once.
	Open bool
}

func sections(r *diff.Report) (all []section) {
	for c := diff.Classes; c > 0; {
		c--
		if r.Counts[c] == 0 {
			continue
		}
		s := section{Class: c, Title: titles[c], Count: r.Counts[c], Left: r.Left[c], Open: c >= diff.Behaviour}
		for i := range r.Differences {
			if d := &r.Differences[i]; d.Class == c {
				s.Differences = append(s.Differences, d)
			}
		}
		all = append(all, s)
	}
	return all
}
