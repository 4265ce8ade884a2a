package replay

import (
	"fmt"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Refusal is a recorded exchange that the server answered for something that is not in
// the message.
type Refusal struct {
	Exchange *Exchange
	Script   *Script
}

// Outputs returns what was recorded of the response, with the id of the live request in
// the place of the recorded one; nil leaves it. The error is that of the spool.
func (r Refusal) Outputs(id []byte) (all []Output, err error) {
	s := r.Script
	var head *Response
	for i := s.cues[r.Exchange.carrier].first; i != 0; i = s.items[i].next {
		it := &s.items[i]
		out := Output{Response: head, Form: it.form, Frame: it.message()}
		head = nil
		switch it.kind {
		case itemHead:
			head = &s.responses[s.cues[it.cue].response]
			continue
		case itemData:
			out.Whole, err = it.place.load(s.spool)
		case itemWrite:
			out.Raw, err = it.place.load(s.spool)
			if err == nil && it.has(itemFinal) && len(id) > 0 {
				out.Raw = Rewrite(out.Raw, id, "id")
			}
			if err == nil {
				out.Whole, err = it.whole.load(s.spool)
			}
		case itemEnd:
			out.Last, out.Abort = true, it.has(itemAbort)
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("frame %d: %w", it.seq, err)
		}
		all = append(all, out)
	}
	if head != nil {
		all = append(all, Output{Response: head, Last: true})
	}
	return all, nil
}

// Continue goes on, on a stream that the recorded server closed before it had answered,
// with what it sent when the client came back for it: this client cannot. It reports
// whether there is anything.
func (s *Session) Continue(stream Stream) bool {
	for _, p := range s.bound {
		if c := s.returnOf(p); c != 0 && p.stream == stream {
			s.stream = stream
			s.arrive(c)
			return true
		}
	}
	return false
}

// Opens reports whether the script has a request of the kind that a client begins
// with: an initialize, or for modern one that names its own version.
func (s *Script) Opens(modern bool) bool { return s.eras.opens(modern) }

// A Fit says how well a script fits a live request.
type Fit uint8

const (
	FitNone  Fit = iota
	FitOther     // it has one with the same message, whose head says something else
	FitExact     // it has one like it
)

// Fits reports whether the script has a request that is matched by a live one.
func (s *Script) Fits(m *jsonrpc.Message, variant string) Fit {
	k := newKeyer(&s.opt)
	x := k.key(m)
	switch {
	case s.index.has(x.variant(variant)):
		return FitExact
	case s.index.has(x.exact), s.index.has(x.other()):
		return FitOther
	}
	return FitNone
}

// HasBroken reports whether the script has a frame like raw, which is no message.
func (s *Script) HasBroken(raw []byte) bool {
	key, ok := invalidKey(raw)
	return ok && s.index.has(key)
}

// HasPage reports whether the script has a request for a target that carries no message.
func (s *Script) HasPage(method, target string) bool {
	for _, key := range bareKeys(method, target, "", nil) {
		if s.index.has(key) {
			return true
		}
	}
	return false
}

// Ends returns the status with which the recorded server answered the DELETE that ends a
// session; ok is false if there was none.
func (s *Script) Ends() (status int, ok bool) {
	for i := range s.cues {
		if c := &s.cues[i]; c.deletes && c.response != 0 {
			status, ok = s.responses[c.response].Status, true
		}
	}
	return status, ok
}
