package replay

import (
	"bytes"

	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// client takes a message of the client's.
func (b *Builder) client(x *arriving) {
	c := cue{at: x.f.At, seq: x.f.Seq, index: uint16(x.part.Message.Index), exchange: x.f.Exchange, place: x.place}
	switch x.m.Kind {
	case jsonrpc.Request:
		b.request(x, c)
	case jsonrpc.Notification:
		b.notification(x, c)
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		b.answer(x, c)
	default:
		if key, ok := b.preparer.keyer.invalid(x.raw); ok && !x.f.Truncated {
			c.kind = cueInvalid
			b.s.index.exact.add(key, b.cue(c))
		}
	}
}

// invalid is the key of what is no message. A blank line has none, because nobody
// minds it.
func (k *keyer) invalid(raw []byte) (sum, bool) {
	raw = bytes.TrimSpace(raw)
	return k.of('x', raw), len(raw) > 0
}

func (b *Builder) request(x *arriving, c cue) {
	k := &x.prepared.key
	c.kind = cueRequest
	c.token = tokenMark(k.token)
	c.place.id = uint32(x.prepared.id.from)
	if k.modern {
		c.flags |= cueModern
	} else if plain(x.m.Method) {
		c.flags |= cuePlain
	}
	root := uint32(0)
	if x.part.Role != session.RoleRequest {
		root = b.s.find(x.part.Call)
	}
	n := b.cue(c)
	b.s.requests++
	if b.s.opening == 0 {
		b.s.opening = n
	}
	b.s.cues[n].call = n
	if root != 0 {
		b.again(n, root, x.m.Method)
	}
	if x.m.Method == "subscriptions/listen" {
		if b.listens == nil {
			b.listens = map[string]uint32{}
		}
		b.listens[word(x.m.ID)] = n
		b.s.cues[n].flags |= cueListens
	}
	b.s.eras.asked(n, x.m.Method, k)
	b.s.index.addRequest(b.s.opt.Match, x.m.Method, k, n)
}

// plain reports whether the requests of a method are like most. An initialize says what
// the client can, and the answer to a poll may be played for a later one.
func plain(method string) bool { return method != "initialize" && method != "tasks/get" }

// again ties a further request of a call to its first.
func (b *Builder) again(n, root uint32, method string) {
	first := &b.s.cues[root]
	before := first.again
	if before == 0 {
		before = root
	}
	b.s.cues[n].call = root
	if method == "tasks/get" {
		b.s.cues[n].flags |= cuePoll
		b.poll(n, before)
	} else {
		if b.waiting == nil {
			b.waiting = map[uint32]uint32{}
		}
		b.waiting[root] = n
	}
	first.again = n
}

// poll notes what has to come before a poll of a task, beside other polls: what
// else the client did for the call. Otherwise a client that polls faster than the
// recorded one would see a task end before it was done.
func (b *Builder) poll(n, before uint32) {
	need := before
	if b.s.cues[before].has(cuePoll) {
		need = b.s.needed[before]
	}
	need = max(need, b.gates[before])
	if w := b.waiting[b.s.cues[n].call]; w != 0 {
		need = max(need, w, b.gates[w])
	}
	if need == 0 {
		return
	}
	if b.s.needed == nil {
		b.s.needed = map[uint32]uint32{}
	}
	b.s.needed[n] = need
}

// tokenMark tells a token from others, 0 for none.
func tokenMark(token []byte) uint32 {
	key := word(token)
	if key == "" {
		return 0
	}
	h := uint32(2166136261) // FNV-1a
	for i := 0; i < len(key); i++ {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return h | 1
}

func (b *Builder) notification(x *arriving, c cue) {
	target := uint32(0)
	if x.part.Role == session.RoleCancel {
		target = b.s.find(x.part.Call)
	}
	if target != 0 {
		c.kind = cueCancel
		n := b.cue(c)
		owner := b.current(target)
		b.own(owner, item{at: c.at, seq: c.seq, index: c.index, kind: itemCancel, ref: n})
		b.s.cues[owner].flags |= cueCancelled
		return
	}
	c.kind = cueNotification
	b.s.index.addNotification(&x.prepared.key, b.cue(c))
}

func (b *Builder) answer(x *arriving, c cue) {
	if x.part.Role == session.RoleRepeat || x.part.Role == session.RoleOrphan {
		return // no live client can be made to say that
	}
	asked := b.s.findItem(x.part.Request)
	if asked == 0 {
		return
	}
	c.kind = cueAnswer
	n := b.cue(c)
	if b.s.asked == nil {
		b.s.asked = map[uint32]answer{}
	}
	b.s.asked[asked] = answer{n, b.preparer.keyer.answer(x.m)}
	it := &b.s.items[asked]
	if !it.has(itemHangs) {
		owner := b.current(it.cue)
		b.own(owner, item{at: c.at, seq: c.seq, index: c.index, kind: itemAnswer, ref: asked})
		if b.s.cues[owner].call != owner || b.s.cues[owner].again != 0 {
			if b.gates == nil {
				b.gates = map[uint32]uint32{}
			}
			b.gates[owner] = n
		}
	}
	if task, ok := clientTask(x.m.Result); ok {
		if b.tasks == nil {
			b.tasks = map[string]uint32{}
		}
		b.tasks[word(task)] = asked
	}
}

// answer sums what an answer says: its result by value, but for what is another one
// in each run, or the code of its error.
func (h *hasher) answer(m *jsonrpc.Message) (s sum) {
	if m.Kind == jsonrpc.ErrorResponse {
		return h.of('e', []byte(m.ErrorCode))
	}
	s, _ = h.value(m.Result, 0, inEachRun)
	return s
}

// inEachRun are the members of a client's answer that are others in each run: its
// tasks have names and times (2025-11-25 basic/utilities/tasks).
var inEachRun = []Path{
	{"_meta"}, {"taskId"}, {"createdAt"}, {"lastUpdatedAt"},
	{"task", "taskId"}, {"task", "createdAt"}, {"task", "lastUpdatedAt"},
}

// clientTask is the id of the task that an answer of the client's makes
// (2025-11-25 basic/utilities/tasks).
func clientTask(result []byte) ([]byte, bool) {
	at, ok := find(result, 0, "task", "taskId")
	if !ok || classAt(result, at.from) != '"' {
		return nil, false
	}
	return at.of(result), true
}
