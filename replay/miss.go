package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// miss answers a request that matches no recorded one. It always sends an error: a client
// without a response would not show what is wrong.
func (s *Session) miss(stream Stream, m *jsonrpc.Message, k *keyed, f fate) {
	n := Note{Kind: NoteMiss, Method: m.Method, Subject: jsonrpc.Subject(*m)}
	code := codeParams
	near := uint32(0)
	n.Text = "no recorded response for " + RequestName(n.Method, n.Subject)
	if f == fateUsed {
		q := s.script.index.queues[k.variant(s.variant)]
		near = q[len(q)-1]
		n.Kind, n.Frame, n.UsedBy = NoteUsedUp, s.script.triggers[near].ref, s.arrived[near].live
		n.Text += fmt.Sprintf(" is left: the last was that of frame %d, which %s", n.Frame.Seq, usedBy(n.UsedBy))
	} else if near = s.nearest(&n, m, k); near != 0 {
		n.Text += fmt.Sprintf(": the nearest is frame %d, which %s", n.Frame.Seq, s.difference(&n, k, near))
		if s.script.triggers[near].modern != k.modern {
			code = codeNoMethod
		}
	} else {
		code = codeNoMethod
		n.Text += ": the recording has no requests"
		if len(s.script.index.kinds) > 0 {
			n.Text = strings.TrimSuffix(n.Text, "requests") + m.Method + ", only " + s.methods()
		}
	}
	s.note(n)
	s.refuse(stream, m, code, &n)
}

// RequestName returns the name of a request in texts: its method and its subject.
func RequestName(method, subject string) string {
	if subject == "" {
		return method
	}
	return method + " " + subject
}

func usedBy(live uint64) string {
	if live == 0 {
		return "has not been used"
	}
	return "was already used for the client's message " + strconv.FormatUint(live, 10)
}

// difference describes how the nearest request differs.
func (s *Session) difference(n *Note, k *keyed, near uint32) string {
	var words []string
	switch modern := s.script.triggers[near].modern; {
	case modern && !k.modern:
		words = append(words, "has io.modelcontextprotocol/protocolVersion in its _meta, as each request of 2026-07-28 (this one does not)")
	case k.modern && !modern:
		words = append(words, "was recorded after a handshake (this request has a protocolVersion in its _meta)")
	}
	if len(n.Differences) > 0 {
		var paths []string
		for _, d := range n.Differences[:min(3, len(n.Differences))] {
			paths = append(paths, d.String())
		}
		text := "differs at " + strings.Join(paths, ", ")
		if more := len(n.Differences) - len(paths) + n.More; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		words = append(words, text)
	}
	if n.UsedBy != 0 {
		words = append(words, usedBy(n.UsedBy))
	}
	if status := s.status(near); status >= 400 && !s.playable(near) {
		words = append(words, fmt.Sprintf("got HTTP %d, which can be played over HTTP only (use --listen)", status))
	}
	if len(words) == 0 {
		return "has no difference that can be shown"
	}
	return strings.Join(words, " and ")
}

// methods lists the methods of the recorded requests.
func (s *Session) methods() string {
	const most = 10
	names := slices.Sorted(maps.Keys(s.script.index.kinds))
	if n := len(names) - most; n > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, ", ")
}

// nearest returns the recorded request with the fewest differences, 0 for none, and describes it
// in n. It compares the requests for the same tool, prompt, resource or task, or else those with
// the same method. Of several it prefers the first unused one.
func (s *Session) nearest(n *Note, m *jsonrpc.Message, k *keyed) (best uint32) {
	least := maxCounted + 1
	live := s.keyer.params(m)
	for _, t := range s.candidates(k) {
		x := &s.script.triggers[t]
		recorded := jsonrpc.Peek(x.raw)
		found, count := differences(s.keyer.params(&recorded), live, "params", min(maxCounted, least+1))
		used := s.arrived[t].live
		if count < least || count == least && n.UsedBy != 0 && used == 0 {
			best, least = t, count
			n.Frame = x.ref
			n.UsedBy, n.Differences, n.More = used, found, count-len(found)
		}
	}
	return best
}

// candidates returns the requests to compare with an unmatched one: the next unused ones, and
// the first used ones.
func (s *Session) candidates(k *keyed) (found []uint32) {
	q, cur := s.queue(k.near())
	if len(q) == 0 {
		return s.script.index.kinds[k.method]
	}
	s.skipUsed(q, cur)
	found = append(found, q[cur.had:min(len(q), cur.had+MaxNear/2)]...)
	return append(found, q[:min(cur.had, MaxNear-len(found))]...)
}

