package main

import (
	"io"
	"math"

	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
)

// jsonStatsGroup is a line of `stats --json` for a group of calls. The names are stable.
// Latencies are those of the answered calls.
type jsonStatsGroup struct {
	V      int     `json:"v"`
	Type   string  `json:"type"` // "group"
	Lane   string  `json:"lane"` // of the requests
	Nested bool    `json:"nested,omitempty"`
	Others bool    `json:"others,omitempty"` // there was no group left for these
	Method string  `json:"method,omitempty"`
	Name   string  `json:"name,omitempty"`
	Calls  uint64  `json:"calls"`
	Waited int64   `json:"waited_ns,omitempty"`
	ToSrv  int64   `json:"bytes_to_server"`
	ToClnt int64   `json:"bytes_to_client"`
	Share  float64 `json:"share"` // of the time of all calls that are not nested
	jsonStatsOutcomes
	jsonStatsLatency
}

// jsonStatsOutcomes counts how calls ended.
type jsonStatsOutcomes struct {
	Done       uint64 `json:"done"`
	Errors     uint64 `json:"errors"`      // JSON-RPC errors
	ToolErrors uint64 `json:"tool_errors"` // isError
	Cancelled  uint64 `json:"cancelled"`
	Unanswered uint64 `json:"unanswered"`
	Listening  uint64 `json:"listening,omitempty"`
}

func newJSONStatsOutcomes(s *session.StatusCounts) jsonStatsOutcomes {
	return jsonStatsOutcomes{
		Done: s[session.CallDone], Errors: s[session.CallError], ToolErrors: s[session.CallToolError],
		Cancelled: s.Cancelled(), Unanswered: s.Unanswered(), Listening: s[session.CallListening],
	}
}

// jsonStatsLatency describes how long calls took.
type jsonStatsLatency struct {
	Answered uint64 `json:"responses"`
	Total    int64  `json:"total_ns"`
	Min      int64  `json:"min_ns"`
	P50      int64  `json:"p50_ns"`
	P95      int64  `json:"p95_ns"`
	P99      int64  `json:"p99_ns"`
	Max      int64  `json:"max_ns"`
}

func newJSONStatsLatency(l *session.Latencies) jsonStatsLatency {
	return jsonStatsLatency{
		Answered: l.Count(), Total: int64(l.Sum()), Min: int64(l.Min()), P50: int64(l.Quantile(500)),
		P95: int64(l.Quantile(950)), P99: int64(l.Quantile(990)), Max: int64(l.Max()),
	}
}

// jsonStatsCall is a line for one call: of type "slow_call" or "unanswered".
type jsonStatsCall struct {
	V         int    `json:"v"`
	Type      string `json:"type"`
	Recording string `json:"recording"`
	Seq       uint64 `json:"seq"` // of its request
	Index     int    `json:"index,omitempty"`
	Answer    uint64 `json:"response_seq,omitempty"`
	Parent    uint64 `json:"parent_seq,omitempty"`
	Lane      string `json:"lane"`
	Method    string `json:"method"`
	About     string `json:"about,omitempty"`
	Status    string `json:"status"`
	At        int64  `json:"at_ns"`
	Latency   *int64 `json:"latency_ns,omitempty"` // of a slow call
	Waited    *int64 `json:"waited_ns,omitempty"`  // of one without an answer
}

func newJSONStatsCall(kind string, c *session.StatsCall) jsonStatsCall {
	return jsonStatsCall{
		V: text.Version, Type: kind, Recording: c.Recording, Seq: c.Ref.Seq, Index: c.Ref.Index, Answer: c.Answer.Seq,
		Parent: c.Parent.Seq, Lane: c.Lane.String(), Method: c.Method, About: c.Subject, Status: c.Status.String(), At: int64(c.At),
	}
}

