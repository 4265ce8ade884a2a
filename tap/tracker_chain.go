package tap

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/tidwall/gjson"
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

// shapeName is what a retry has in common with its request beside the method.
func shapeName(w *callWords) string {
	return string(appendWord(appendWord(nil, w.name), w.uri))
}

func shapeKey(lane Lane, method, name string) string {
	return string([]byte{keyShape, byte(lane)}) + method + "\x00" + name
}

// chainChoice is with how many waiting calls a retry is compared at most, and in
// how many keys.
const chainChoice = 8

// retried finds the call that a request with input or a state goes on with.
func (t *Tracker) retried(x *arrival, w *callWords) *callState {
	name := shapeName(w)
	e, guess := bestMatch(t.named(keyState, x.f.Lane, w.state), x, w, name)
	lost := false
	if e == nil && w.inputs != "" {
		e, guess = bestMatch(t.words[shapeKey(x.f.Lane, x.m.Method, name)], x, w, name)
		lost = e != nil && (w.state != "" || e.owner.call.more.state.listed)
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
func bestMatch(l list[string], x *arrival, w *callWords, name string) (best *entry[string], guess bool) {
	most, tried, fit := -1, 0, 0
	arguments := hashText(w.arguments)
	for e := l.oldest; e != nil && tried < chainChoice; e = e.newer {
		tried++
		c, score := e.owner.call, 0
		if c.Method != x.m.Method || c.name != name && c.name != "" && name != "" {
			continue
		}
		fit++
		if (w.state != "") == c.more.state.listed {
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
func (c *callState) embed(x *arrival, raw string) {
	gjson.Parse(raw).ForEach(func(key, v gjson.Result) bool {
		if len(c.Asked) == MaxCallRefs {
			return false
		}
		name := embeddedKey(key.Str)
		if key.Type != gjson.String || c.openEmbedded(name) >= 0 {
			return true
		}
		m := Message{Kind: Request, Method: text(member(v, "method")), Params: []byte(member(v, "params").Raw)}
		c.Asked = append(c.Asked, EmbeddedRequest{
			Key: name, Method: strings.Clone(bound(m.Method)), Subject: strings.Clone(Subject(m)), Request: x.part.Message,
		})
		return true
	})
}

// embeddedKey is a key as it is kept and compared.
func embeddedKey(key string) string {
	if len(key) <= MaxSubject {
		return strings.Clone(key)
	}
	sum := sha256.Sum256([]byte(key))
	return bound(key[:MaxSubject-2*len(sum)]) + hex.EncodeToString(sum[:])
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
func (c *callState) answerEmbedded(x *arrival, raw string) {
	left := MaxCallRefs
	gjson.Parse(raw).ForEach(func(key, v gjson.Result) bool {
		if i := c.openEmbedded(embeddedKey(key.Str)); i >= 0 && key.Type == gjson.String {
			c.Asked[i].Response = x.part.Message
			c.Asked[i].Answer = strings.Clone(bound(aboutResult(v)))
		}
		left--
		return left > 0
	})
}

// answeredBy reports whether the first entries of inputResponses answer what
// the call was asked.
func (c *callState) answeredBy(raw string) bool {
	fits, left := raw != "", chainChoice
	gjson.Parse(raw).ForEach(func(key, _ gjson.Result) bool {
		left--
		fits = key.Type == gjson.String && c.openEmbedded(embeddedKey(key.Str)) >= 0
		return fits && left > 0
	})
	return fits
}
