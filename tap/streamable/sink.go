package streamable

import (
	"fmt"
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// A sink records one body, or whatever else crosses one lane of an exchange. It
// is given the body's bytes without their transfer coding, piece by piece, and
// undoes content codings, cuts events and masks secrets on the way to the
// recorder.
type sink struct {
	*site
	ex   *exchange
	lane tap.Lane
	side *side

	form   tap.Form
	events *tap.SSESplitter // for an event stream
	// first holds the beginning of an event stream that may be the endpoint
	// event of HTTP+SSE, whose session id must be masked.
	first *firstEvent
	// secret holds a body that may have tokens in it, until it can be masked.
	secret *secretBody

	chain []*decoder
	coded []byte // while nothing has been decoded
	plain bool   // something has been, or too much would have to be kept
	// bytes says that the rest is recorded as it crosses: it could not be
	// decoded.
	bytes bool

	late []byte // the last bytes, of which it is not known yet whether more follow
	open bool   // a frame was begun
}

// A secretBody is the beginning of a body that is masked as a whole.
type secretBody struct {
	mask func([]byte) ([]byte, []string)
	data []byte
	over bool // it was too large
}

// newSink returns a sink for the body behind the head h.
func (tr *traffic) newSink(ex *exchange, lane tap.Lane, h *head) *sink {
	s := &sink{site: tr.site, ex: ex, lane: lane, side: &ex.up, form: tap.FormBody}
	media := mediaType(h)
	if lane == tap.ToClient {
		s.side = &ex.down
		if media == "text/event-stream" {
			s.form, s.events = tap.FormEvent, new(tap.SSESplitter)
			if ex.method == "GET" && !tr.mask.keep {
				s.first = new(firstEvent)
			}
		}
	}
	if lane == tap.ToServer && media == typeForm {
		ex.secret = true // what a form asks for may be a token
	}
	if !tr.mask.keep && s.events == nil {
		s.secret = tr.secretBody(ex, media)
	}
	if codings := contentCodings(h); len(codings) > 0 {
		s.side.coding = fmt.Sprintf("%.100s", strings.Join(codings[:min(len(codings), maxCodings)], ", "))
		s.decode(codings)
	}
	return s
}

// secretBody decides whether a body is masked, and how.
func (tr *traffic) secretBody(ex *exchange, media string) *secretBody {
	switch {
	case media == typeForm:
		return &secretBody{mask: func(p []byte) ([]byte, []string) {
			masked, names := tr.mask.form(string(p))
			return []byte(masked), names
		}}
	case ex.secret && isJSON(media):
		return &secretBody{mask: tr.mask.json}
	case ex.secret && media == typeMultipart:
		return &secretBody{mask: tr.mask.multipart}
	case ex.secret && media == "":
		return &secretBody{mask: tr.mask.unnamed}
	}
	return nil
}

// maxCodings is how many codings, one on the other, are undone.
const maxCodings = 4

// decode sets up the decoders for codings that were applied in this order.
func (s *sink) decode(codings []string) {
	if len(codings) > maxCodings {
		s.undecoded(fmt.Errorf("%d codings on each other are too many", len(codings)))
		return
	}
	for _, c := range codings {
		if decoders[c] == nil {
			s.undecoded(fmt.Errorf("%.100q is not known", c))
			return
		}
	}
	for i := len(codings) - 1; i >= 0; i-- {
		s.chain = append(s.chain, newDecoder(decoders[codings[i]]))
	}
}

// write records the next bytes of the body. They must stay as they are until
// the next flush.
func (s *sink) write(p []byte) {
	switch {
	case len(p) == 0:
	case s.bytes:
		s.asBytes(p)
	case len(s.chain) > 0:
		s.writeCoded(p)
	default:
		s.content(p)
	}
}

func (s *sink) writeCoded(p []byte) {
	if !s.plain && len(s.coded)+len(p) <= maxSecretBody {
		s.coded = append(s.coded, p...)
	} else {
		s.plain, s.coded = true, nil
	}
	if err := s.push(0, p); err != nil {
		s.failed(p, err)
	}
}

// push sends p through the decoders from the i-th on.
func (s *sink) push(i int, p []byte) error {
	if i == len(s.chain) {
		s.plain, s.coded = true, nil
		s.content(p)
		s.flush() // the decoder's memory is used again
		return nil
	}
	var deeper error
	err := s.chain[i].write(p, func(b []byte) {
		if deeper == nil {
			deeper = s.push(i+1, b)
		}
	})
	if err != nil {
		return err
	}
	return deeper
}

// failed goes on with a body that cannot be decoded (further). Where nothing
// was decoded it is recorded as it is, otherwise the rest from p on.
func (s *sink) failed(p []byte, err error) {
	coded := s.coded
	s.undecoded(err)
	if !s.plain {
		s.form, s.events, s.first = tap.FormBody, nil, nil
		s.content(coded)
		s.flush()
		return
	}
	if s.secret != nil {
		return // what was decoded may be masked; the rest cannot be
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
	further, rest := "", "the body"
	if s.plain {
		further, rest = " further", "the rest of the body"
	}
	s.side.note(fmt.Sprintf("the coding %s could not be undone%s: %v", s.side.coding, further, err))
	if s.secret != nil {
		s.secret.over = true
		s.side.note(rest + " was not recorded, as there may be tokens in it")
	}
}

func (s *sink) closeChain() {
	for _, d := range s.chain {
		d.close()
	}
	s.chain, s.coded = nil, nil
}

// content records decoded bytes.
func (s *sink) content(p []byte) {
	switch {
	case s.secret != nil:
		s.keep(p)
	case s.events != nil:
		s.cutEvents(p)
	default:
		s.flush()
		s.late = p
	}
}

// keep holds what may have tokens in it.
func (s *sink) keep(p []byte) {
	switch {
	case s.secret.over:
	case len(s.secret.data)+len(p) > maxSecretBody:
		s.secret.over, s.secret.data = true, nil
		s.side.note(fmt.Sprintf("the body was not recorded, as there may be tokens in it and it has more than %d KiB", maxSecretBody>>10))
	default:
		s.secret.data = append(s.secret.data, p...)
	}
}

func (s *sink) cutEvents(p []byte) {
	for len(p) > 0 {
		n, cut := s.events.Next(p)
		if s.first != nil {
			s.firstEvent(p[:n], cut == tap.CutFrame)
		} else {
			s.piece(p[:n], cut == tap.CutFrame)
		}
		p = p[n:]
	}
}

// asBytes records what could not be read.
func (s *sink) asBytes(p []byte) { s.rec.Piece(s.ex.n, s.lane, tap.FormBytes, p, true) }

func (s *sink) piece(p []byte, end bool) {
	s.open = !end
	s.rec.Piece(s.ex.n, s.lane, s.form, p, end)
}

// flush records what was written. Nothing is kept that points into it.
func (s *sink) flush() {
	if s != nil && len(s.late) > 0 {
		s.piece(s.late, false)
		s.late = nil
	}
}

// endFrame ends the frame that was begun, if there is one.
func (s *sink) endFrame() {
	if s.open || len(s.late) > 0 {
		s.piece(s.late, true)
		s.late = nil
	}
}

// close records what is left. complete says that the body came to its end.
func (s *sink) close(complete bool) {
	if s == nil {
		return
	}
	if complete {
		for i := 0; i < len(s.chain); i++ {
			if err := s.finish(i); err != nil {
				s.failed(nil, err)
			}
		}
	}
	s.closeChain()
	if s.secret != nil && len(s.secret.data) > 0 {
		masked, names := s.secret.mask(s.secret.data)
		for _, name := range names {
			s.side.masked = appendNew(s.side.masked, "body "+name)
		}
		s.secret = nil
		s.piece(masked, true)
	}
	if s.first != nil {
		s.firstEvent(nil, true)
	}
	s.endFrame()
}

// finish ends the i-th decoder, and sends what comes of it through the others.
func (s *sink) finish(i int) error {
	var deeper error
	err := s.chain[i].finish(func(b []byte) {
		if deeper == nil {
			deeper = s.push(i+1, b)
		}
	})
	if err != nil {
		return err
	}
	return deeper
}
