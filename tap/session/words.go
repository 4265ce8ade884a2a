package session

import (
	"encoding/binary"
	"hash/maphash"
	"maps"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// The first byte of a word is its kind.
const (
	wordID           = 'i'
	wordToken        = 't' // of progress
	wordExchange     = 'x' // HTTP
	wordTask         = 'k'
	wordSubscription = 'u'
	wordState        = 's' // requestState
	wordShape        = 'f' // of a retry without a state
	wordElicitation  = 'e'
)

// word returns the key of an id, a token or another value by which messages name a
// request or a call that crossed on a lane: equal for values that are the same, ""
// for one that is absent or null.
func word(kind byte, lane tap.Lane, value []byte) string {
	key := jsonrpc.AppendKey([]byte{kind, byte(lane)}, value)
	if len(key) == 2 {
		return ""
	}
	return string(key)
}

// unreadID returns the word of a request on a lane whose id was not read.
func unreadID(lane tap.Lane) string { return string([]byte{wordID, byte(lane)}) }

// exchangeWord returns the word of the client's requests on an exchange, "" for 0.
func exchangeWord(exchange uint64) string {
	if exchange == 0 {
		return ""
	}
	return string(binary.BigEndian.AppendUint64([]byte{wordExchange}, exchange))
}

// name gives a request a word, unless that is "", in place of its word of that kind.
func (t *Pairing) name(a *request, kind byte, word string) {
	t.drop(a, kind)
	if word == "" {
		return
	}
	if t.words == nil {
		t.words = map[string]requests{}
	}
	t.words[word] = append(t.words[word], a)
	a.words = append(a.words, word)
}

// drop removes the word of a kind of a request and returns it, "" if it has none.
func (t *Pairing) drop(a *request, kind byte) string {
	word := a.word(kind)
	if word == "" {
		return ""
	}
	a.words = remove(a.words, word)
	if left := remove(t.words[word], a); len(left) > 0 {
		t.words[word] = left
	} else {
		delete(t.words, word)
	}
	return word
}

// retire drops words and remembers which call they belonged to.
func (t *Pairing) retire(a *request, kinds ...byte) {
	for _, kind := range kinds {
		if word := t.drop(a, kind); word != "" {
			t.remember(word, a.call.tie())
		}
	}
}

// word returns the word of a kind of a request, "" if it has none.
func (a *request) word(kind byte) string {
	for _, word := range a.words {
		if word[0] == kind {
			return word
		}
	}
	return ""
}

// remember keeps what a word that is no longer in use stood for.
func (t *Pairing) remember(word string, of tie) {
	t.past.Max = MaxPast
	t.past.Put(word, of)
}

// requests are some requests, in the order in which they came.
type requests []*request

// oldest and newest return the request at an end, nil if there are none.
func (l requests) oldest() *request {
	if len(l) == 0 {
		return nil
	}
	return l[0]
}

func (l requests) newest() *request {
	if len(l) == 0 {
		return nil
	}
	return l[len(l)-1]
}

// only returns the request of a list of one, otherwise nil.
func (l requests) only() *request {
	if len(l) == 1 {
		return l[0]
	}
	return nil
}

// newestCall returns the call of the newest request, nil if there is none.
func (l requests) newestCall() *call {
	if a := l.newest(); a != nil {
		return a.call
	}
	return nil
}

// remove returns the list without v. It searches from both ends.
func remove[S ~[]T, T comparable](list S, v T) S {
	n := len(list)
	for i := 0; 2*i < n; i++ {
		at := n - 1 - i
		if list[i] == v {
			at = i
		} else if list[at] != v {
			continue
		}
		var none T
		if at == 0 {
			list[0] = none
			return list[1:]
		}
		copy(list[at:], list[at+1:])
		list[n-1] = none
		return list[:n-1]
	}
	return list
}

// fields are the members of params or of a result that tie a message to others, as on the
// wire, without null ones. The names of members of _meta have the prefix "_meta/". They
// point into the message.
type fields map[string]jsonrpc.Value

var (
	fieldNames = []string{
		"name", "uri", "task", "arguments", "elicitationId", "taskId", "requestState", "inputResponses", "requestId", "id", "progressToken",
		"reason", "status", "statusMessage", "level", "inputRequests", "result", "error", "_meta",
	}
	metaNames = []string{
		"progressToken", jsonrpc.MetaPrefix + "protocolVersion", jsonrpc.MetaPrefix + "logLevel",
		jsonrpc.MetaPrefix + "subscriptionId", jsonrpc.MetaPrefix + "related-task",
	}
)

// readFields reads an object. Of two members with one name the last counts.
func readFields(object jsonrpc.Value) fields {
	w := object.Members(fieldNames...)
	for name, v := range w["_meta"].Members(metaNames...) {
		switch name = strings.TrimPrefix(name, jsonrpc.MetaPrefix); name {
		case "related-task":
			v = v.Get("taskId")
		case "protocolVersion", "logLevel":
			if v.Decoded() == "" {
				continue
			}
		}
		w["_meta/"+name] = v
	}
	maps.DeleteFunc(w, func(_ string, v jsonrpc.Value) bool { return v == nil || string(v) == "null" })
	return w
}

// wordText returns a value as text to keep: decoded, bounded, and not referring to
// the frame.
func wordText(raw jsonrpc.Value) string { return jsonrpc.Bound(raw.Text()) }

// hashText returns a hash to distinguish texts; a collision does no harm.
func hashText(b []byte) uint64 { return maphash.Bytes(hashSeed, b) }

var hashSeed = maphash.MakeSeed()

// clipWord bounds a word that is kept.
func clipWord(s string) string {
	if len(s) <= jsonrpc.MaxWord {
		return s
	}
	return strings.Clone(s[:jsonrpc.MaxWord])
}
