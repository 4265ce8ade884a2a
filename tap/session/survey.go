package session

import (
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Survey is the result of a first pass over a recording: the facts that only later frames
// determine. These are the session of the head of a request, which precedes the message that
// identifies the session, and optionally the outcome of each request. Make one with [NewSurvey].
//
// Its memory grows with the number of exchanges whose session became known late (handshakes
// and all exchanges of 2026-07-28), and with the number of requests that are unanswered or
// of cancelled calls.
type Survey struct {
	tracker  Tracker
	sessions int
	late     map[uint64]int
	requests bool
	duration time.Duration
	// unanswered are requests without an answer, cancelled the first ones of calls
	// that were cancelled.
	unanswered, cancelled map[Ref]struct{}
	// left has, for requests without a response, when it was lost or the client hung up.
	left map[Ref]time.Duration
}

// NewSurvey makes a Survey. If requests is set, it has the outcome of each request.
func NewSurvey(requests bool) *Survey {
	return &Survey{late: map[uint64]int{}, requests: requests, unanswered: map[Ref]struct{}{}, cancelled: map[Ref]struct{}{}, left: map[Ref]time.Duration{}}
}

// Add adds the next frame.
func (s *Survey) Add(f *tap.Frame) {
	e := s.tracker.Add(f)
	if exchange, number := s.tracker.Sessions.Late(); exchange != 0 {
		s.late[exchange] = number
	}
	if !s.requests {
		return
	}
	for i := range e.Parts {
		p := &e.Parts[i]
		switch {
		case p.Role == RoleReplay:
		case p.Kind == jsonrpc.Request:
			s.unanswered[p.Message] = struct{}{}
		case p.Kind == jsonrpc.Response, p.Kind == jsonrpc.ErrorResponse:
			delete(s.unanswered, p.Request)
		}
	}
	s.ended(e.Ended)
}

// End is called after the last frame, with the duration of the recording.
func (s *Survey) End(duration time.Duration) {
	s.duration = duration
	if s.requests {
		s.ended(s.tracker.Open())
	}
	s.sessions = s.tracker.Sessions.Count()
	s.tracker = Tracker{}
}

func (s *Survey) ended(calls []*Call) {
	for _, c := range calls {
		if c.Cancel != (Ref{}) || c.Status == CallCancelled { // by a message, or by hanging up
			s.cancelled[c.Ref] = struct{}{}
		}
		if c.Notes&NoteRefused != 0 {
			for _, request := range c.Requests {
				delete(s.unanswered, request)
			}
		}
		if at, ok := c.left(); ok {
			for _, request := range c.Requests {
				s.left[request] = at
			}
		}
	}
}

// Sessions returns how many sessions there are in the recording.
func (s *Survey) Sessions() int { return s.sessions }

// setOutcomes sets the outcome of the requests among the messages.
func (s *Survey) setOutcomes(parts []Part) {
	if s == nil || !s.requests {
		return
	}
	for i := range parts {
		p := &parts[i]
		_, p.Unanswered = s.unanswered[p.Message]
		_, p.Cancelled = s.cancelled[p.Message]
		if p.Waited = 0; p.Unanswered && !p.Cancelled {
			end, left := s.left[p.Message]
			if !left {
				end = s.duration
			}
			p.Waited = max(end-p.At, 0)
		}
	}
}

// session returns the session of a frame; soFar is what [Sessions] returned.
func (s *Survey) session(f *tap.Frame, soFar int) int {
	if s == nil || soFar != 0 {
		return soFar
	}
	return s.late[f.Exchange]
}
