package session

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

const (
	// MaxStatsGroups is how many groups a [Stats] has, apart from those for all calls
	// beyond that: a recording may name a new tool in each call.
	MaxStatsGroups = 2048
	// MaxStatsWaiting is how many of the calls without an answer are kept.
	MaxStatsWaiting = 1000
)

// Stats summarizes the calls of one recording, or of several that were merged.
// Its memory is bounded, except for 8 bytes per call. Make one with [NewStats].
type Stats struct {
	// Handshake and Useful have one duration for each recording: from its
	// start to the response that ended the handshake (initialize, or in
	// 2026-07-28 server/discover), and to the first result of the server for
	// another method except ping. A recording without such a response has
	// none.
	Handshake, Useful Latencies
	// Live reports that the recording has not ended, so that calls without a response are
	// pending. It must be set before [Stats.Finish].
	Live bool

	recording         string
	groups            map[StatsKey]*StatsGroup
	slowest, waiting  topCalls
	handshake, useful moment
}

// A moment is the earliest of some times, if there are any.
type moment struct {
	at    time.Duration
	known bool
}

func (m *moment) note(at time.Duration) {
	if !m.known || at < m.at {
		*m = moment{at, true}
	}
}

// NewStats makes the Stats of one recording, which keeps at most the given number of
// its slowest calls.
func NewStats(recording string, slowest int) *Stats {
	return &Stats{
		recording: recording, groups: map[StatsKey]*StatsGroup{},
		slowest: topCalls{most: max(slowest, 0)}, waiting: topCalls{most: MaxStatsWaiting},
	}
}

// Add counts a call that a [Pairing] has handed over.
func (s *Stats) Add(c *Call) {
	var end time.Duration
	if len(c.Parts) > 0 { // let go: its outcome is not known
		end = c.Parts[len(c.Parts)-1].At
	}
	s.count(c, end)
}

// Finish counts the calls that are still open at the end of the recording, or,
// while it is live, now. After that no calls may be added, but Stats may be merged.
func (s *Stats) Finish(open []*Call, end time.Duration) {
	for _, c := range open {
		s.count(c, end)
	}
	if s.handshake.known {
		s.Handshake.Add(s.handshake.at)
	}
	if s.useful.known {
		s.Useful.Add(s.useful.at)
	}
	s.handshake, s.useful = moment{}, moment{}
}

// CutOff counts a call that was added as a failure: see [Entry.CutOff].
func (s *Stats) CutOff(c *Call) {
	if c.Status == CallDone {
		g := s.group(keyOf(c))
		g.Statuses[CallDone]--
		g.Statuses[CallError]++
	}
	for i := range s.slowest.calls {
		if call := &s.slowest.calls[i]; call.Ref == c.Ref {
			call.State = c.State(!s.Live)
		}
	}
}

func keyOf(c *Call) StatsKey {
	k := StatsKey{Lane: c.Lane, Nested: c.Parent != (Ref{}), Method: jsonrpc.Bound(c.Method)}
	if isNamed(c.Method) {
		k.Name = c.Subject
	}
	return k
}

// count counts a call, whose state after end is not known.
func (s *Stats) count(c *Call, end time.Duration) {
	status, took, answered := outcome(c, max(c.Until(end)-c.At, 0))
	k := keyOf(c)
	g := s.group(k)
	g.Statuses[status]++
	g.BytesToServer += c.BytesToServer
	g.BytesToClient += c.BytesToClient
	call := StatsCall{
		Recording: s.recording, Ref: c.Ref, Answer: c.Answer, Parent: c.Parent, Lane: c.Lane,
		Method: k.Method, Subject: c.Subject, Status: status, State: c.State(!s.Live), At: c.At, Took: took,
	}
	if c.Notes&NoteStreamEnded != 0 {
		call.StreamEnd = c.StreamEnd
	}
	s.slowest.add(call)
	switch {
	case answered:
		g.Latency.Add(took)
	case status == CallCancelled:
		g.Waited = addTime(g.Waited, took)
	default:
		g.Waited = addTime(g.Waited, took)
		s.waiting.add(call)
	}
	if status == CallDone && c.Lane == tap.ToServer {
		s.succeeded(c.Method, c.End)
	}
}

// outcome reports how a call counts, how long that took, and whether there was an
// answer.
func outcome(c *Call, took time.Duration) (CallStatus, time.Duration, bool) {
	if c.Status == CallDone && c.Notes&NoteCutOff != 0 {
		return CallError, took, true
	}
	if c.Method == "subscriptions/listen" {
		for i := range c.Parts {
			if p := &c.Parts[i]; p.Method == "notifications/subscriptions/acknowledged" {
				status := c.Status
				if c.Status == CallCancelled || c.Status == CallCancelledLate {
					status = CallDone // a client ends it by cancelling it
				}
				return status, max(p.At-c.At, 0), true
			}
		}
	}
	return c.Status, took, c.Status.Settled() && c.Status != CallCancelled
}

