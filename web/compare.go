package web

import (
	"net/http"

	"github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/internal/term/escape"
)

// A Comparison is two recordings side by side, as `mcptap diff` compares them.
type Comparison struct {
	// Sessions pairs the sessions of both, in order.
	Sessions []*report.Sides `json:"sessions"`
	// Unpaired are the sessions that only one of them has.
	Unpaired []Unpaired `json:"unpaired"`
}

// Unpaired is a session without a counterpart.
type Unpaired struct {
	// Side is a or b, the recording that has it.
	Side string `json:"side"`
	Name string `json:"name"`
}

// A Side is a recording, by its key, and the number of its session, 0 for all.
type Side struct {
	Key     string
	Session int
}

// serveCompare compares two recordings. The query has their keys as a and b, and the
// numbers of their sessions as as and bs.
func (s *Server) serveCompare(w http.ResponseWriter, r *http.Request) {
	var sides [2]Side
	var recs [2]*recordingJSON
	q := r.URL.Query()
	for i, name := range []string{"a", "b"} {
		number, err := sessionNumber(q.Get(name + "s"))
		if err != nil {
			fail(w, http.StatusBadRequest, err)
			return
		}
		sides[i] = Side{q.Get(name), number}
		reader, err := s.source.Open(sides[i].Key)
		if err != nil {
			failSource(w, err)
			return
		}
		rec, err := reader.Recording()
		if err != nil {
			failSource(w, err)
			return
		}
		recs[i] = newRecordingJSON(&rec)
	}
	c, err := s.source.Compare(r.Context(), sides[0], sides[1])
	if err != nil {
		failSource(w, err)
		return
	}
	for i := range c.Unpaired {
		c.Unpaired[i].Name = escape.String(c.Unpaired[i].Name)
	}
	respond(w, struct {
		*Comparison
		A *recordingJSON `json:"a"`
		B *recordingJSON `json:"b"`
	}{c, recs[0], recs[1]})
}
