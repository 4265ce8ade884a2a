package replay

import (
	"bytes"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A client that is tested against its own recording says most of the time what it
// said then, byte for byte but for an id. Comparing these bytes takes a fraction of
// the time that reading and matching them does, and comes to the same.

// straight plays the next recorded request if raw is that, and reports whether it is.
// The next one is the first that has not come, so it is also the next with its key.
func (s *Session) straight(stream Stream, raw []byte) bool {
	c := s.ahead()
	if c == 0 {
		return false
	}
	at := s.script.cues[c].place
	raw = bytes.TrimRight(raw, "\r\n")
	if n := int(at.size) - len(raw); n < -maxPlainID || n > maxPlainID {
		return false // which costs nothing to see
	}
	recorded, err := s.window.load(s.script.spool, at)
	if err != nil {
		return false
	}
	id, same := sameButID(bytes.TrimRight(recorded, "\r\n"), raw, int(at.id))
	if !same {
		return false
	}
	m := jsonrpc.Message{Kind: jsonrpc.Request, ID: id}
	s.streams.expect(stream)
	s.play(stream, &m, &keyed{}, match{cue: c, fate: fateFresh, verbatim: true})
	return true
}

// sameButID compares a live request with a recorded one whose id begins at an offset. It
// returns the live one's id, and whether all else is the same.
func sameButID(recorded, live []byte, at int) (id []byte, same bool) {
	end := skipScalar(recorded, at)
	rest := recorded[end:]
	ends := len(live) - len(rest)
	if ends <= at || !bytes.Equal(live[:at], recorded[:at]) || !bytes.Equal(live[ends:], rest) {
		return nil, false
	}
	id = live[at:ends]
	return id, bytes.Equal(id, recorded[at:end]) || plainID(id)
}

// maxPlainID is how long an id may be that is seen to be one at a glance.
const maxPlainID = 48

// plainID reports whether bytes are an id such as most clients make: a number of digits,
// or a string without escapes.
func plainID(id []byte) bool {
	if len(id) > maxPlainID {
		return false
	}
	number := id[0] != '"'
	if number {
		if id[0] == '0' {
			return len(id) == 1
		}
	} else {
		if len(id) < 2 || id[len(id)-1] != '"' {
			return false
		}
		id = id[1 : len(id)-1]
	}
	for _, c := range id {
		if number && c-'0' > 9 || c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// tokenOf is the progress token of the request that a play answers, nil if it has none.
func (s *Session) tokenOf(p *play) []byte {
	if !p.verbatim {
		return p.token
	}
	p.verbatim = false
	raw, err := s.script.cues[p.cue].place.load(s.script.spool)
	if err != nil {
		return nil
	}
	if at, ok := find(raw, begin(raw), "params", "_meta", "progressToken"); ok {
		p.token = bytes.Clone(at.of(raw))
	}
	return p.token
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
		if !s.arrived.come(s.front) {
			break
		}
	}
	if int(s.front) >= len(s.script.cues) {
		return 0
	}
	if c := &s.script.cues[s.front]; !c.has(cuePlain) || !c.has(cueAnswered) {
		return 0
	}
	return s.front
}
