package stats

import (
	"io"
	"math"

	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
)

// jsonGroup is a line of `stats --json` for a group of calls. The names are stable. Latencies cover the
// calls with a response.
type jsonGroup struct {
	V      int     `json:"v"`
	Type   string  `json:"type"` // "group"
	Lane   string  `json:"lane"` // of the requests
	Nested bool    `json:"nested,omitempty"`
	Others bool    `json:"others,omitempty"` // calls beyond the maximum number of groups
	Method string  `json:"method,omitempty"`
	Name   string  `json:"name,omitempty"`
	Calls  uint64  `json:"calls"`
	Waited int64   `json:"waited_ns,omitempty"`
	ToSrv  int64   `json:"bytes_to_server"`
	ToClnt int64   `json:"bytes_to_client"`
	Share  float64 `json:"share"` // share of the time of all calls that are not nested
	jsonOutcomes
	jsonLatency
}

// jsonOutcomes counts how calls ended.
type jsonOutcomes struct {
	Done       uint64 `json:"done"`
	Errors     uint64 `json:"errors"`      // JSON-RPC errors
	ToolErrors uint64 `json:"tool_errors"` // isError
	Cancelled  uint64 `json:"cancelled"`
	Unanswered uint64 `json:"unanswered"`
	Listening  uint64 `json:"listening,omitempty"`
}

func newJSONOutcomes(s *session.StatusCounts) jsonOutcomes {
	return jsonOutcomes{
		Done: s[session.CallDone], Errors: s[session.CallError], ToolErrors: s[session.CallToolError],
		Cancelled: s.Cancelled(), Unanswered: s.Unanswered(), Listening: s[session.CallListening],
	}
}

// jsonLatency describes how long calls took.
type jsonLatency struct {
	Answered uint64 `json:"responses"`
	Total    int64  `json:"total_ns"`
	Min      int64  `json:"min_ns"`
	P50      int64  `json:"p50_ns"`
	P95      int64  `json:"p95_ns"`
	P99      int64  `json:"p99_ns"`
	Max      int64  `json:"max_ns"`
}

func newJSONLatency(l *session.Latencies) jsonLatency {
	return jsonLatency{
		Answered: l.Count(), Total: int64(l.Sum()), Min: int64(l.Min()), P50: int64(l.Quantile(500)),
		P95: int64(l.Quantile(950)), P99: int64(l.Quantile(990)), Max: int64(l.Max()),
	}
}

// jsonCall is a line for one call: of type "slow_call" or "unanswered".
type jsonCall struct {
	V         int    `json:"v"`
	Type      string `json:"type"`
	Recording string `json:"recording"`
	Seq       uint64 `json:"seq"` // frame of its request
	Index     int    `json:"index,omitempty"`
	Answer    uint64 `json:"response_seq,omitempty"`
	Parent    uint64 `json:"parent_seq,omitempty"`
	Lane      string `json:"lane"`
	Method    string `json:"method"`
	About     string `json:"about,omitempty"`
	Status    string `json:"status"`
	State     string `json:"state"`
	At        int64  `json:"at_ns"`
	Latency   *int64 `json:"latency_ns,omitempty"` // for a slow call
	Waited    *int64 `json:"waited_ns,omitempty"`  // for one without a response
}

func newJSONCall(kind string, c *session.StatsCall) jsonCall {
	return jsonCall{
		V: text.Version, Type: kind, Recording: c.Recording, Seq: c.Ref.Seq, Index: c.Ref.Index, Answer: c.Answer.Seq,
		Parent: c.Parent.Seq, Lane: c.Lane.String(), Method: c.Method, About: c.Subject, Status: c.Status.String(), State: string(c.State), At: int64(c.At),
	}
}

// jsonSummary is the last line.
type jsonSummary struct {
	V          int    `json:"v"`
	Type       string `json:"type"` // "summary"
	Recordings int    `json:"recordings"`
	Live       int    `json:"live,omitempty"`
	LeftOut    int    `json:"left_out,omitempty"` // damaged files in directories
	Duration   int64  `json:"duration_ns"`
	Calls      uint64 `json:"calls"`
	jsonOutcomes
	jsonLatency
	NestedCalls uint64     `json:"nested_calls"` // calls within other calls, not included in the latencies
	NestedTime  int64      `json:"nested_total_ns"`
	Handshake   *jsonStart `json:"handshake,omitempty"`
	Useful      *jsonStart `json:"first_useful,omitempty"`
	Histogram   []jsonBin  `json:"histogram"` // for all calls
}

// jsonStart describes times since the start of the recordings.
type jsonStart struct {
	Recordings uint64 `json:"recordings"`
	Min        int64  `json:"min_ns"`
	P50        int64  `json:"p50_ns"`
	Max        int64  `json:"max_ns"`
}

func newJSONStart(l *session.Latencies) *jsonStart {
	if l.Count() == 0 {
		return nil
	}
	return &jsonStart{l.Count(), int64(l.Min()), int64(l.Quantile(500)), int64(l.Max())}
}

// jsonBin counts the calls with a latency of at least From and below To. The last bin includes all
// longer ones.
type jsonBin struct {
	From  int64  `json:"from_ns"`
	To    int64  `json:"to_ns"`
	Calls uint64 `json:"calls"`
}

// WriteJSON prints the statistics as JSON.
func (m *Report) WriteJSON(w io.Writer) error {
	for _, g := range m.groups {
		j := jsonGroup{
			V: text.Version, Type: "group", Lane: g.Lane.String(), Nested: g.Nested, Others: g.Others, Method: g.Method, Name: g.Name,
			Calls: g.Statuses.Calls(), Waited: int64(g.Waited), ToSrv: g.BytesToServer, ToClnt: g.BytesToClient,
			jsonOutcomes: newJSONOutcomes(&g.Statuses), jsonLatency: newJSONLatency(&g.Latency),
		}
		if whole := m.Top.Latency.Sum(); whole > 0 {
			j.Share = math.Round(float64(g.Latency.Sum())/float64(whole)*1e6) / 1e6
		}
		if err := term.WriteJSON(w, j); err != nil {
			return err
		}
	}
	for _, c := range m.Slowest() {
		j, took := newJSONCall("slow_call", &c), int64(c.Took)
		j.Latency = &took
		if err := term.WriteJSON(w, j); err != nil {
			return err
		}
	}
	for _, c := range m.Waiting() {
		j, took := newJSONCall("unanswered", &c), int64(c.Took)
		j.Waited = &took
		if err := term.WriteJSON(w, j); err != nil {
			return err
		}
	}
	return term.WriteJSON(w, newJSONSummary(m))
}

func newJSONSummary(m *Report) jsonSummary {
	all := m.statuses()
	j := jsonSummary{
		V: text.Version, Type: "summary", Recordings: m.recordings, Live: m.live, LeftOut: m.LeftOut, Duration: int64(m.duration),
		Calls: all.Calls(), jsonOutcomes: newJSONOutcomes(&all), jsonLatency: newJSONLatency(&m.Top.Latency),
		NestedCalls: m.nested.Statuses.Calls(), NestedTime: int64(m.nested.Latency.Sum()),
		Handshake: newJSONStart(&m.Handshake), Useful: newJSONStart(&m.Useful), Histogram: []jsonBin{},
	}
	h := newHistogram(m.all())
	for i, n := range h.counts {
		j.Histogram = append(j.Histogram, jsonBin{int64(h.limits[i]), int64(h.limits[i+1]), n})
	}
	return j
}
