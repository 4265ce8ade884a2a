package tap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// await takes an input_required result (2026-07-28 basic/patterns/mrtr): the
// call goes on with a retry under a new id.
func (t *Tracker) await(x *arrival, c *callState) {
	w := readResult(x.m.Result)
	c.Status = CallInputRequired
	c.embed(x, w.inputs)
	t.outlives(c)
	more := c.extra()
	if key := t.word(keyState, c.Lane, w.state); key != nil {
		t.words.add(string(key), &more.state, &c.first)
	}
	t.words.add(shapeKey(c.Lane, c.Method, c.name), &more.shape, &c.first)
}

// appendShape appends what a retry has in common with its request beside the
// method.
func appendShape(dst []byte, w *callWords) []byte {
	return appendWord(appendWord(dst, w.name), w.uri)
}

func shapeKey(lane Lane, method string, name []byte) string {
	return string([]byte{keyShape, byte(lane)}) + method + "\x00" + string(name)
}

// chainChoice is with how many waiting calls a retry is compared at most, and in
// how many keys.
const chainChoice = 8

// retried finds the call that a request with input or a state goes on with.
func (t *Tracker) retried(x *arrival, w *callWords) *callState {
	name := appendShape(nil, w)
	e, guess := bestMatch(t.named(keyState, x.f.Lane, w.state), x, w, name)
	lost := false
	if e == nil && w.inputs != nil {
		e, guess = bestMatch(t.words[shapeKey(x.f.Lane, x.m.Method, name)], x, w, name)
		lost = e != nil && (w.state != nil || e.owner.call.more.state.listed())
	}
	if e == nil {
		return nil
	}
	c, key := e.owner.call, e.key
	if lost {
		c.Notes |= NoteStateLost
		guess = true
	}
	t.retire(&c.more.state, pastStates, c)
	t.words.remove(&c.more.shape)
	if guess {
		x.part.Guess = true
		t.words.doubt(key)
	}
	if c.Status == CallInputRequired {
		c.Status = CallPending
	}
	c.answerEmbedded(x, w.inputs)
	return c
}

// bestMatch chooses among calls that wait with the same state or the same
// shape, of those that ask for the same thing: most of all one of which the
// state is given back or was not given, then one whose questions the input
// answers, then one with the same arguments, then the one that waits longest.
// Guess says that it had a choice.
func bestMatch(l list[string], x *arrival, w *callWords, name []byte) (best *entry[string], guess bool) {
	most, tried, fit := -1, 0, 0
	arguments := hashText(w.arguments)
	for e := l.oldest; e != nil && tried < chainChoice; e = e.newer {
		tried++
		c, score := e.owner.call, 0
		if c.Method != x.m.Method || !bytes.Equal(c.name, name) && len(c.name) > 0 && len(name) > 0 {
			continue
		}
		fit++
		if (w.state != nil) == c.more.state.listed() {
			score += 4
		}
		if c.answeredBy(w.inputs) {
			score += 2
		}
		if c.arguments == arguments {
			score++
		}
		if score > most {
			best, most = e, score
		}
	}
	return best, fit > 1 || l.n > tried || l.doubt
}

// embed notes the entries of inputRequests. One that is still open under its
// key is the same, as polls of a task repeat them.
func (c *callState) embed(x *arrival, requests written) {
	if !requests.isObject() {
		return
	}
	requests.each(func(key []byte, v written) bool {
		if len(c.Asked) == MaxCallRefs {
			return false
		}
		name := embeddedKey(key)
		if c.openEmbedded(name) >= 0 {
			return true
		}
		m := Message{Kind: Request, Method: v.get("method").text(), Params: v.get("params")}
		c.Asked = append(c.Asked, EmbeddedRequest{
			Key: name, Method: bound(m.Method), Subject: Subject(m), Request: x.part.Message,
		})
		return true
	})
}

// embeddedKey is a key as it is kept and compared.
func embeddedKey(key []byte) string {
	if len(key) <= MaxSubject {
		return string(key)
	}
	sum := sha256.Sum256(key)
	return bound(string(key[:MaxSubject-2*len(sum)])) + hex.EncodeToString(sum[:])
}

// openEmbedded finds the entry of a key that has not been answered, -1 for none.
func (c *callState) openEmbedded(key string) int {
	for i := len(c.Asked) - 1; i >= 0; i-- {
		if c.Asked[i].Key == key && c.Asked[i].Response == (Ref{}) {
			return i
		}
	}
	return -1
}

// answerEmbedded notes the entries of inputResponses.
func (c *callState) answerEmbedded(x *arrival, responses written) {
	if !responses.isObject() {
		return
	}
	left := MaxCallRefs
	responses.each(func(key []byte, v written) bool {
		if i := c.openEmbedded(embeddedKey(key)); i >= 0 {
			c.Asked[i].Response = x.part.Message
			c.Asked[i].Answer = bound(aboutResult(v))
		}
		left--
		return left > 0
	})
}

// answeredBy reports whether the first entries of inputResponses answer what
// the call was asked.
func (c *callState) answeredBy(responses written) bool {
	fits, left := responses != nil, chainChoice
	responses.each(func(key []byte, _ written) bool {
		left--
		fits = responses.isObject() && c.openEmbedded(embeddedKey(key)) >= 0
		return fits && left > 0
	})
	return fits
}
