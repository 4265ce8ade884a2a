package session

import (
	"hash/fnv"

	"github.com/mcptap/mcptap/tap"
)

// MaxSessionEvents is how many of the events with an id are remembered of a
// session: the last ones.
const MaxSessionEvents = 1024

// A seenEvent is an event that came on the stream of an exchange. Those of a session
// are remembered by their ids, so that a stream that is resumed can be distinguished from
// one that begins (2025-11-25 basic/transports#resumability-and-redelivery), and what is
// sent on it once more from what is new.
type seenEvent struct {
	exchange uint64
	seq      uint64
	stream   stream
	data     uint64 // a hash
}

// A stream is known by the exchange that began it and its first frame.
type stream struct{ exchange, first uint64 }

func hashBytes(b []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(b)
	return h.Sum64()
}

// resume looks for the stream that a request asks to go on with.
func (s *Sessions) resume(x *exchangeState) {
	x.stream = stream{x.Number, x.first}
	if x.in == nil || x.last == "" {
		return
	}
	if old, ok := x.in.events.Get(hashBytes([]byte(x.last))); ok {
		x.stream, s.resumes = old.stream, old.stream
	}
}

// occurs takes an event of a stream. One that came before, and comes once more on
// a stream that was resumed, is a replay.
func (s *Sessions) occurs(x *exchangeState, f *tap.Frame) {
	if x.in == nil || f.Lane != tap.ToClient || f.Form != tap.FormEvent || int64(len(f.Raw)) < f.Size {
		return
	}
	e := tap.ParseServerSentEvent(f.Raw)
	if e.ID == "" {
		return
	}
	id, data := hashBytes([]byte(e.ID)), hashBytes(e.Data)
	if old, ok := x.in.events.Get(id); ok && x.last != "" && old.exchange != x.Number && old.data == data {
		s.replays = old.seq
		return
	}
	x.in.events.Max = MaxSessionEvents
	x.in.events.Put(id, seenEvent{exchange: x.Number, seq: f.Seq, stream: x.stream, data: data})
	x.in.events.Touch(id)
}

// Resumes returns, after the head of a request that asks to go on with a stream,
// the first frame of the exchange that began that stream; 0 if it does not, or if
// that is not known.
func (s *Sessions) Resumes() uint64 { return s.resumes.first }

// Replays returns, after an event that came before and was sent once more on a
// stream that was resumed, the frame in which it came first; 0 after any other.
func (s *Sessions) Replays() uint64 { return s.replays }
