package replay

import (
	"bytes"
	"strconv"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// unfit reports whether a step cannot be written for this client: the client gave
// no token or subscription that it could be about, or must not be asked this.
func (s *Session) unfit(r *reply, n uint32) bool {
	st := &s.script.steps[n]
	if lacks := st.needs &^ s.can; lacks != 0 {
		if lacks&s.script.eras.can != 0 {
			s.skipped(r, n, "lacks the capability for it")
			return true
		}
	}
	for _, x := range s.script.patchesOf(st) {
		switch x.kind {
		case patchID, patchToken:
			if s.value(x, r) == nil {
				return true
			}
		case patchAsked:
			if s.questions.by[x.ref] == nil {
				return true
			}
		case patchTask:
			if s.tasks[x.ref] == nil {
				s.skipped(r, n, "has not made the task that it is about")
				return true
			}
		}
	}
	return false
}

// skipped notes that the client is not asked something. The gate behind it must
// not wait for the answer to an earlier one.
func (s *Session) skipped(r *reply, n uint32, why string) {
	s.questions.forget(n)
	r.waived = max(r.waived, s.script.asked[n].trigger) // which will not come
	x := Note{Kind: NoteSkipped, Live: r.live, Frame: s.script.steps[n].message()}
	x.Method, x.Subject = s.script.names(s.script.steps[n].place)
	x.Text = x.Method + " (frame " + strconv.FormatUint(x.Frame.Seq, 10) + ") was not sent, since the client " + why
	s.note(x)
}

func (s *Script) patchesOf(st *step) []patch {
	return s.patches[st.patch : st.patch+uint32(st.patches)]
}

// value is what stands in the place of an id or a token of a trigger, nil for nothing.
func (s *Session) value(x patch, r *reply) []byte {
	if r.hangs || r.trigger != x.ref {
		if r = s.bound[x.ref]; r == nil {
			return nil
		}
	}
	if x.kind == patchToken {
		return r.token
	}
	return r.id
}

// bytes are those of a step with what is the live client's in the places of what
// was the recorded one's. A request of the server's gets its id here.
func (s *Session) bytes(r *reply, n uint32) ([]byte, error) {
	st := &s.script.steps[n]
	raw, err := st.place.load(s.script.spool)
	if err != nil {
		return nil, err
	}
	patches := s.script.patchesOf(st)
	if len(patches) == 0 {
		if st.has(stepFinal) && s.streams.hasDuplex {
			// An answer without the id over HTTP, where the exchange says what it
			// answers. On one stream for all, nothing else does.
			return Rewrite(raw, r.id, "id"), nil
		}
		return raw, nil
	}
	out := make([]byte, 0, len(raw)+64)
	from := uint32(0)
	for _, x := range patches {
		var value []byte
		switch x.kind {
		case patchID, patchToken:
			value = s.value(x, r)
		case patchOwn:
			if s.questions.by[n] != nil { // its call is played again, and others may wait for the first
				s.questions.next = max(s.questions.next, s.script.ownIDs)
			}
			value = s.questions.send(n, raw[x.from:x.to], s.now+s.script.opt.GateTimeout).id
		case patchAsked:
			value = s.questions.by[x.ref].id
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

// Rewrite returns a message in which the value that the names lead to is another
// one, and all else is as it was; the message itself if it has no such value.
func Rewrite(message, value []byte, names ...string) []byte {
	at, ok := find(message, names...)
	if !ok {
		return message
	}
	return bytes.Join([][]byte{message[:at.from], value, message[at.to:]}, nil)
}

// Value returns the value that the names lead to, as it stands, nil for none.
func Value(message []byte, names ...string) []byte {
	return jsonrpc.Value(message[begin(message):]).Get(names...)
}

// A span is a part of a frame.
type span struct{ from, to int }

func (s span) of(raw []byte) []byte { return raw[s.from:s.to:s.to] }

// find returns where the value stands in a message that the names lead to. Of two members
// of one name the last counts.
func find(message []byte, names ...string) (span, bool) {
	from := begin(message)
	var r jsontree.Reader
	v, err := r.ParseTop(message[from:], len(names))
	if err != nil {
		return span{}, false
	}
	v = v.Get(names...)
	from += v.Offset()
	return span{from, from + len(v.Raw())}, v.Exists()
}

// elements returns where the first n elements of a batch stand.
func elements(batch []byte, n int) (all []span) {
	from := begin(batch)
	var r jsontree.Reader
	v, err := r.ParseTop(batch[from:], 1)
	if err != nil {
		return nil
	}
	for _, e := range v.All() {
		if len(all) == n {
			break
		}
		all = append(all, span{from + e.Offset(), from + e.Offset() + len(e.Raw())})
	}
	return all
}

// begin returns the offset of the message in a frame: behind white space and a byte order
// mark.
func begin(frame []byte) int {
	const space = " \t\r\n"
	rest := bytes.TrimLeft(frame, space)
	rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte("\ufeff")), space)
	return len(frame) - len(rest)
}
