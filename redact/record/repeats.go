package record

import (
	"sync"

	"github.com/mcptap/mcptap/redact"
	"github.com/mcptap/mcptap/tap"
)

// repeats masks values that were masked before wherever they are repeated: in a body, an
// error, a target. As a secret may span two pieces of a frame, the possible beginning of
// one is held until the next piece.
type repeats struct {
	mu   sync.Mutex
	held map[stream]heldPiece
}

// A heldPiece is the end of the previous pieces, shorter than a secret.
type heldPiece struct {
	form tap.Form
	redact.Held
}

// piece returns the bytes to record after another piece.
func (r *repeats) piece(values *redact.Values, at stream, form tap.Form, p []byte, end bool) []byte {
	out, hold := values.Stream(r.take(at).Held, p, end)
	if !end {
		r.mu.Lock()
		r.held[at] = heldPiece{form, hold}
		r.mu.Unlock()
	}
	return out
}

func (r *repeats) take(at stream) heldPiece {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.held[at]
	delete(r.held, at)
	return h
}

// event masks repeated values in an event.
func (r *repeats) event(values *redact.Values, e *tap.Event) {
	for _, text := range []*string{&e.Target, &e.Error, &e.Reason, &e.Before, &e.After} {
		*text = values.Text(*text)
	}
	for _, list := range [][][2]string{e.Header, e.Trailer} {
		for i := range list {
			list[i][1] = values.Text(list[i][1])
		}
	}
}
