package replay

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// request takes a request of the client's.
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
	case x.cue != 0:
		s.remark(m, &k, x)
		s.play(stream, m, &k, x)
	case s.elsewhere(m, raw):
	case s.invent(stream, m, &k):
	default:
		s.miss(stream, m, &k, x.fate)
	}
}

// firstMember is the first of the members that is there.
func firstMember(object jsonrpc.Value, names ...string) (v jsonrpc.Value) {
	for _, name := range names {
		if v = object.Get(name); v != nil {
			break
		}
	}
	return v
}

// play plays a request's own steps, and what hangs on it.
func (s *Session) play(stream Stream, m *jsonrpc.Message, k *keyed, x match) {
	c := &s.script.cues[x.cue]
	p := &play{
		cue: x.cue, live: s.live, stream: stream, modern: k.modern,
		id: bytes.Clone(m.ID), token: bytes.Clone(k.token), key: word(m.ID),
	}
	if s.chances.faults != nil {
		p.method, p.name = m.Method, jsonrpc.Value(k.subject).Decoded()
	}
	if s.matched == 0 {
		s.matched = c.seq
	}
	if c.has(cueReferred) || c.carrier != 0 {
		if s.bound == nil {
			s.bound = map[uint32]*play{}
		}
		s.bound[x.cue] = p
	}
	if x.fate == fateFresh {
		s.arrive(x.cue)
	}
	p.item = c.first
	switch carrier := c.carrier; {
	case carrier == 0, s.script.inbound:
	case slices.Contains(s.carries, carrier): // its answer comes with the others'
		p.item, p.answered = 0, true
	case carrier != x.cue:
		p.item, p.alone = s.script.cues[carrier].first, true
	case s.streams.hasDuplex:
		s.carries = append(s.carries, carrier)
	case s.carried(carrier):
		p.carries = true
	default:
		p.alone = true
	}
	s.enlist(p, c.at)
	s.advance(p)
	s.shell(x.cue)
}

// remark notes in what a match is not exact.
func (s *Session) remark(m *jsonrpc.Message, k *keyed, x match) {
	c := &s.script.cues[x.cue]
	n := Note{Method: m.Method, Frame: c.message(), UsedBy: s.usedBy(x.cue)}
	got := " gets the answer of frame " + strconv.FormatUint(c.seq, 10)
	switch {
	case x.chain:
		n.Kind = NoteAnswer
		n.Text = m.Method + " brings other input than recorded; it" + got
		s.compare(&n, m, c)
	case x.level > MatchExact:
		n.Kind = NoteRelaxed
		n.Text = m.Method + got + ", which it matches only at the level " + x.level.String()
		s.compare(&n, m, c)
	case x.fate == fateHeld:
		n.Kind = NoteHeld
		n.Text = m.Method + " gets the same answer again: the client has not done yet what it did before the next in the recording"
	case x.fate == fateAgain:
		n.Kind = NoteRepeat
		n.Text = m.Method + " has been used up; it" + got + " again"
	}
	if n.Text != "" {
		n.Subject = jsonrpc.Subject(*m)
		s.note(n)
	}
	if c.answer == 0 && !c.has(cueCancelled|cueListens) {
		s.note(Note{Kind: NoteSilence, Method: m.Method, Subject: jsonrpc.Subject(*m), Frame: n.Frame,
			Text: fmt.Sprintf("%s (frame %d) has no answer in the recording, and gets none", m.Method, c.seq)})
	}
	if m.Method == "initialize" && x.fate == fateFresh {
		s.compareClient(m, c)
	}
}

// compare notes where a request differs from a recorded one.
func (s *Session) compare(n *Note, m *jsonrpc.Message, c *cue) {
	if recorded, _, err := s.script.message(c.place); err == nil {
		n.differ(s.keyer.params(&recorded), s.keyer.params(m), "params")
	}
}

// compareClient notes what a client says of itself other than the recorded one. It
// gets the recorded answer all the same, which names the recorded version: that is
// a server's right (basic/lifecycle#version-negotiation).
func (s *Session) compareClient(m *jsonrpc.Message, c *cue) {
	n := Note{Kind: NoteClient, Method: m.Method, Frame: c.message(),
		Text: "the client says something else of itself than the recorded one"}
	s.compare(&n, m, c)
	if len(n.Differences) == 0 {
		return
	}
	for _, d := range n.Differences {
		if d.Path == "params.protocolVersion" || d.Path == "params.mcpVersion" {
			n.Kind = NoteVersion
			n.Text = fmt.Sprintf("the client asks for version %s; it gets the recorded answer to %s", d.Live, d.Recorded)
		}
	}
	s.note(n)
}

// notification takes a notification of the client's.
func (s *Session) notification(m *jsonrpc.Message) {
	switch m.Method {
	case "notifications/cancelled", "cancel":
		id := firstMember(m.Params, "requestId", "id")
		if p := s.waiting(id); p != nil {
			s.cancel(p)
		}
		return
	}
	k := s.keyer.key(m)
	c, fate := s.take(k.exact)
	if fate != fateFresh {
		c, fate = s.take(k.method)
	}
	if fate == fateFresh {
		s.arrive(c)
	}
	if m.Method != "exit" {
		return
	}
	if s.script.facts.Dialect == jsonrpc.Dialect002 {
		s.leaving, s.requests = true, s.script.requests
	}
}

// waiting returns the play that a client means by the id of a request, nil for none: of
// several with one id the oldest, as that one is answered first.
func (s *Session) waiting(id []byte) (oldest *play) {
	key := word(id)
	for _, p := range s.plays {
		if !p.hangs && p.key == key && (oldest == nil || p.number < oldest.number) {
			oldest = p
		}
	}
	return oldest
}
