package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

const (
	// maxSlowest limits the slowest and the unanswered calls that are listed.
	maxSlowest = 20
	maxGroups  = 500
)

type statsJSON struct {
	Groups     []groupJSON  `json:"groups"`
	MoreGroups int          `json:"more_groups,omitempty"`
	Total      groupJSON    `json:"total"`
	Nested     groupJSON    `json:"nested"`
	Slowest    []callJSON   `json:"slowest"`
	Unanswered []callJSON   `json:"unanswered"`
	Handshake  int64        `json:"handshake,omitempty"` // ns
	Useful     int64        `json:"useful,omitempty"`    // ns
	Histogram  []bucketJSON `json:"histogram"`
	Read       int64        `json:"read"` // ns from the start
	Live       bool         `json:"live,omitempty"`
	// Open is the number of calls that are not counted because their responses may follow the part of
	// the recording that a saved page has.
	Open int `json:"open,omitempty"`
}

// groupJSON summarizes the calls of one method, tool or prompt.
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
	Sum        int64  `json:"sum"` // ns, as are the following
	P50        int64  `json:"p50"`
	P95        int64  `json:"p95"`
	P99        int64  `json:"p99"`
	Max        int64  `json:"max"`
	Up         int64  `json:"up"` // bytes
	Down       int64  `json:"down"`
	// Spread is the number of calls in each bucket of the histogram.
	Spread []uint64 `json:"spread,omitempty"`
}

type callJSON struct {
	ID     rowID         `json:"n"`
	Lane   uint8         `json:"lane"`
	Method string        `json:"method"`
	About  string        `json:"about,omitempty"`
	State  session.State `json:"state"`
	At     int64         `json:"at"`
	Took   int64         `json:"took"`
}

// bucketJSON counts the calls that took less than Below, and at least the Below of the previous bucket.
type bucketJSON struct {
	Below int64  `json:"below"`
	Calls uint64 `json:"calls"`
}

// whole returns a handler that sends the result of sum for a recording, or for the session whose number
// is in the query.
func whole[T any](s *Server, sum func(context.Context, Reader, int) (T, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		reader, err := s.source.Open(r.PathValue("key"))
		if err != nil {
			return err
		}
		number, err := sessionNumber(r.URL.Query().Get("session"))
		if err != nil {
			return err
		}
		j, err := sum(r.Context(), reader, number)
		if err != nil {
			return err
		}
		return respond(w, j)
	}
}

// sessionNumber parses the number of a session; 0 means all.
func sessionNumber(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, refuse(http.StatusBadRequest, fmt.Errorf("invalid session number %q", text))
	}
	return n, nil
}

// noSession returns the error for a session that a recording with n sessions lacks.
func noSession(number, n int) error {
	return refuse(http.StatusNotFound, fmt.Errorf("no session %d: the recording has %d", number, n))
}

// measure summarizes a recording as it is now: the session with a number, or all for 0.
func measure(ctx context.Context, r Reader, number int) (*statsJSON, error) {
	stats := session.NewStats("", maxSlowest)
	m := session.NewMeter(stats, number)
	if err := recording.Each(ctx, r, m.Add); err != nil {
		return nil, err
	}
	if n := max(m.Sessions(), 1); number > n {
		return nil, noSession(number, n)
	}
	rec, err := r.Recording()
	if err != nil {
		return nil, err
	}
	live, end := rec.Status == store.Live, rec.Duration
	if live { // open calls are still waiting
		end = max(end, time.Since(rec.Header.Start))
	}
	stats.Live = live
	m.Finish(end)
	j := newStatsJSON(stats, end, r)
	return j, nil
}

func newStatsJSON(s *session.Stats, end time.Duration, r Reader) *statsJSON {
	view.AddArguments(r.Frame, s.Slowest())
	view.AddArguments(r.Frame, s.Waiting())
	total, nested := s.Total(false), s.Total(true)
	buckets := histogram(&total.Latency)
	j := &statsJSON{
		Total: newGroupJSON(&total, nil), Nested: newGroupJSON(&nested, nil), Read: int64(end), Histogram: buckets,
		Slowest: newCallsJSON(s.Slowest()), Unanswered: newCallsJSON(s.Waiting()),
		Handshake: int64(s.Handshake.Max()), Useful: int64(s.Useful.Max()), Live: s.Live,
	}
	groups := s.Groups()
	j.MoreGroups = max(len(groups)-maxGroups, 0)
	for _, g := range groups[:min(len(groups), maxGroups)] {
		j.Groups = append(j.Groups, newGroupJSON(g, buckets))
	}
	return j
}

func newGroupJSON(g *session.StatsGroup, buckets []bucketJSON) groupJSON {
	l, s := &g.Latency, &g.Statuses
	return groupJSON{
		Lane: uint8(g.Lane), Nested: g.Nested, Others: g.Others, Method: brief(g.Method), Name: brief(g.Name),
		Calls: s.Calls(), Errors: s.Errors(), Cancelled: s.Cancelled(), Unanswered: s.Unanswered(), Sum: int64(l.Sum()),
		P50: int64(l.Quantile(500)), P95: int64(l.Quantile(950)), P99: int64(l.Quantile(990)), Max: int64(l.Max()),
		Up: g.BytesToServer, Down: g.BytesToClient, Spread: spread(l, buckets),
	}
}

func newCallsJSON(calls []session.StatsCall) []callJSON {
	all := []callJSON{}
	for _, c := range calls[:min(len(calls), maxSlowest)] {
		all = append(all, callJSON{idOf(c.Ref), uint8(c.Lane), brief(c.Method), brief(view.JoinWords(" ", c.Subject, c.Arguments)), c.State, int64(c.At), int64(c.Took)})
	}
	return all
}

// histogram sorts latencies into buckets, two per power of ten, omitting empty ones at both ends.
func histogram(l *session.Latencies) []bucketJSON {
	all := []bucketJSON{}
	var before uint64
	for decade := time.Microsecond; before < l.Count() && decade <= 1000*time.Hour; decade *= 10 {
		for _, below := range []time.Duration{decade, 3 * decade} {
			n := l.Below(below)
			if n > before || len(all) > 0 && before < l.Count() {
				all = append(all, bucketJSON{int64(below), n - before})
			}
			before = n
		}
	}
	if n := l.Count() - before; n > 0 { // longer than all buckets
		all = append(all, bucketJSON{int64(l.Max()) + 1, n})
	}
	return all
}

// spread sorts latencies into given buckets. Longer ones, which nested calls may have, are counted in the
// last bucket.
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
