package web

import (
	"errors"
	"net/http"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap/filter"
)

type completionJSON struct {
	From int    `json:"from"` // in UTF-16 code units, as in JavaScript
	To   int    `json:"to"`
	Text string `json:"text"`
	Help string `json:"help,omitempty"`
}

// serveComplete checks a filter while it is typed, and completes it.
func (s *Server) serveComplete(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query().Get("q")
	if !utf8.ValidString(query) {
		fail(w, http.StatusBadRequest, errors.New("the filter is not UTF-8"))
		return
	}
	var res struct {
		Problem     *problem         `json:"problem,omitempty"`
		Completions []completionJSON `json:"completions"`
	}
	if _, err := parseFilter(query); err != nil {
		res.Problem = problemOf(err)
	}
	units, err := strconv.Atoi(r.URL.Query().Get("cursor"))
	if err != nil {
		units = utf16Len(query)
	}
	for _, c := range filter.Complete(query, byteOffset(query, units), s.seen.of(r.PathValue("key")).list()) {
		from, to := utf16Len(query[:c.From]), utf16Len(query[:c.To])
		res.Completions = append(res.Completions, completionJSON{from, to, c.Text, c.Help})
	}
	respond(w, res)
}

// parseFilter compiles a filter. The page does not know the findings of a recording.
func parseFilter(query string) (*filter.Filter, error) {
	f, err := filter.Parse(query)
	if err == nil && f.Needs().Has(filter.NeedFindings) {
		err = &filter.Error{Problem: "is:finding and rule: are for mcptap show only", Query: query, Len: len(query)}
	}
	return f, err
}

// utf16Len returns the length of a text in JavaScript.
func utf16Len(s string) (n int) {
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// byteOffset converts a position in JavaScript.
func byteOffset(s string, units int) int {
	for i, r := range s {
		if units <= 0 {
			return i
		}
		units -= max(utf16.RuneLen(r), 1)
	}
	return len(s)
}

type helpJSON struct {
	Title string         `json:"title"`
	Lines []helpLineJSON `json:"lines"`
}

type helpLineJSON struct {
	Form     string   `json:"form"`
	Means    string   `json:"means"`
	Examples []string `json:"examples"`
}

// serveHelp sends the help on the language of filters.
func (s *Server) serveHelp(w http.ResponseWriter, _ *http.Request) {
	var all []helpJSON
	for _, section := range filter.Help() {
		h := helpJSON{Title: section.Title}
		for _, l := range section.Lines {
			h.Lines = append(h.Lines, helpLineJSON(l))
		}
		all = append(all, h)
	}
	respond(w, all)
}