// refuse answers with an error that has the content of a note.
func (s *Session) refuse(stream Stream, m *jsonrpc.Message, code string, n *Note) {
	x := struct {
		Kind        string       `json:"kind"`
		Frame       uint64       `json:"nearest_frame,omitempty"`
		UsedBy      uint64       `json:"used_by,omitempty"`
		Differences []Difference `json:"differences,omitempty"`
		More        int          `json:"more_differences,omitempty"`
	}{n.Kind.String(), n.Frame.Seq, n.UsedBy, n.Differences, n.More}
	s.fail(stream, m.ID, code, "mcptap mock: "+n.Text, map[string]any{"mcptap": x})
}

// fail answers with an error.
func (s *Session) fail(stream Stream, id []byte, code, message string, data any) {
	value := struct {
		Code    json.Number `json:"code"`
		Message string      `json:"message"`
		Data    any         `json:"data,omitempty"`
	}{json.Number(code), message, data}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // strings and numbers cannot fail
	s.respond(stream, id, "error", bytes.TrimSpace(b.Bytes()))
}

// respond sends a generated response.
func (s *Session) respond(stream Stream, id []byte, member string, value []byte) {
	out := Output{Stream: stream, Raw: ownAnswer(id, member, value), Line: true}
	if s.streams.hasDuplex {
		out.Stream = s.streams.duplex
	}
	out.Last = s.streams.answered(stream)
	s.outbox = append(s.outbox, out)
}

// invalid handles a frame, or an element of a batch, that is not a message. If it was recorded,
// it is a trigger. Otherwise it is answered with an error, as most servers do.
func (s *Session) invalid(stream Stream, m *jsonrpc.Message, raw []byte) {
	key, ok := invalidKey(raw)
	if !ok {
		return
	}
	if t, fate := s.take(key); fate != fateNone {
		if fate == fateFresh {
			s.arrive(t)
		} else if t != 0 && s.script.triggers[t].carrier == t {
			s.carry(t)
		}
		return
	}
	code := codeParse
	if !strings.HasPrefix(m.Reason, "not JSON") {
		code = codeNoRequest
	}
	n := Note{Kind: NoteMiss, Text: "the client sent an invalid message: " + m.Reason}
	s.note(n)
	s.streams.expect(stream)
	s.fail(stream, []byte("null"), code, "mcptap mock: "+n.Text, nil)
}

// maxCounted is the maximum number of differences that are counted.
const maxCounted = 1000

// differences compares two values of the same member of two messages. It returns the first
// [MaxDifferences] differences, and the number of differences, counted up to most.
func differences(recorded, live jsontree.Value, member string, most int) (found []Difference, n int) {
	jsontree.Compare(recorded, live, jsontree.Path{jsontree.To(member)}, func(c *jsontree.Change) bool {
		if c.Kind == jsontree.Repeated || c.Kind == jsontree.Respelled && c.A.Kind() != jsontree.String {
			return true // equal
		}
		if n++; n <= MaxDifferences {
			d := Difference{c.Path.String(), shorten(c.A.Raw()), shorten(c.B.Raw())}
			if c.Kind == jsontree.Moved {
				d.Live += " at [" + strconv.Itoa(c.To) + "]"
			}
			found = append(found, d)
		}
		return n < most
	})
	return found, n
}

// differ adds to a note the differences between two values of the same member.
func (n *Note) differ(recorded, live jsontree.Value, member string) {
	found, count := differences(recorded, live, member, maxCounted)
	n.Differences, n.More = found, count-len(found)
}

// contains reports whether the live value has everything that the recorded one has.
func contains(live, recorded jsontree.Value) bool {
	if recorded.Kind() != jsontree.Object || live.Kind() != jsontree.Object || live.Opaque() || recorded.Opaque() {
		return recorded.Equal(live)
	}
	members := maps.Collect(live.All())
	for name, v := range recorded.All() {
		w, ok := members[name]
		if !ok && !isEmpty(v) || ok && !contains(w, v) {
			return false
		}
	}
	return true
}

// shorten returns the text of a value, cut to 60 bytes.
func shorten(raw []byte) string {
	const most = 60
	if len(raw) <= most {
		return string(raw)
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(raw[n]) {
		n--
	}
	return string(bytes.TrimSpace(raw[:n])) + "…"
}
