package web

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/internal/term/escape"
)

// A Comparison is two recordings side by side, as `mcptap diff` compares them.
type Comparison struct {
	// Sessions are the sessions that both have, the first with the first.
	Sessions []*report.Sides `json:"sessions"`
	// Unpaired names the sessions that only one of them has.
	Unpaired []Unpaired `json:"unpaired"`
}

// Unpaired is a session that has no counterpart.
type Unpaired struct {
	// Side is a or b, the one that has it.
	Side string `json:"side"`
	Name string `json:"name"`
}

// A Side names what is compared: a recording by its key, and the number of its
// session, 0 for all there are.
type Side struct {
	Key     string
	Session int
}

// serveCompare is the handler of two recordings side by side. The query has
// their keys as a and b, and the numbers of their sessions as as and bs.
func (s *Server) serveCompare(w http.ResponseWriter, r *http.Request) {
	var names [2]Side
	var sides [2]*recordingJSON
	q := r.URL.Query()
	for i, name := range []string{"a", "b"} {
		names[i].Key = q.Get(name)
		if n := q.Get(name + "s"); n != "" {
			var err error
			if names[i].Session, err = strconv.Atoi(n); err != nil || names[i].Session < 0 {
				fail(w, http.StatusBadRequest, fmt.Errorf("%q is no session", n))
				return
			}
		}
		reader, err := s.source.Open(names[i].Key)
		if err != nil {
			failWith(w, err)
			return
		}
		rec, err := reader.Recording()
		if err != nil {
			failWith(w, err)
			return
		}
		sides[i] = newRecordingJSON(&rec)
	}
	c, err := s.source.Compare(r.Context(), names[0], names[1])
	if err != nil {
		failWith(w, err)
		return
	}
	for i := range c.Unpaired {
		c.Unpaired[i].Name = escape.Escape(c.Unpaired[i].Name)
	}
	answer(w, struct {
		*Comparison
		A *recordingJSON `json:"a"`
		B *recordingJSON `json:"b"`
	}{c, sides[0], sides[1]})
}
