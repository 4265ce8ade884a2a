package session

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

const (
	// MaxStatsGroups is how many groups a [Stats] has, beside those of what is
	// too much: a recording may name a new tool in each call.
	MaxStatsGroups = 2048
	// MaxStatsWaiting is how many of the calls without an answer are kept.
	MaxStatsWaiting = 1000
)

// Stats sums up the calls of one recording, or of several that were merged.
// Its memory is bounded, whatever it is given. Make one with [NewStats].
type Stats struct {
	// Handshake and Useful have one duration for each recording: from its
	// start to the answer that ended the handshake (initialize, or in
	// 2026-07-28 server/discover), and to the first successful answer of the
	// server to anything but these and ping. A recording without such an
	// answer has none.
	Handshake, Useful Latencies

	recording         string
	groups            map[string]*StatsGroup
	others            map[StatsKey]*StatsGroup
	slowest, waiting  topCalls
	handshake, useful moment
	key               []byte
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

// NewStats makes the Stats of one recording, which keeps that many of its slowest
// calls.
func NewStats(recording string, slowest int) *Stats {
	return &Stats{
		recording: recording, groups: map[string]*StatsGroup{}, others: map[StatsKey]*StatsGroup{},
		slowest: topCalls{most: max(slowest, 0)}, waiting: topCalls{most: MaxStatsWaiting},
	}
}

// Add counts a call that a [Pairing] has handed over.
func (s *Stats) Add(c *Call) {
	end := c.End
	if !c.Status.Settled() && end == 0 && len(c.Parts) > 0 { // let go: what came of it is not known
		end = c.Parts[len(c.Parts)-1].At
	}
	s.count(c, end)
}

// Finish counts the calls that are still open at the end of the recording, or,
// while it is live, now. Nothing may be added after that, but Stats be merged.
func (s *Stats) Finish(open []*Call, end time.Duration) {
	for _, c := range open {
		at := c.End
		if !c.Status.Settled() && at == 0 {
			at = end
		}
		s.count(c, at)
	}
	if s.handshake.known {
		s.Handshake.Add(s.handshake.at)
	}
	if s.useful.known {
		s.Useful.Add(s.useful.at)
	}
	s.handshake, s.useful = moment{}, moment{}
}

// count counts a call of which nothing is known beyond end. One that was refused
// with a challenge (HTTP 401) counts for nothing: it has not reached the server's
// tools, and the client asks it again, with a token, as another call.
func (s *Stats) count(c *Call, end time.Duration) {
	if c.Notes&NoteChallenged != 0 {
		return
	}
	status, took, answered := outcome(c, max(end-c.At, 0))
	g := s.group(c)
	g.Statuses[status]++
	g.BytesToServer += c.BytesToServer
	g.BytesToClient += c.BytesToClient
	if s.slowest.wants(took) {
		s.slowest.add(newStatsCall(s.recording, c, status, took))
	}
	switch {
	case answered:
		g.Latency.Add(took)
	case status == CallCancelled:
		g.Waited = addTime(g.Waited, took)
	default:
		g.Waited = addTime(g.Waited, took)
		if s.waiting.wants(took) {
			s.waiting.add(newStatsCall(s.recording, c, status, took))
		}
	}
	if status == CallDone && c.Lane == tap.ToServer {
		s.succeeded(c.Method, c.End)
	}
}

// outcome reports how a call counts, how long that took, and whether there was an
// answer.
func outcome(c *Call, took time.Duration) (CallStatus, time.Duration, bool) {
	if c.Method == "subscriptions/listen" {
		for i := range c.Parts {
			if p := &c.Parts[i]; p.Method == "notifications/subscriptions/acknowledged" {
				status := c.Status
				if c.Status == CallCancelled || c.Status == CallCancelledLate {
					status = CallDone // to cancel it is how a client ends it
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

// group finds the group of a call.
func (s *Stats) group(c *Call) *StatsGroup {
	k := StatsKey{Lane: c.Lane, Nested: c.Parent != (Ref{}), Method: jsonrpc.Bound(c.Method)}
	if isNamed(c.Method) {
		k.Name = c.Subject
	}
	s.key = appendStatsKey(s.key[:0], k.Lane, k.Nested, k.Method, k.Name)
	if g := s.groups[string(s.key)]; g != nil {
		return g
	}
	return s.newGroup(k)
}

// newGroup makes the group whose key has just been written to s.key, or finds
// the one of all others.
func (s *Stats) newGroup(k StatsKey) *StatsGroup {
	if len(s.groups) < MaxStatsGroups {
		k.Method, k.Name = strings.Clone(k.Method), strings.Clone(k.Name)
		g := &StatsGroup{StatsKey: k}
		s.groups[string(s.key)] = g
		return g
	}
	return s.other(StatsKey{Lane: k.Lane, Nested: k.Nested, Others: true})
}

func (s *Stats) other(k StatsKey) *StatsGroup {
	if s.others[k] == nil {
		s.others[k] = &StatsGroup{StatsKey: k}
	}
	return s.others[k]
}

// Merge counts what o has counted, which must be finished.
func (s *Stats) Merge(o *Stats) {
	for _, from := range o.Groups() {
		k := from.StatsKey
		s.key = appendStatsKey(s.key[:0], k.Lane, k.Nested, k.Method, k.Name)
		to := s.groups[string(s.key)]
		switch {
		case k.Others:
			to = s.other(k)
		case to == nil:
			to = s.newGroup(k)
		}
		to.merge(from)
	}
	s.Handshake.Merge(&o.Handshake)
	s.Useful.Merge(&o.Useful)
	s.slowest.merge(&o.slowest)
	s.waiting.merge(&o.waiting)
}

// Groups returns the groups, those first that took longest altogether, answered or
// not.
func (s *Stats) Groups() []*StatsGroup {
	all := make([]*StatsGroup, 0, len(s.groups)+len(s.others))
	for _, g := range s.groups {
		all = append(all, g)
	}
	for _, g := range s.others {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *StatsGroup) int {
		return cmp.Or(cmp.Compare(b.time(), a.time()), a.StatsKey.compare(&b.StatsKey))
	})
	return all
}

// Total sums up the calls that were asked within others, or all that were not.
// Its key says only that. What was asked within a call is in the time of that,
// so that only the latter times may be added up.
func (s *Stats) Total(nested bool) StatsGroup {
	total := StatsGroup{StatsKey: StatsKey{Nested: nested}}
	for _, g := range s.Groups() {
		if g.Nested == nested {
			total.merge(g)
		}
	}
	return total
}

// Slowest returns the calls that took longest, until they were answered, cancelled or
// the recording ended, the slowest
// first, both nested and not.
func (s *Stats) Slowest() []StatsCall { return s.slowest.sort() }

// Waiting returns the calls that have no answer and were not cancelled, those
// that have waited longest first, at most [MaxStatsWaiting].
func (s *Stats) Waiting() []StatsCall { return s.waiting.sort() }

// A Meter makes the [Stats] of a recording out of its frames. Make one with
// [NewMeter].
type Meter struct {
	stats   *Stats
	session int
	tracker Tracker
}

// NewMeter makes a Meter that adds to s the calls of one session, or of all for 0.
func NewMeter(s *Stats, session int) *Meter { return &Meter{stats: s, session: session} }

// Add takes the next frame.
func (m *Meter) Add(f *tap.Frame) {
	for _, c := range m.wanted(m.tracker.Add(f).Ended) {
		m.stats.Add(c)
	}
}

// Finish counts the calls that are still open at the end of the recording, or, while it is live, now.
func (m *Meter) Finish(end time.Duration) { m.stats.Finish(m.wanted(m.tracker.Open()), end) }

// Sessions returns how many sessions there were.
func (m *Meter) Sessions() int { return m.tracker.Sessions.Count() }

// wanted keeps the calls of the session.
func (m *Meter) wanted(calls []*Call) []*Call {
	if m.session == 0 {
		return calls
	}
	return slices.DeleteFunc(calls, func(c *Call) bool { return c.Session != m.session })
}

// A StatsKey identifies the calls that are summed up together.
type StatsKey struct {
	// Lane is that of the request: [tap.ToServer] for what the client asked.
	Lane tap.Lane
	// Nested reports that they were asked within other calls.
	Nested bool
	// Others marks the calls for which there was no group left, whatever their
	// method and name.
	Others bool
	// Method is the method, Name the tool or prompt, "" for other methods.
	// Both are from the wire, at most [jsonrpc.MaxSubject] bytes of each.
	Method, Name string
}

// StatusCounts is a number of calls for each [CallStatus].
type StatusCounts [callStatuses]uint64

// Calls is the number of all calls.
func (s *StatusCounts) Calls() (n uint64) {
	for _, v := range s {
		n += v
	}
	return n
}

// Errors is how many calls failed: with a JSON-RPC error, or in the tool.
func (s *StatusCounts) Errors() uint64 { return s[CallError] + s[CallToolError] }

// Cancelled is how many were cancelled, answered nevertheless or not.
func (s *StatusCounts) Cancelled() uint64 { return s[CallCancelled] + s[CallCancelledLate] }

// Unanswered is how many have no answer: they wait for one, or for the input
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
	// Latency is how long the calls took that were answered, from the last
	// byte of the first request to the last byte of the answer that ended the
	// call: with all that was asked within it, and all retries. A subscription
	// took until it was acknowledged.
	Latency Latencies
	// Waited is for how long altogether the others were waited for, until they
	// were cancelled or the recording ended.
	Waited time.Duration
	// BytesToServer and BytesToClient are the sizes of the messages, progress
	// and the like included.
	BytesToServer, BytesToClient int64
}

// time is how long all calls took, answered or not.
func (g *StatsGroup) time() time.Duration { return addTime(g.Latency.Sum(), g.Waited) }

func (g *StatsGroup) merge(o *StatsGroup) {
	g.Statuses.merge(&o.Statuses)
	g.Latency.Merge(&o.Latency)
	g.Waited = addTime(g.Waited, o.Waited)
	g.BytesToServer += o.BytesToServer
	g.BytesToClient += o.BytesToClient
}

// isNamed reports whether calls of a method are distinguished by their subject,
// which is the name of the tool or the prompt. Of URIs there may be any number.
func isNamed(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "tools/invoke"
}

func appendStatsKey(dst []byte, lane tap.Lane, nested bool, method, name string) []byte {
	dst = append(dst, byte(lane), 0)
	if nested {
		dst[len(dst)-1] = 1
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(method))) // at most MaxSubject
	dst = append(dst, method...)
	return append(dst, name...)
}

// compare puts keys in an order that is always the same.
func (k *StatsKey) compare(o *StatsKey) int {
	flags := func(k *StatsKey) int {
		n := int(k.Lane) << 2
		if k.Nested {
			n |= 2
		}
		if k.Others {
			n |= 1
		}
		return n
	}
	return cmp.Or(cmp.Compare(k.Method, o.Method), cmp.Compare(k.Name, o.Name), cmp.Compare(flags(k), flags(o)))
}

// A StatsCall is a call that a [Stats] names.
type StatsCall struct {
	// Recording is the name that [NewStats] was given.
	Recording string
	// Ref names the call's first request, Answer what settled it, Parent the
	// call within which it was asked; zero when there is none.
	Ref, Answer, Parent Ref
	// Lane is that of the request. Method and Subject are the call's.
	Lane            tap.Lane
	Method, Subject string
	Status          CallStatus
	// At is when it was asked, Took how long until its answer, or how long it
	// has waited for one.
	At, Took time.Duration
}

func newStatsCall(recording string, c *Call, status CallStatus, took time.Duration) StatsCall {
	return StatsCall{
		Recording: recording, Ref: c.Ref, Answer: c.Answer, Parent: c.Parent, Lane: c.Lane,
		Method: strings.Clone(jsonrpc.Bound(c.Method)), Subject: c.Subject, Status: status, At: c.At, Took: took,
	}
}

// A topCalls keeps the calls that took longest, at most some.
type topCalls struct {
	most int
	// calls are those that may be among them, up to twice as many, the first
	// that came first where they took the same.
	calls []StatsCall
	// least is what one must exceed to be among them, if full.
	full  bool
	least time.Duration
}

// wants reports whether a call that took so long would be among them.
func (t *topCalls) wants(took time.Duration) bool {
	return t.most > 0 && (!t.full || took > t.least)
}

func (t *topCalls) add(c StatsCall) {
	if !t.wants(c.Took) {
		return
	}
	if t.calls = append(t.calls, c); len(t.calls) >= 2*t.most {
		t.sort()
	}
}

// sort puts them in order and lets go of those that are too many.
func (t *topCalls) sort() []StatsCall {
	slices.SortStableFunc(t.calls, func(a, b StatsCall) int { return cmp.Compare(b.Took, a.Took) })
	if len(t.calls) >= t.most {
		clear(t.calls[t.most:])
		t.calls = t.calls[:t.most]
		t.full = true
		if t.most > 0 {
			t.least = t.calls[t.most-1].Took
		}
	}
	return t.calls
}

func (t *topCalls) merge(o *topCalls) {
	for _, c := range o.calls {
		t.add(c)
	}
}
