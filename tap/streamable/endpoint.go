package streamable

import (
	"bytes"

	"github.com/mcptap/mcptap/tap"
)

// maxEndpoint is how many bytes of the beginning of an event stream are looked
// at for the endpoint event of HTTP+SSE (2024-11-05, basic/transports), which
// is the first one.
const maxEndpoint = 8 << 10

// A firstEvent is the beginning of an event stream, up to its first event that
// says something.
type firstEvent struct{ data []byte }

// endpointURL finds the URL of an endpoint event: event[from:to]. speaks
// says whether the unit is an event at all; comments alone are none.
func endpointURL(event []byte) (from, to int, speaks bool) {
	e := tap.ParseServerSentEvent(event)
	if e.Name != "endpoint" || len(e.Data) == 0 || bytes.IndexByte(e.Data, '\n') >= 0 {
		return 0, 0, e.Name != "" || len(e.Data) > 0
	}
	for at := 0; ; {
		i := bytes.Index(event[at:], e.Data)
		if i < 0 {
			return 0, 0, true
		}
		if at += i; bytes.HasSuffix(event[:at], []byte("data:")) || bytes.HasSuffix(event[:at], []byte("data: ")) {
			return at, at + len(e.Data), true
		}
		at++
	}
}

// firstEvent records the beginning of an event stream, with the session id in
// an endpoint event masked.
func (s *sink) firstEvent(p []byte, end bool) {
	f := s.first
	f.data = append(f.data, p...)
	if !end && len(f.data) <= maxEndpoint || len(f.data) == 0 {
		return
	}
	from, to, speaks := endpointURL(f.data)
	if len(f.data) > maxEndpoint {
		to, speaks = 0, true // whatever it is, no server says it
	}
	record := f.data
	if to > 0 {
		url, names := s.mask.url(string(f.data[from:to]))
		for _, name := range names {
			s.side.masked = appendNew(s.side.masked, "endpoint "+name)
		}
		record = bytes.Join([][]byte{f.data[:from], []byte(url), f.data[to:]}, nil)
	}
	f.data = nil
	if speaks {
		s.first = nil
	}
	s.piece(record, end)
}