// jsonStats is the last line.
type jsonStats struct {
	V          int    `json:"v"`
	Type       string `json:"type"` // "summary"
	Recordings int    `json:"recordings"`
	Live       int    `json:"live,omitempty"`
	LeftOut    int    `json:"left_out,omitempty"` // damaged files of a directory
	Duration   int64  `json:"duration_ns"`
	Calls      uint64 `json:"calls"`
	jsonStatsOutcomes
	jsonStatsLatency
	NestedCalls uint64          `json:"nested_calls"` // of the calls, those within others, which the latencies leave out
	NestedTime  int64           `json:"nested_total_ns"`
	Handshake   *jsonStatsStart `json:"handshake,omitempty"`
	Useful      *jsonStatsStart `json:"first_useful,omitempty"`
	Histogram   []jsonStatsBin  `json:"histogram"` // of all calls
}

// jsonStatsStart describes times after the start of the recordings.
type jsonStatsStart struct {
	Recordings uint64 `json:"recordings"`
	Min        int64  `json:"min_ns"`
	P50        int64  `json:"p50_ns"`
	Max        int64  `json:"max_ns"`
}

func newJSONStatsStart(l *session.Latencies) *jsonStatsStart {
	if l.Count() == 0 {
		return nil
	}
	return &jsonStatsStart{l.Count(), int64(l.Min()), int64(l.Quantile(500)), int64(l.Max())}
}

// jsonStatsBin counts the calls with a latency from one duration to below another. The
// last bin includes all longer ones.
type jsonStatsBin struct {
	From  int64  `json:"from_ns"`
	To    int64  `json:"to_ns"`
	Calls uint64 `json:"calls"`
}

func writeStatsJSON(w io.Writer, m *measured) error {
	for _, g := range m.groups {
		j := jsonStatsGroup{
			V: text.Version, Type: "group", Lane: g.Lane.String(), Nested: g.Nested, Others: g.Others, Method: g.Method, Name: g.Name,
			Calls: g.Statuses.Calls(), Waited: int64(g.Waited), ToSrv: g.BytesToServer, ToClnt: g.BytesToClient,
			jsonStatsOutcomes: newJSONStatsOutcomes(&g.Statuses), jsonStatsLatency: newJSONStatsLatency(&g.Latency),
		}
		if whole := m.top.Latency.Sum(); whole > 0 {
			j.Share = math.Round(float64(g.Latency.Sum())/float64(whole)*1e6) / 1e6
		}
		if err := term.WriteJSON(w, j); err != nil {
			return err
		}
	}
	for _, c := range m.Slowest() {
		j, took := newJSONStatsCall("slow_call", &c), int64(c.Took)
		j.Latency = &took
		if err := term.WriteJSON(w, j); err != nil {
			return err
		}
	}
	for _, c := range m.Waiting() {
		j, took := newJSONStatsCall("unanswered", &c), int64(c.Took)
		j.Waited = &took
		if err := term.WriteJSON(w, j); err != nil {
			return err
		}
	}
	return term.WriteJSON(w, newJSONStats(m))
}

func newJSONStats(m *measured) jsonStats {
	all := m.statuses()
	j := jsonStats{
		V: text.Version, Type: "summary", Recordings: m.recordings, Live: m.live, LeftOut: m.leftOut, Duration: int64(m.duration),
		Calls: all.Calls(), jsonStatsOutcomes: newJSONStatsOutcomes(&all), jsonStatsLatency: newJSONStatsLatency(&m.top.Latency),
		NestedCalls: m.nested.Statuses.Calls(), NestedTime: int64(m.nested.Latency.Sum()),
		Handshake: newJSONStatsStart(&m.Handshake), Useful: newJSONStatsStart(&m.Useful), Histogram: []jsonStatsBin{},
	}
	h := newHistogram(m.all())
	for i, n := range h.counts {
		j.Histogram = append(j.Histogram, jsonStatsBin{int64(h.limits[i]), int64(h.limits[i+1]), n})
	}
	return j
}
