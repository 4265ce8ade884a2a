package replay

import (
	"fmt"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Preparer does what of a [Builder]'s work needs nothing but the message itself: it
// puts it into the spool, and reads what it is matched by. It has no share in the
// rest of the Builder's state, so another goroutine can do that while the Builder is
// at the messages before.
type Preparer struct {
	keyer keyer
	spool Spool
	off   *uint64 // how much is in the spool
}

// Preparer makes a Preparer for what this Builder, and others like it, are to be
// given. All of them are to be given what it has prepared, in that order.
func (b *Builder) Preparer() *Preparer {
	return &Preparer{keyer{hasher{seeds: b.s.seeds}, b.s.opt.Ignore}, b.s.spool, b.off}
}

// A Prepared is what a [Preparer] says of a message. It points into the frame.
type Prepared struct {
	message *jsonrpc.Message
	// place is where it is in the spool, err why it is not.
	place place
	err   error
	// key is what a request or a notification of the client's is matched by.
	key keyed
	// id is where the id stands in a request of the client's or an answer of the
	// server's, if it has one.
	id    span
	hasID bool
}

// Prepare reads the message of a frame, nil for none.
func (p *Preparer) Prepare(f *tap.Frame, m *jsonrpc.Message) Prepared {
	if m == nil {
		return Prepared{}
	}
	x := p.prepare(f.Lane, f.Raw, m)
	switch {
	case m.Kind == jsonrpc.Other || f.Lane != tap.ToServer && f.Lane != tap.ToClient:
	case len(f.Raw) > maxSize:
		x.err = fmt.Errorf("frame %d: %w", f.Seq, ErrTooLarge)
	default:
		x.place = place{off: *p.off, size: uint32(len(f.Raw))}
		n, err := p.spool.Write(f.Raw)
		if *p.off += uint64(n); err != nil {
			x.err = fmt.Errorf("keep frame %d: %w", f.Seq, err)
		}
	}
	return x
}

func (p *Preparer) prepare(lane tap.Lane, raw []byte, m *jsonrpc.Message) Prepared {
	x := Prepared{message: m}
	switch {
	case lane == tap.ToServer && (m.Kind == jsonrpc.Request || m.Kind == jsonrpc.Notification):
		x.key = p.keyer.key(m)
		if m.Kind == jsonrpc.Request {
			x.id, x.hasID = idIn(raw, m)
		}
	case lane == tap.ToClient && (m.Kind == jsonrpc.Response || m.Kind == jsonrpc.ErrorResponse):
		x.id, x.hasID = idIn(raw, m)
		x.hasID = x.hasID && classAt(raw, x.id.from) != 'n'
	}
	return x
}

// idIn finds the id of a message. Most of the time it need not be looked for.
func idIn(raw []byte, m *jsonrpc.Message) (span, bool) {
	if at := cap(raw) - cap(m.ID); len(m.ID) > 0 && len(m.DuplicateKeys) == 0 && at >= 0 && at+len(m.ID) <= len(raw) && &raw[at] == &m.ID[0] {
		return span{at, at + len(m.ID)}, true
	}
	return find(raw, begin(raw), "id")
}
