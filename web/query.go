package web

import (
	"net/http"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap/filter"
)

type completionJSON struct {
	From int    `json:"from"` // in UTF-16 units, as a browser counts
	To   int    `json:"to"`
	Text string `json:"text"`
	Help string `json:"help,omitempty"`
}

// serveComplete is the handler of what is said of a filter while it is typed:
// whether it is right, and how it can go on.
func (s *Server) serveComplete(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query().Get("q")
	if !utf8.ValidString(query) {
		fail(w, http.StatusBadRequest, errNotUTF8)
		return
	}
	var res struct {
		Problem     *problem         `json:"problem,omitempty"`
		Completions []completionJSON `json:"completions"`
	}
	if _, err := filter.Parse(query); err != nil {
		res.Problem = problemOf(err)
	}
	units, err := strconv.Atoi(r.URL.Query().Get("cursor"))
	if err != nil {
		units = utf16Len(query)
	}
	for _, c := range filter.Complete(query, byteOffset(query, units), s.seen.of(r.PathValue("key")).list()) {
		res.Completions = append(res.Completions, completionJSON{
			From: utf16Len(query[:c.From]), To: utf16Len(query[:c.To]), Text: c.Text, Help: c.Help,
		})
	}
	answer(w, res)
}

// utf16Len is the length of a text as JavaScript counts it.
func utf16Len(s string) (n int) {
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// byteOffset is where a position that JavaScript counted is in s.
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

// serveHelp is the handler of the help on the language of filters.
func (s *Server) serveHelp(w http.ResponseWriter, _ *http.Request) {
	var all []helpJSON
	for _, section := range filter.Help() {
		h := helpJSON{Title: section.Title}
		for _, l := range section.Lines {
			h.Lines = append(h.Lines, helpLineJSON{l.Form, l.Means, l.Examples})
		}
		all = append(all, h)
	}
	answer(w, all)
}
