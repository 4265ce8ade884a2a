package replay

import (
	"bytes"
	"strconv"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// unfit reports whether a step cannot be written for this client: the client gave
// no token or subscription that it could be about, or must not be asked this.
func (s *Session) unfit(p *play, n uint32) bool {
	it := &s.script.items[n]
	if lacks := it.needs &^ s.can; lacks != 0 {
		if lacks&s.script.eras.can != 0 {
			s.skipped(p, n, "lacks the capability for it")
			return true
		}
	}
	for _, x := range s.script.patchesOf(it) {
		switch x.kind {
		case patchID, patchToken:
			if s.value(x, p) == nil {
				return true
			}
		case patchAsked:
			if s.asks.by[x.ref] == nil {
				return true
			}
		case patchTask:
			if s.tasks[x.ref] == nil {
				s.skipped(p, n, "has not made the task that it is about")
				return true
			}
		}
	}
	return false
}

// skipped notes that the client is not asked something. The gate behind it must
// not wait for the answer to an earlier one.
func (s *Session) skipped(p *play, n uint32, why string) {
	s.asks.forget(n)
	p.waived = max(p.waived, s.script.asked[n].cue) // which will not come
	x := Note{Kind: NoteSkipped, Live: p.live, Frame: s.script.items[n].message()}
	if m, _, err := s.script.message(s.script.items[n].place); err == nil {
		x.Method, x.Subject = m.Method, jsonrpc.Subject(m)
	}
	x.Text = x.Method + " (frame " + strconv.FormatUint(x.Frame.Seq, 10) + ") was not sent, since the client " + why
	s.note(x)
}

func (s *Script) patchesOf(it *item) []patch {
	return s.patches[it.patch : it.patch+uint32(it.patches)]
}

// value is what stands in the place of an id or a token of a cue, nil for nothing.
func (s *Session) value(x patch, p *play) []byte {
	if p.hangs || p.cue != x.ref {
		if p = s.bound[x.ref]; p == nil {
			return nil
		}
	}
	if x.kind == patchToken {
		return p.token
	}
	return p.id
}

// bytes are those of a step with what is the live client's in the places of what
// was the recorded one's. A request of the server's gets its id here.
func (s *Session) bytes(p *play, n uint32) ([]byte, error) {
	it := &s.script.items[n]
	raw, err := it.place.load(s.script.spool)
	if err != nil {
		return nil, err
	}
	patches := s.script.patchesOf(it)
	if len(patches) == 0 {
		if it.has(itemFinal) && s.streams.hasDuplex {
			// An answer without the id over HTTP, where the exchange says what it
			// answers. On one stream for all, nothing else does.
			return Rewrite(raw, p.id, "id"), nil
		}
		return raw, nil
	}
	out := make([]byte, 0, len(raw)+64)
	from := uint32(0)
	for _, x := range patches {
		var value []byte
		switch x.kind {
		case patchID, patchToken:
			value = s.value(x, p)
		case patchOwn:
			if s.asks.by[n] != nil { // its call is played again, and others may wait for the first
				s.asks.next = max(s.asks.next, s.script.ownIDs)
			}
			value = s.asks.send(n, raw[x.from:x.to], s.now+s.script.opt.GateTimeout).id
		case patchAsked:
			value = s.asks.by[x.ref].id
		case patchTask:
			value = s.tasks[x.ref]
		}
		if recorded := raw[x.from:x.to]; odd(recorded) && word(recorded) == word(value) {
			value = recorded
		}
		out = append(append(out, raw[from:x.from]...), value...)
		from = x.to
	}
	out = append(out, raw[from:]...)
	return out, nil
}

// odd reports whether an id is spelled in a way that another one might not be: the
// server's own way, then, to spell what the client said.
func odd(id []byte) bool { return bytes.ContainsAny(id, `\.eE`) }

// ownAnswer is an answer that no recording has, as a line.
func ownAnswer(id []byte, member string, value []byte) []byte {
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	b.Write(id)
	b.WriteString(`,"` + member + `":`)
	b.Write(value)
	b.WriteString("}\n")
	return b.Bytes()
}
