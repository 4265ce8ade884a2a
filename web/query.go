package web

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap/filter"
)

type completionJSON struct {
	From int    `json:"from"` // in UTF-16 code units, as in JavaScript
	To   int    `json:"to"`
	Text string `json:"text"`
	Help string `json:"help,omitempty"`
}

// serveComplete checks a filter while it is typed, and completes it.
func (s *Server) serveComplete(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query().Get("q")
	if !utf8.ValidString(query) {
		return refuse(http.StatusBadRequest, errors.New("the filter is not UTF-8"))
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
		if c.Help != "" && refusedWord(c.Text) {
			continue
		}
		from, to := utf16Len(query[:c.From]), utf16Len(query[:c.To])
		res.Completions = append(res.Completions, completionJSON{from, to, c.Text, c.Help})
	}
	return respond(w, res)
}

// parseFilter compiles a filter. It refuses terms about findings, which the viewer does not know.
func parseFilter(query string) (*filter.Filter, error) {
	f, err := filter.Parse(query)
	if err == nil && f.Needs().Has(filter.NeedFindings) {
		err = &filter.Error{Problem: "is:finding and rule: are for mcptap show only", Query: query, Len: len(query)}
	}
	return f, err
}

// refusedWord reports whether parseFilter refuses every filter with this key or word.
func refusedWord(text string) bool { return text == "rule:" || text == "finding" }

// utf16Len returns the length of a text in UTF-16 code units.
func utf16Len(s string) (n int) {
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// byteOffset converts a position in UTF-16 code units.
func byteOffset(s string, units int) int {
	for i, r := range s {
		if units <= 0 {
			return i
		}
		units -= max(utf16.RuneLen(r), 1)
	}
	return len(s)
}

// serveHelp sends the help on the filter language.
func (s *Server) serveHelp(w http.ResponseWriter, _ *http.Request) error {
	sections := filter.Help()
	for i := range sections {
		refused := func(l filter.HelpLine) bool { return refusedWord(l.Form) }
		sections[i].Lines = slices.DeleteFunc(slices.Clone(sections[i].Lines), refused)
	}
	return respond(w, sections)
}

const (
	// maxSeen limits the values of a key that are offered for completion.
	maxSeen = 500
	// maxSeenOf limits the recordings whose values are remembered.
	maxSeenOf = 32
)

// A seen collects the values in a recording, for completion of filters. It is safe for concurrent use.
type seen struct {
	mu     sync.Mutex
	values [6]map[string]struct{}
}

// note adds the values of an item.
func (s *seen) note(it *filter.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, v := range []string{it.Method, it.Tool, it.Prompt, it.URI, it.Session, it.Revision} {
		if _, known := s.values[i][v]; known || v == "" || len(s.values[i]) >= maxSeen {
			continue
		}
		if s.values[i] == nil {
			s.values[i] = map[string]struct{}{}
		}
		s.values[i][strings.Clone(v)] = struct{}{}
	}
}

// list returns the values so far.
func (s *seen) list() filter.Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all [6][]string
	for i, values := range s.values {
		all[i] = slices.Sorted(maps.Keys(values))
	}
	return filter.Seen{Methods: all[0], Tools: all[1], Prompts: all[2], URIs: all[3], Sessions: all[4], Revisions: all[5]}
}

// A seenOf holds the values of several recordings, by key.
type seenOf struct {
	mu    sync.Mutex
	byKey bounded.Map[string, *seen]
}

// of returns the values of a recording.
func (s *seenOf) of(key string) *seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.byKey.Get(key)
	if !ok {
		v = &seen{}
		s.byKey.Max = maxSeenOf
		s.byKey.Put(key, v)
	}
	return v
}
