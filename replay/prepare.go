package replay

import "github.com/mcptap/mcptap/tap"

// A Preparer does what of a [Builder]'s work needs nothing but the message itself.
// It has no share in the Builder's state, so another goroutine can do that while
// the Builder is at the messages before.
type Preparer struct{ keyer keyer }

// Preparer makes a Preparer for what this Builder is to be given.
func (b *Builder) Preparer() *Preparer {
	return &Preparer{keyer{hasher{seeds: b.s.seeds}, b.s.opt.Ignore}}
}

// A Prepared is what a [Preparer] says of a message. It points into the frame.
type Prepared struct {
	message *tap.Message
	// key is what a request or a notification of the client's is matched by.
	key keyed
	// id is where the id stands in an answer of the server's, if it has one.
	id    span
	hasID bool
}

// Prepare reads the message of a frame, nil for none.
func (p *Preparer) Prepare(f *tap.Frame, m *tap.Message) Prepared {
	if m == nil {
		return Prepared{}
	}
	return p.prepare(f.Lane, f.Raw, m)
}

func (p *Preparer) prepare(lane tap.Lane, raw []byte, m *tap.Message) Prepared {
	x := Prepared{message: m}
	switch {
	case lane == tap.ToServer && (m.Kind == tap.Request || m.Kind == tap.Notification):
		x.key = p.keyer.key(m)
	case lane == tap.ToClient && (m.Kind == tap.Response || m.Kind == tap.ErrorResponse):
		x.id, x.hasID = find(raw, begin(raw), "id")
		x.hasID = x.hasID && classAt(raw, x.id.from) != 'n'
	}
	return x
}
