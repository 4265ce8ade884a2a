package streamable

import (
	"sync"

	"github.com/mcptap/mcptap/redact"
	"github.com/mcptap/mcptap/tap"
)

// A repeatMasker stands before a recorder and masks what was masked before wherever it is
// repeated: in a body, in an error, in a target. A secret may lie across two pieces of
// a frame, so the beginning of what may be one is held until the next piece.
type repeatMasker struct {
	next   tap.StreamRecorder
	masker *masker
	mu     sync.Mutex
	held   map[lane]heldPiece
}

// A lane is one of an exchange.
type lane struct {
	exchange uint64
	lane     tap.Lane
}

// A heldPiece is the end of the pieces so far, of fewer bytes than a secret has.
type heldPiece struct {
	form tap.Form
	redact.Held
}

func newRepeatMasker(next tap.StreamRecorder, masker *masker) *repeatMasker {
	return &repeatMasker{next: next, masker: masker, held: map[lane]heldPiece{}}
}

// Piece implements [tap.StreamRecorder].
func (m *repeatMasker) Piece(exchange uint64, of tap.Lane, form tap.Form, p []byte, end bool) {
	values := m.masker.values.Load()
	if values == nil {
		m.next.Piece(exchange, of, form, p, end)
		return
	}
	at := lane{exchange, of}
	before := m.take(at)
	out, hold := values.Stream(before.Held, p, end)
	if !end {
		m.mu.Lock()
		m.held[at] = heldPiece{form, hold}
		m.mu.Unlock()
	}
	if len(out) > 0 || end {
		m.next.Piece(exchange, of, form, out, end)
	}
}

func (m *repeatMasker) take(at lane) heldPiece {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.held[at]
	delete(m.held, at)
	return h
}

// Event implements [tap.StreamRecorder].
func (m *repeatMasker) Event(exchange uint64, event tap.Event) {
	if event.Name == tap.EventEnd {
		for _, of := range []tap.Lane{tap.ToServer, tap.ToClient} {
			if h := m.take(lane{exchange, of}); len(h.Data) > 0 { // the frame has no end
				m.next.Piece(exchange, of, h.form, h.Data, false)
			}
		}
	}
	if values := m.masker.values.Load(); values != nil {
		for _, text := range []*string{&event.Target, &event.Error, &event.Reason, &event.Before, &event.After} {
			*text = values.Text(*text)
		}
		event.Header, event.Trailer = maskFields(values, event.Header), maskFields(values, event.Trailer)
	}
	m.next.Event(exchange, event)
}

func maskFields(values *redact.Values, list [][2]string) [][2]string {
	for i := range list {
		list[i][1] = values.Text(list[i][1])
	}
	return list
}
