package tap

import (
	"cmp"
	"encoding/binary"
	"time"
)

// A StatsKey says which calls are summed up together.
type StatsKey struct {
	// Lane is that of the request: [ToServer] for what the client asked.
	Lane Lane
	// Nested says that they were asked within other calls.
	Nested bool
	// Others marks the calls for which there was no group left, whatever their
	// method and name.
	Others bool
	// Method is the method, Name the tool or prompt, "" for other methods.
	// Both are from the wire, at most [MaxSubject] bytes of each.
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

// Cancelled is how many were cancelled, answered all the same or not.
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

// isNamed reports whether calls of a method are told apart by their subject,
// which is the name of the tool or the prompt. Of URIs there may be any number.
func isNamed(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "tools/invoke"
}

func appendStatsKey(dst []byte, lane Lane, nested bool, method, name string) []byte {
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