// succeeded notes when a request of the client had its result.
func (s *Stats) succeeded(method string, at time.Duration) {
	switch method {
	case "initialize", "server/discover":
		s.handshake.note(at)
	case "ping", "subscriptions/listen":
	default:
		s.useful.note(at)
	}
}

// group returns the group of a key, or that of all others if there are too many.
func (s *Stats) group(k StatsKey) *StatsGroup {
	g := s.groups[k]
	if g == nil && len(s.groups) >= MaxStatsGroups {
		k = StatsKey{Lane: k.Lane, Nested: k.Nested, Others: true}
		g = s.groups[k]
	}
	if g == nil {
		g = &StatsGroup{StatsKey: k}
		s.groups[k] = g
	}
	return g
}

// Merge adds the counts of o, which must be finished.
func (s *Stats) Merge(o *Stats) {
	for _, g := range o.Groups() {
		s.group(g.StatsKey).merge(g)
	}
	s.Handshake.Merge(&o.Handshake)
	s.Useful.Merge(&o.Useful)
	for _, c := range o.Slowest() {
		s.slowest.add(c)
	}
	for _, c := range o.Waiting() {
		s.waiting.add(c)
	}
}

// Groups returns the groups, ordered by the total time of their calls, answered or not,
// the longest first.
func (s *Stats) Groups() []*StatsGroup {
	return slices.SortedFunc(maps.Values(s.groups), func(a, b *StatsGroup) int {
		return cmp.Or(cmp.Compare(b.time(), a.time()), a.StatsKey.compare(&b.StatsKey))
	})
}

// Total sums up the nested calls, or all that are not nested. Only Nested is set in its
// key. The time of a call includes the calls within it, so only the times of calls that
// are not nested may be added up.
func (s *Stats) Total(nested bool) StatsGroup {
	total := StatsGroup{StatsKey: StatsKey{Nested: nested}}
	for _, g := range s.Groups() {
		if g.Nested == nested {
			total.merge(g)
		}
	}
	return total
}

// Slowest returns the calls that took longest until they were answered or cancelled or
// the recording ended, nested ones included, the slowest first.
func (s *Stats) Slowest() []StatsCall { return s.slowest.calls }

// Waiting returns the calls that have no answer and were not cancelled, those
// that have waited longest first, at most [MaxStatsWaiting].
func (s *Stats) Waiting() []StatsCall { return s.waiting.calls }

// A Meter makes the [Stats] of a recording out of its frames. Make one with
// [NewMeter].
type Meter struct {
	stats   *Stats
	session int
	tracker Tracker
}

// NewMeter makes a Meter that adds to s the calls of one session, or of all for 0.
func NewMeter(s *Stats, session int) *Meter { return &Meter{stats: s, session: session} }

// Add adds the next frame.
func (m *Meter) Add(f *tap.Frame) {
	e := m.tracker.Add(f)
	for _, c := range m.selected(e.Ended) {
		m.stats.Add(c)
	}
	for _, c := range m.selected(e.CutOff) {
		m.stats.CutOff(c)
	}
}

// Finish counts the calls that are still open at the end of the recording, or, while it is live, now.
func (m *Meter) Finish(end time.Duration) { m.stats.Finish(m.selected(m.tracker.Open()), end) }

// Sessions returns how many sessions there were.
func (m *Meter) Sessions() int { return m.tracker.Sessions.Count() }

// selected returns the calls of the session.
func (m *Meter) selected(calls []*Call) []*Call {
	if m.session == 0 {
		return calls
	}
	return slices.DeleteFunc(calls, func(c *Call) bool { return c.Session != m.session })
}

// A StatsKey identifies the calls that are summed up together.
type StatsKey struct {
	// Lane is the lane of the request: [tap.ToServer] for calls of the client.
	Lane tap.Lane
	// Nested reports that they were made within other calls.
	Nested bool
	// Others marks the calls of any method and name for which there was no group left.
	Others bool
	// Method is the method, Name the tool or prompt, "" for other methods.
	// Both are from the wire, at most [jsonrpc.MaxSubject] bytes of each.
	Method, Name string
}

// StatusCounts is a number of calls for each [CallStatus].
type StatusCounts [callStatuses]uint64

// Calls returns the number of all calls.
func (s *StatusCounts) Calls() (n uint64) {
	for _, v := range s {
		n += v
	}
	return n
}

// Errors returns how many calls failed: with a JSON-RPC error, an HTTP status, or in the tool.
func (s *StatusCounts) Errors() uint64 { return s[CallError] + s[CallToolError] }

// Cancelled returns how many were cancelled, answered after that or not.
func (s *StatusCounts) Cancelled() uint64 { return s[CallCancelled] + s[CallCancelledLate] }

// Unanswered returns how many have no answer: they wait for one, or for the input
// that was required, or for the end of a task.
func (s *StatusCounts) Unanswered() uint64 {
	return s[CallPending] + s[CallInputRequired] + s[CallWorking]
}

func (s *StatusCounts) merge(o *StatusCounts) {
	for i, n := range o {
		s[i] += n
	}
}

