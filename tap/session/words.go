package session

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
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

// unreadID is the word of an id that was not read, of a request on a lane.
func unreadID(lane tap.Lane) string { return string([]byte{wordID, byte(lane)}) }

// exchangeWord is the word of the client's requests on an exchange, "" for 0.
func exchangeWord(exchange uint64) string {
	if exchange == 0 {
		return ""
	}
	return string(binary.BigEndian.AppendUint64([]byte{wordExchange}, exchange))
}

// name makes a request known by a word, unless that is "", in place of the one of
// that kind that it has.
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

// drop takes the word of a kind of a request out of use and returns it, "" if it has
// none.
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

// retire drops words and remembers whose they were.
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

// remember notes what a word stood for that is not in use any more.
func (t *Pairing) remember(word string, of tie) {
	t.past.Max = MaxPast
	t.past.Put(word, of)
	t.past.Touch(word)
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

// remove returns the list without v. The nearer v is to either end, the quicker that
// is.
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

// fields are the members of params or of a result that tie a message to others, each
// as on the wire; nil when absent or null. They point into the message.
type fields struct {
	name, uri, task, arguments, elicitation jsonrpc.Value
	taskID, state, inputs                   jsonrpc.Value
	requestID, id, progressToken, reason    jsonrpc.Value
	status, statusMessage, level            jsonrpc.Value
	inputRequests, result, err              jsonrpc.Value // of a result, or of news of a task
	// Those of _meta.
	token, version, logLevel, relatedTask, subscription jsonrpc.Value
}

// readFields reads an object. Of two members of one name the last counts.
func readFields(object jsonrpc.Value) (w fields) {
	if !object.IsObject() {
		return w
	}
	object.Each(func(name []byte, v jsonrpc.Value) bool {
		if to := w.member(name); to != nil {
			if *to = v; string(v) == "null" {
				*to = nil
			}
		} else if string(name) == "_meta" {
			w.readMeta(v)
		}
		return true
	})
	return w
}

// member returns where a member belongs, nil for one that does not matter.
func (w *fields) member(name []byte) *jsonrpc.Value {
	switch string(name) {
	case "name":
		return &w.name
	case "uri":
		return &w.uri
	case "task":
		return &w.task
	case "arguments":
		return &w.arguments
	case "elicitationId":
		return &w.elicitation
	case "taskId":
		return &w.taskID
	case "requestState":
		return &w.state
	case "inputResponses":
		return &w.inputs
	case "requestId":
		return &w.requestID
	case "id":
		return &w.id
	case "progressToken":
		return &w.progressToken
	case "reason":
		return &w.reason
	case "status":
		return &w.status
	case "statusMessage":
		return &w.statusMessage
	case "level":
		return &w.level
	case "inputRequests":
		return &w.inputRequests
	case "result":
		return &w.result
	case "error":
		return &w.err
	}
	return nil
}

func (w *fields) readMeta(meta jsonrpc.Value) {
	w.token, w.version, w.logLevel, w.subscription, w.relatedTask = nil, nil, nil, nil, nil
	if !meta.IsObject() {
		return
	}
	meta.Each(func(name []byte, v jsonrpc.Value) bool {
		if string(name) == "progressToken" {
			w.token = v
		}
		name, ours := bytes.CutPrefix(name, []byte(jsonrpc.MetaPrefix))
		if !ours {
			return true
		}
		switch string(name) {
		case "protocolVersion":
			w.version = nonEmpty(v)
		case "logLevel":
			w.logLevel = nonEmpty(v)
		case "subscriptionId":
			w.subscription = v
		case "related-task":
			w.relatedTask = v.Get("taskId")
		}
		return true
	})
}

// nonEmpty returns v if it is a string that is not empty.
func nonEmpty(v jsonrpc.Value) jsonrpc.Value {
	if len(v) > len(`""`) && v[0] == '"' {
		return v
	}
	return nil
}

// wordText is a value as text to keep: decoded, bounded, and with no hold on
// the frame.
func wordText(raw jsonrpc.Value) string { return jsonrpc.Bound(raw.Text()) }

// hashText is a hash for telling texts apart where a mistake does no harm.
func hashText(b []byte) uint64 { return maphash.Bytes(hashSeed, b) }

var hashSeed = maphash.MakeSeed()

// clipWord bounds a word that is kept.
func clipWord(s string) string {
	if len(s) <= jsonrpc.MaxWord {
		return s
	}
	return strings.Clone(s[:jsonrpc.MaxWord])
}
