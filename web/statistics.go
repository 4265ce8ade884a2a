package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/tap/session"
)

const (
	// maxSlowest is how many of the slowest calls are named, and of those
	// without an answer.
	maxSlowest = 20
	// maxGroups is how many groups a page gets.
	maxGroups = 500
)

type statsJSON struct {
	Groups    []groupJSON   `json:"groups"`
	MoreGroup int           `json:"more_groups,omitempty"`
	Total     groupJSON     `json:"total"`
	Nested    groupJSON     `json:"nested"`
	Slowest   []callJSON    `json:"slowest"`
	Waiting   []callJSON    `json:"waiting"`
	Handshake int64         `json:"handshake,omitempty"` // ns
	Useful    int64         `json:"useful,omitempty"`
	Histogram []bucketJSON  `json:"histogram"`
	Read      time.Duration `json:"read"`
	Live      bool          `json:"live,omitempty"`
}

// groupJSON sums up the calls of one method, tool or prompt.
type groupJSON struct {
	Lane       uint8  `json:"lane"`
	Nested     bool   `json:"nested,omitempty"`
	Others     bool   `json:"others,omitempty"`
	Method     string `json:"method,omitempty"`
	Name       string `json:"name,omitempty"`
	Calls      uint64 `json:"calls"`
	Errors     uint64 `json:"errors,omitempty"`
	Cancelled  uint64 `json:"cancelled,omitempty"`
	Unanswered uint64 `json:"unanswered,omitempty"`
	Sum        int64  `json:"sum"` // ns, as are those below
	P50        int64  `json:"p50"`
	P95        int64  `json:"p95"`
	P99        int64  `json:"p99"`
	Max        int64  `json:"max"`
	Up         int64  `json:"up"`
	Down       int64  `json:"down"`
	// Spread is how many took how long, in the buckets of the whole.
	Spread []uint64 `json:"spread,omitempty"`
}

type callJSON struct {
	ID     rowID  `json:"n"`
	Answer rowID  `json:"answer,omitempty"`
	Lane   uint8  `json:"lane"`
	Method string `json:"method"`
	About  string `json:"about,omitempty"`
	Status string `json:"status"`
	At     int64  `json:"at"`
	Took   int64  `json:"took"`
}

// bucketJSON is how many calls took less than Below, and not less than the
// bucket before.
type bucketJSON struct {
	Below int64  `json:"below"`
	Calls uint64 `json:"calls"`
}

// serveStats is the handler of the statistics. The query may have a session, by
// its number.
func (s *Server) serveStats(w http.ResponseWriter, r *http.Request) {
	reader, _, ok := s.open(w, r)
	if !ok {
		return
	}
	session := 0
	if text := r.URL.Query().Get("session"); text != "" {
		var err error
		if session, err = strconv.Atoi(text); err != nil || session < 0 {
			fail(w, http.StatusBadRequest, fmt.Errorf("%q is no session", text))
			return
		}
	}
	switch j, err := measure(r.Context(), reader, session); {
	case errors.Is(err, errNoSession):
		fail(w, http.StatusNotFound, err)
	case err != nil:
		failWith(w, err)
	default:
		answer(w, j)
	}
}

func newStatsJSON(s *session.Stats, end time.Duration) *statsJSON {
	total, nested := s.Total(false), s.Total(true)
	j := &statsJSON{
		Total: newGroupJSON(&total), Nested: newGroupJSON(&nested), Read: end,
		Slowest: callsJSON(s.Slowest()), Waiting: callsJSON(s.Waiting()),
		Handshake: int64(s.Handshake.Max()), Useful: int64(s.Useful.Max()),
	}
	j.Histogram = histogram(&total.Latency)
	for i, g := range s.Groups() {
		if i == maxGroups {
			j.MoreGroup = len(s.Groups()) - maxGroups
			break
		}
		one := newGroupJSON(g)
		one.Spread = spread(&g.Latency, j.Histogram)
		j.Groups = append(j.Groups, one)
	}
	return j
}

// spread sorts latencies into buckets that are given. What is longer than all of
// them, as a nested call may be, is in the last.
func spread(l *session.Latencies, buckets []bucketJSON) (all []uint64) {
	var before uint64
	for i, b := range buckets {
		n := l.Below(time.Duration(b.Below))
		if i == len(buckets)-1 {
			n = l.Count()
		}
		all = append(all, n-before)
		before = n
	}
	return all
}

func newGroupJSON(g *session.StatsGroup) groupJSON {
	l := &g.Latency
	return groupJSON{
		Lane: uint8(g.Lane), Nested: g.Nested, Others: g.Others, Method: brief(g.Method), Name: brief(g.Name),
		Calls: g.Statuses.Calls(), Errors: g.Statuses.Errors(), Cancelled: g.Statuses.Cancelled(), Unanswered: g.Statuses.Unanswered(),
		Sum: int64(l.Sum()), P50: int64(l.Quantile(500)), P95: int64(l.Quantile(950)), P99: int64(l.Quantile(990)), Max: int64(l.Max()),
		Up: g.BytesToServer, Down: g.BytesToClient,
	}
}

func callsJSON(calls []session.StatsCall) []callJSON {
	all := []callJSON{}
	for _, c := range calls[:min(len(calls), maxSlowest)] {
		all = append(all, callJSON{
			ID: idOf(c.Ref), Answer: idOf(c.Answer), Lane: uint8(c.Lane), Method: brief(c.Method), About: brief(c.Subject),
			Status: c.Status.String(), At: int64(c.At), Took: int64(c.Took),
		})
	}
	return all
}

// histogram sorts latencies into buckets, two for each factor of ten, those that
// are empty at both ends left out.
func histogram(l *session.Latencies) []bucketJSON {
	all := []bucketJSON{}
	if l.Count() == 0 {
		return all
	}
	var before uint64
	for decade := time.Microsecond; before < l.Count(); decade *= 10 {
		for _, step := range []time.Duration{1, 3} {
			below := decade * step
			n := l.Below(below)
			if n > before || len(all) > 0 {
				all = append(all, bucketJSON{int64(below), n - before})
			}
			if before = n; n == l.Count() {
				return all
			}
		}
		if decade > 1000*time.Hour { // what is longer is one bucket
			return append(all, bucketJSON{int64(l.Max()) + 1, l.Count() - before})
		}
	}
	return all
}