// A StatsGroup sums up calls.
type StatsGroup struct {
	StatsKey
	Statuses StatusCounts
	// Latency has the time that each answered call took, from the last byte of
	// the first request to the last byte of the answer that ended the call,
	// including nested calls and retries. A subscription took until it was
	// acknowledged.
	Latency Latencies
	// Waited is the total time for which the other calls waited, until they
	// were cancelled or the recording ended.
	Waited time.Duration
	// BytesToServer and BytesToClient are the sizes of the messages, progress
	// and the like included.
	BytesToServer, BytesToClient int64
}

// time returns how long all calls took, answered or not.
func (g *StatsGroup) time() time.Duration { return addTime(g.Latency.Sum(), g.Waited) }

func (g *StatsGroup) merge(o *StatsGroup) {
	g.Statuses.merge(&o.Statuses)
	g.Latency.Merge(&o.Latency)
	g.Waited = addTime(g.Waited, o.Waited)
	g.BytesToServer += o.BytesToServer
	g.BytesToClient += o.BytesToClient
}

// isNamed reports whether calls of a method are distinguished by their subject,
// which is the name of the tool or the prompt. The number of URIs is unlimited.
func isNamed(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "tools/invoke"
}

// compare defines a total order of keys.
func (k *StatsKey) compare(o *StatsKey) int {
	flag := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(k.Method, o.Method), cmp.Compare(k.Name, o.Name), cmp.Compare(k.Lane, o.Lane),
		cmp.Compare(flag(k.Nested), flag(o.Nested)), cmp.Compare(flag(k.Others), flag(o.Others)),
	)
}

// A StatsCall is a call that a [Stats] names.
type StatsCall struct {
	// Recording is the name that [NewStats] was given.
	Recording string
	// Ref names the call's first request, Answer what settled it, Parent the
	// call within which it was made; zero when there is none.
	Ref, Answer, Parent Ref
	// Lane is the lane of the request. Method and Subject are the call's.
	Lane            tap.Lane
	Method, Subject string
	// Arguments is a preview of the arguments. [Stats] does not set it.
	Arguments string
	Status    CallStatus
	State     State
	// At is when it was made, Took how long it took until its answer, or how long
	// it has waited for one.
	At, Took time.Duration
	// StreamEnd is how its exchange ended if it has [NoteStreamEnded], zero for others.
	StreamEnd StreamEnd
}

// topCalls keeps the calls that took longest, in order. Of calls that took the same time,
// earlier ones come first.
type topCalls struct {
	most  int
	calls []StatsCall
}

func (t *topCalls) add(c StatsCall) {
	at, _ := slices.BinarySearchFunc(t.calls, c, func(a, c StatsCall) int {
		if a.Took >= c.Took {
			return -1
		}
		return 1
	})
	if at < t.most {
		t.calls = slices.Insert(t.calls, at, c)
		t.calls = t.calls[:min(len(t.calls), t.most)]
	}
}

// Latencies is a set of durations. It takes 8 bytes for each. The zero value is
// empty.
type Latencies struct {
	all    []time.Duration
	sorted bool
	sum    time.Duration
}

// Add adds a duration. A negative one, which only a damaged recording has, counts as
// zero.
func (l *Latencies) Add(d time.Duration) {
	d = max(d, 0)
	l.all, l.sorted = append(l.all, d), false
	l.sum = addTime(l.sum, d)
}

// addTime adds durations that are not negative. If the sum would overflow, which takes a
// damaged recording, it returns the greatest duration.
func addTime(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Merge adds all durations of o.
func (l *Latencies) Merge(o *Latencies) {
	l.all, l.sorted = append(l.all, o.all...), false
	l.sum = addTime(l.sum, o.sum)
}

// order returns the durations in ascending order.
func (l *Latencies) order() []time.Duration {
	if !l.sorted {
		slices.Sort(l.all)
		l.sorted = true
	}
	return l.all
}

// Count returns the number of durations.
func (l *Latencies) Count() uint64 { return uint64(len(l.all)) }

// Sum returns the sum of the durations.
func (l *Latencies) Sum() time.Duration { return l.sum }

// Min returns the least duration, 0 if there are none.
func (l *Latencies) Min() time.Duration { return l.Quantile(0) }

// Max returns the greatest duration, 0 if there are none.
func (l *Latencies) Max() time.Duration { return l.Quantile(1000) }

// Quantile returns the smallest duration that at least permille thousandths of the
// durations do not exceed (nearest rank): 500 for the median, 990 for p99. It returns 0
// if there are none.
func (l *Latencies) Quantile(permille int) time.Duration {
	n := len(l.all)
	if n == 0 {
		return 0
	}
	rank := (n*min(max(permille, 0), 1000) + 999) / 1000
	return l.order()[max(rank, 1)-1]
}

// Below returns how many durations are less than d.
func (l *Latencies) Below(d time.Duration) uint64 {
	n, _ := slices.BinarySearch(l.order(), d)
	return uint64(n)
}
