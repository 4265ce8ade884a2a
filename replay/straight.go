package replay

import (
	"bytes"

	"github.com/mcptap/mcptap/tap"
)

// A client that is tested against its own recording says most of the time what it
// said then, byte for byte, ids included. Comparing these bytes takes a fraction of
// the time that reading and matching them does, and comes to the same.

// straight plays the next recorded request if raw is that, and reports whether it is.
// The next one is the first that has not come, so it is also the next with its key.
func (s *Session) straight(stream Stream, raw []byte) bool {
	c := s.ahead()
	if c == 0 {
		return false
	}
	x := &s.script.cues[c]
	raw = bytes.TrimRight(raw, "\r\n")
	if n := int(x.place.size) - len(raw); n < 0 || n > len("\r\n") {
		return false
	}
	recorded, err := x.place.load(s.script.spool, s.same)
	s.same = recorded
	if err != nil || !bytes.Equal(bytes.TrimRight(recorded, "\r\n"), raw) {
		return false
	}
	start := begin(raw)
	id, ok := find(raw, start, "id")
	method, named := find(raw, start, "method")
	if !ok || !named {
		return false
	}
	switch string(decode(method.of(raw))) {
	case "initialize", "tasks/get": // which say what the client can, and what a later poll may get again
		return false
	}
	m := tap.Message{Kind: tap.Request, ID: id.of(raw)}
	var k keyed
	if x.token != 0 {
		if at, ok := find(raw, start, "params", "_meta", "progressToken"); ok {
			k.token = at.of(raw)
		}
	}
	s.streams.expect(stream)
	s.play(stream, &m, &k, match{cue: c, fate: fateFresh})
	return true
}

// ahead is the first recorded request that has not come, 0 where it takes more than its
// bytes to answer it.
func (s *Session) ahead() uint32 {
	if s.script.refused > 0 || s.chances.faults != nil {
		return 0
	}
	for ; int(s.front) < len(s.script.cues); s.front++ {
		if s.script.cues[s.front].kind != cueRequest {
			continue
		}
		if _, come := s.arrived[s.front]; !come {
			break
		}
	}
	const careful = cueModern | cuePoll | cueListens
	if int(s.front) >= len(s.script.cues) {
		return 0
	}
	if c := &s.script.cues[s.front]; c.has(careful) || !c.has(cueAnswered) {
		return 0
	}
	return s.front
}
