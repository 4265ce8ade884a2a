package streamable

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// A sink records one body, or other data on one lane of an exchange. It
// receives the bytes of the body without their transfer coding, piece by piece, and
// decodes content codings and splits events for the recorder.
type sink struct {
	*Tap
	ex   *exchange
	lane tap.Lane
	side *side

	form   tap.Form
	events *tap.SSESplitter // for an event stream

	chain []*decoder
	coded []byte // input, while nothing has been decoded
	plain bool   // something was decoded, or coded would be too long
	// bytes reports that the rest is recorded as it crosses, as it could not be
	// decoded.
	bytes bool

	open  bool   // a frame has begun
	event []byte // the beginning of the current event
}

// newSink returns a sink for the body after a head.
func (l *lane) newSink(h *head) *sink {
	s := &sink{Tap: l.Tap, ex: l.ex, lane: l.name, side: l.side(), form: tap.FormBody}
	if l.name == tap.ToClient && mediaType(h) == "text/event-stream" {
		s.form, s.events = tap.FormEvent, new(tap.SSESplitter)
	}
	if codings := contentCodings(h); len(codings) > 0 {
		s.side.coding = fmt.Sprintf("%.100s", strings.Join(codings[:min(len(codings), maxCodings)], ", "))
		s.decode(codings)
	}
	return s
}

// maxCodings is the maximum number of nested codings that are decoded.
const maxCodings = 4

// decode sets up the decoders for codings in the order in which they were applied.
func (s *sink) decode(codings []string) {
	if len(codings) > maxCodings {
		s.undecoded(fmt.Errorf("there are %d nested codings", len(codings)))
		return
	}
	for _, c := range codings {
		if decoders[c] == nil {
			s.undecoded(fmt.Errorf("%.100q is unknown", c))
			return
		}
	}
	for i := len(codings) - 1; i >= 0; i-- {
		s.chain = append(s.chain, newDecoder(decoders[codings[i]]))
	}
}

// write records the next bytes of the body. Last reports that they end it.
func (s *sink) write(p []byte, last bool) {
	switch {
	case len(p) == 0:
	case s.bytes:
		s.asBytes(p)
	case len(s.chain) > 0:
		s.writeCoded(p)
	default:
		s.content(p, last)
	}
}

// maxCoded is the number of bytes of a body that are kept while nothing was decoded.
const maxCoded = 64 << 10

func (s *sink) writeCoded(p []byte) {
	if !s.plain && len(s.coded)+len(p) <= maxCoded {
		s.coded = append(s.coded, p...)
	} else {
		s.plain, s.coded = true, nil
	}
	if err := s.push(0, p); err != nil {
		s.failed(p, err)
	}
}

// push passes p through the decoders from the i-th on.
func (s *sink) push(i int, p []byte) error {
	if i == len(s.chain) {
		s.plain, s.coded = true, nil
		s.content(p, false)
		return nil
	}
	return s.through(i, func(out func([]byte)) error { return s.chain[i].write(p, out) })
}

// through passes the output of the i-th decoder, which code writes to or ends, to the
// others.
func (s *sink) through(i int, code func(out func([]byte)) error) error {
	var deeper error
	err := code(func(b []byte) {
		if deeper == nil {
			deeper = s.push(i+1, b)
		}
	})
	return cmp.Or(err, deeper)
}

// failed continues with a body that cannot be decoded (further). If nothing
// was decoded, all of it is recorded as it crosses, otherwise the rest from p on.
func (s *sink) failed(p []byte, err error) {
	coded := s.coded
	s.undecoded(err)
	if !s.plain {
		s.form, s.events = tap.FormBody, nil
		s.content(coded, false)
		return
	}
	s.endFrame()
	s.bytes = true
	if len(p) > 0 {
		s.asBytes(p)
	}
}

// undecoded notes why a body is not decoded (further).
func (s *sink) undecoded(err error) {
	s.closeChain()
	further := ""
	if s.plain {
		further = " further"
	}
	s.side.note(fmt.Sprintf("the coding %s could not be decoded%s: %v", s.side.coding, further, err))
}

func (s *sink) closeChain() {
	for _, d := range s.chain {
		d.close()
	}
	s.chain, s.coded = nil, nil
}

// content records decoded bytes.
func (s *sink) content(p []byte, last bool) {
	if s.events == nil {
		if len(p) > 0 {
			s.piece(p, last)
		}
		return
	}
	for len(p) > 0 {
		n, cut := s.events.Next(p)
		s.piece(p[:n], cut == tap.CutFrame)
		p = p[n:]
	}
}

// asBytes records bytes that could not be decoded.
func (s *sink) asBytes(p []byte) { s.rec.Piece(s.ex.n, s.lane, tap.FormBytes, p, true) }

// maxEventBegin is how much of an event is kept, to see whether it has data.
const maxEventBegin = 256

func (s *sink) piece(p []byte, end bool) {
	if !s.open {
		s.event = s.event[:0]
	}
	if s.events != nil && len(s.event) < maxEventBegin {
		s.event = append(s.event, p[:min(len(p), maxEventBegin-len(s.event))]...)
	}
	s.open = !end
	s.rec.Piece(s.ex.n, s.lane, s.form, p, end)
}

// endFrame ends the current frame, if there is one.
func (s *sink) endFrame() {
	if s.open {
		s.piece(nil, true)
	}
}

// close records the rest. complete reports that the body ended properly.
func (s *sink) close(complete bool) {
	if s == nil {
		return
	}
	if complete {
		for i := 0; i < len(s.chain); i++ {
			if err := s.through(i, s.chain[i].finish); err != nil {
				s.failed(nil, err)
			}
		}
	}
	s.closeChain()
	if complete && s.open && s.events != nil && !s.events.Blank() && len(tap.ParseServerSentEvent(s.event).Data) > 0 {
		s.side.note(tap.EndWithinEvent)
	}
	s.endFrame()
}
