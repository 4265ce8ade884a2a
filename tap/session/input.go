package session

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// await handles an input_required result (2026-07-28 basic/patterns/mrtr): the call continues
// with a retry that has a new id.
func (t *Pairing) await(x *arrival, c *call) {
	w := readFields(x.m.Result)
	c.Status = CallInputRequired
	c.embed(x, w["inputRequests"])
	t.name(c.first, wordState, word(wordState, c.Lane, w["requestState"]))
	t.name(c.first, wordShape, shape(c.Lane, c.Method, c.name))
}

// shapeName returns the name and the URI, which a retry repeats.
func shapeName(w fields) string {
	return string(jsonrpc.AppendKey(jsonrpc.AppendKey(nil, w["name"]), w["uri"]))
}

func shape(lane tap.Lane, method, name string) string {
	return string([]byte{wordShape, byte(lane)}) + method + "\x00" + name
}

// chainChoice is the maximum number of waiting calls that a retry is compared with, and
// of keys of its input that are compared.
const chainChoice = 8

// retried finds the call that a request with input or a state continues.
func (t *Pairing) retried(x *arrival, w fields) *call {
	name := shapeName(w)
	key := word(wordState, x.f.Lane, w["requestState"])
	c, guess := bestMatch(t.words[key], x, w, name)
	lost := false
	if c == nil && w["inputResponses"] != nil {
		key = shape(x.f.Lane, x.m.Method, name)
		c, guess = bestMatch(t.words[key], x, w, name)
		lost = c != nil && (w["requestState"] != nil || c.first.word(wordState) != "")
	}
	if c == nil {
		return nil
	}
	if lost {
		c.Notes |= NoteStateLost
		guess = true
	}
	t.retire(c.first, wordState)
	t.drop(c.first, wordShape)
	if guess {
		x.part.Guess = true
		for _, a := range few(t.words[key]) {
			a.call.doubt = true
		}
	}
	if c.Status == CallInputRequired {
		c.Status = CallPending
	}
	c.answerEmbedded(x, w["inputResponses"])
	return c
}

func few(l requests) requests { return l[:min(len(l), chainChoice)] }

// bestMatch chooses from the calls that wait with the same state or the same shape. It
// prefers one whose state was returned or that has none, then one whose requests the input
// answers, then one with the same arguments, then the oldest. Guess reports that it had a
// choice.
func bestMatch(waiting requests, x *arrival, w fields, name string) (best *call, guess bool) {
	most, fit := -1, 0
	arguments := hashText(w["arguments"])
	for _, a := range few(waiting) {
		c := a.call
		if c.Method != x.m.Method || c.name != name && c.name != "" && name != "" {
			continue
		}
		fit++
		score := 0
		if (w["requestState"] != nil) == (c.first.word(wordState) != "") {
			score += 4
		}
		if c.answeredBy(w["inputResponses"]) {
			score += 2
		}
		if c.arguments == arguments {
			score++
		}
		if score > most {
			best, most = c, score
		}
	}
	return best, fit > 1 || len(waiting) > chainChoice || best != nil && best.doubt
}

// embed notes the entries of inputRequests. One that is still open under its
// key is the same, as polls of a task repeat them.
func (c *call) embed(x *arrival, requests jsonrpc.Value) {
	if !requests.IsObject() {
		return
	}
	requests.Each(func(key []byte, v jsonrpc.Value) bool {
		if len(c.Asked) == MaxCallRefs {
			return false
		}
		name := embeddedKey(key)
		if c.openEmbedded(name) >= 0 {
			return true
		}
		m := jsonrpc.Message{Kind: jsonrpc.Request, Method: v.Get("method").Text(), Params: v.Get("params")}
		c.Asked = append(c.Asked, EmbeddedRequest{
			Key: name, Method: jsonrpc.Bound(m.Method), Subject: jsonrpc.Subject(m), Request: x.part.Message,
		})
		return true
	})
}

// embeddedKey returns the form in which a key is kept and compared.
func embeddedKey(key []byte) string {
	if len(key) <= jsonrpc.MaxSubject {
		return string(key)
	}
	sum := sha256.Sum256(key)
	return jsonrpc.Bound(string(key[:jsonrpc.MaxSubject-2*len(sum)])) + hex.EncodeToString(sum[:])
}

// openEmbedded finds the entry of a key that has not been answered, -1 for none.
func (c *call) openEmbedded(key string) int {
	for i := len(c.Asked) - 1; i >= 0; i-- {
		if c.Asked[i].Key == key && c.Asked[i].Response == (Ref{}) {
			return i
		}
	}
	return -1
}

// answerEmbedded notes the entries of inputResponses.
func (c *call) answerEmbedded(x *arrival, responses jsonrpc.Value) {
	if !responses.IsObject() {
		return
	}
	left := MaxCallRefs
	responses.Each(func(key []byte, v jsonrpc.Value) bool {
		if i := c.openEmbedded(embeddedKey(key)); i >= 0 {
			c.Asked[i].Response = x.part.Message
			c.Asked[i].Answer = jsonrpc.Bound(jsonrpc.AboutResult(v))
		}
		left--
		return left > 0
	})
}

// answeredBy reports whether the first entries of inputResponses answer open
// requests for input of the call.
func (c *call) answeredBy(responses jsonrpc.Value) bool {
	fits, left := responses != nil, chainChoice
	responses.Each(func(key []byte, _ jsonrpc.Value) bool {
		left--
		fits = responses.IsObject() && c.openEmbedded(embeddedKey(key)) >= 0
		return fits && left > 0
	})
	return fits
}
