package replay

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// request handles a request from the client.
func (s *Session) request(stream Stream, m *jsonrpc.Message, raw []byte) {
	k := s.keyer.key(m)
	if m.Method == "initialize" {
		s.can = readCapabilities(firstMember(m.Params, "capabilities", "clientCapabilities"))
	}
	if s.refuseVersion(stream, m, &k) {
		return
	}
	x := s.match(m, &k)
	switch {
	case x.trigger != 0:
		s.noteMatch(m, x)
		s.reply(stream, m, &k, x)
	case s.forward(m, raw):
	case s.generate(stream, m, &k):
	default:
		s.miss(stream, m, &k, x.fate)
	}
}

// forward offers an unmatched request to [Options].Forward, and reports whether it was accepted.
// A ping is not offered, nor is server/discover if the recorded server is legacy: the session
// answers those itself.
func (s *Session) forward(m *jsonrpc.Message, raw []byte) bool {
	legacy := m.Method == methodDiscover && !s.script.eras.modern && s.script.requests > 0
	if s.script.opt.Forward == nil || m.Method == "ping" || legacy || !s.script.opt.Forward(bytes.Clone(raw)) {
		return false
	}
	s.note(Note{Kind: NoteForwarded, Method: m.Method, Subject: jsonrpc.Subject(*m),
		Text: RequestName(m.Method, jsonrpc.Subject(*m)) + " was not recorded; it was forwarded"})
	return true
}

// reply plays the steps of a request, and those that hang off it.
func (s *Session) reply(stream Stream, m *jsonrpc.Message, k *keyed, x match) {
	t := &s.script.triggers[x.trigger]
	r := &reply{
		trigger: x.trigger, live: s.live, stream: stream, modern: k.modern,
		id: bytes.Clone(m.ID), token: bytes.Clone(k.token), level: k.level, key: canonical(m.ID),
		method: m.Method, name: jsonrpc.Value(k.subject).Decoded(),
	}
	if s.matched == 0 {
		s.matched = t.ref.Seq
	}
	s.bound[x.trigger] = r
	if x.fate == fateFresh {
		s.arrive(x.trigger)
	}
	if s.refuses(r) {
		return
	}
	r.step = t.first
	switch carrier := t.carrier; {
	case carrier == 0, s.script.inbound:
	case slices.Contains(s.carries, carrier): // its answer comes with the others
		r.step, r.answered = 0, true
	case carrier != x.trigger:
		r.step, r.alone = s.script.triggers[carrier].first, true
	case s.streams.hasDuplex:
		s.carries = append(s.carries, carrier)
	case s.carried(carrier):
		r.carries = true
	default:
		r.alone = true
	}
	s.begins(r)
	s.shell(x.trigger)
}

// noteMatch notes how a match is inexact, and whether the request gets no response.
func (s *Session) noteMatch(m *jsonrpc.Message, x match) {
	t := &s.script.triggers[x.trigger]
	n := Note{Method: m.Method, Subject: jsonrpc.Subject(*m), Frame: t.ref, UsedBy: s.arrived[x.trigger].live}
	name := RequestName(m.Method, n.Subject)
	got := " gets the response of frame " + strconv.FormatUint(t.ref.Seq, 10)
	switch {
	case x.chain:
		n.Kind = NoteResponse
		n.Text = name + " has other inputResponses than recorded; it" + got
		s.compare(&n, m, t)
	case x.level > MatchExact:
		n.Kind = NoteRelaxed
		n.Text = name + got + ", which it matches only at the level " + x.level.String()
		s.compare(&n, m, t)
	case x.fate == fateHeld:
		n.Kind = NoteHeld
		n.Text = name + " gets the previous response again: the client has not yet done what preceded the next one in the recording"
	case x.fate == fateRepeat:
		n.Kind = NoteRepeat
		n.Text = name + " has been used up; it" + got + " again"
	}
	if n.Text != "" {
		s.note(n)
	}
	switch { // a JSON-RPC error is an ordinary response, whatever its status
	case t.answer == 0 && s.refused(x.trigger) && m.Method != methodDiscover:
		s.note(Note{Kind: NoteRefused, Method: m.Method, Subject: n.Subject, Frame: n.Frame,
			Text: fmt.Sprintf("%s gets HTTP %d, as recorded for frame %d", name, s.status(x.trigger), t.ref.Seq)})
	case t.answer == 0 && !t.cancelled && !t.listens && !s.refused(x.trigger):
		s.note(Note{Kind: NoteSilence, Method: m.Method, Subject: n.Subject, Frame: n.Frame, Waits: !t.over,
			Text: fmt.Sprintf("%s (frame %d) has no response in the recording and gets none", name, t.ref.Seq)})
	}
	if m.Method == "initialize" && x.fate == fateFresh {
		s.compareClient(m, t)
	}
}

// compare notes where a request differs from a recorded one.
func (s *Session) compare(n *Note, m *jsonrpc.Message, t *trigger) {
	recorded := jsonrpc.Peek(t.raw)
	n.differ(s.keyer.params(&recorded), s.keyer.params(m), "params")
}

// compareClient notes how a client's description of itself differs from the recording. The
// client gets the recorded answer with the recorded version, as a server may send
// (basic/lifecycle#version-negotiation).
func (s *Session) compareClient(m *jsonrpc.Message, t *trigger) {
	n := Note{Kind: NoteClient, Method: m.Method, Frame: t.ref,
		Text: "the client describes itself differently than in the recording"}
	s.compare(&n, m, t)
	recorded := jsonrpc.Peek(t.raw)
	was := requestedVersion(&recorded)
	if now := requestedVersion(m); now != was {
		n.Kind = NoteVersion
		n.Text = fmt.Sprintf("the client requests version %q and gets the recorded response to %q", now, was)
	}
	if len(n.Differences) > 0 {
		s.note(n)
	}
}

// notification handles a notification from the client.
func (s *Session) notification(m *jsonrpc.Message) {
	if jsonrpc.IsCancelled(m.Method) {
		// If several requests have the id, the oldest is meant: it is answered first.
		key := canonical(firstMember(m.Params, "requestId", "id"))
		var oldest *reply
		for _, r := range s.replies {
			if !r.hangs && r.key == key && (oldest == nil || r.number < oldest.number) {
				oldest = r
			}
		}
		if oldest != nil {
			s.cancel(oldest)
		}
		return
	}
	k := s.keyer.key(m)
	t, fate := s.take(k.exact)
	if fate != fateFresh {
		t, fate = s.take(k.byMethod())
	}
	if fate == fateFresh {
		s.arrive(t)
	}
	if m.Method == "exit" && s.script.facts.Dialect == jsonrpc.Dialect002 {
		s.leaving, s.abrupt, s.requests = true, true, s.script.requests
	}
}
