package replay

import (
	"bytes"
	"strconv"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// unfit reports whether a step must not be sent to this client: the client lacks the
// capability, gave no token, subscription or task that the message could name, or does not request log
// messages of its level.
func (s *Session) unfit(r *reply, n uint32) bool {
	st := &s.script.steps[n]
	if st.needs&^s.can&s.script.eras.can != 0 {
		s.skipped(r, n, "lacks the capability for it")
		return true
	}
	if r.modern && st.notice && st.call == r.trigger && s.silences(r, st) {
		return true
	}
	for _, x := range st.edits {
		if x.kind == editOwn || s.value(x, r) != nil {
			continue
		}
		if x.kind == editTask {
			s.skipped(r, n, "has not created the task that it refers to")
		}
		return true
	}
	return false
}

// silences reports whether a step is a log message that the recorded request asked for with its
// logLevel, but the live one does not (2026-07-28 server/utilities/logging).
func (s *Session) silences(r *reply, st *step) bool {
	if m := jsonrpc.Peek(st.raw); m.Method != "notifications/message" {
		return false
	}
	rank := func(raw []byte, names ...string) int {
		return session.LogLevel(jsonrpc.Value(Value(raw, names...)).Decoded())
	}
	level := rank(st.raw, "params", "level")
	asked := rank(s.script.triggers[r.trigger].raw, "params", "_meta", jsonrpc.MetaPrefix+"logLevel")
	return level >= asked && level < session.LogLevel(r.level)
}

// skipped notes that a server request is not sent. The gate after it must not wait for the
// answer to an earlier request.
func (s *Session) skipped(r *reply, n uint32, why string) {
	st := &s.script.steps[n]
	s.questions.forget(n)
	r.waived = max(r.waived, st.answer) // the answer will not come
	x := Note{Kind: NoteSkipped, Live: r.live, Frame: st.ref}
	x.Method, x.Subject = names(st.raw)
	x.Text = x.Method + " (frame " + strconv.FormatUint(st.ref.Seq, 10) + ") was not sent, since the client " + why
	s.note(x)
}

// value returns the live value for an edit other than editOwn, nil for none.
func (s *Session) value(x edit, r *reply) []byte {
	switch q := s.questions.by[x.about]; {
	case x.kind == editTask:
		return s.tasks[x.about]
	case x.kind == editAsked && q == nil:
		return nil
	case x.kind == editAsked:
		return q.id
	}
	if r.hangs || r.trigger != x.about {
		if r = s.bound[x.about]; r == nil {
			return nil
		}
	}
	if x.kind == editToken {
		return r.token
	}
	return r.id
}

// bytes returns the message of a step with the live client's values. It assigns ids to server
// requests.
func (s *Session) bytes(r *reply, n uint32) []byte {
	st := &s.script.steps[n]
	raw := st.raw
	if len(st.edits) == 0 && st.final && s.streams.hasDuplex {
		// Over HTTP an answer may lack the id, as its exchange identifies the request.
		// On a stream for everything nothing but the id does.
		return Rewrite(raw, r.id, nameID...)
	}
	for _, x := range st.edits {
		recorded := Value(raw, x.names...)
		var value []byte
		if x.kind == editOwn {
			value = s.questions.send(n, recorded, s.now+s.script.opt.GateTimeout).id
		} else {
			value = s.value(x, r)
		}
		// A server may spell an id in its own way.
		if bytes.ContainsAny(recorded, `\.eE`) && canonical(recorded) == canonical(value) {
			continue
		}
		raw = Rewrite(raw, value, x.names...)
	}
	return raw
}

// ownAnswer returns a generated response as a line.
func ownAnswer(id []byte, member string, value []byte) []byte {
	return bytes.Join([][]byte{[]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"` + member + `":`), value, []byte("}\n")}, nil)
}

// Rewrite returns a copy of a message with the value at the given path of member names replaced.
// If a name occurs more than once, the last one counts. It returns the message itself if there is
// no such value.
func Rewrite(message, value []byte, names ...string) []byte {
	from := begin(message)
	v, _ := new(jsontree.Reader).ParseTop(message[from:], len(names)) // absent if it is not JSON
	if v = v.Get(names...); !v.Exists() {
		return message
	}
	from += v.Offset()
	return bytes.Join([][]byte{message[:from], value, message[from+len(v.Raw()):]}, nil)
}

// Value returns the JSON text of the value at the given path of member names, nil for none.
func Value(message []byte, names ...string) []byte {
	return jsonrpc.Value(message[begin(message):]).Get(names...)
}

// elements returns the first n elements of a batch.
func elements(batch []byte, n int) (all []jsontree.Value) {
	v, _ := new(jsontree.Reader).ParseTop(batch[begin(batch):], 1)
	for _, e := range v.All() {
		if len(all) < n {
			all = append(all, e)
		}
	}
	return all
}

// begin returns the offset of the message in a frame, after white space and a byte order
// mark.
func begin(frame []byte) int {
	const space = " \t\r\n"
	rest := bytes.TrimLeft(frame, space)
	rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte("\ufeff")), space)
	return len(frame) - len(rest)
}
