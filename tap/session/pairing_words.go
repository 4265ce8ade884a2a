package session

import (
	"bytes"
	"hash/maphash"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// callWords are the members of params that tie a message to others, each as it
// stands on the wire; nil when absent. They point into the params.
type callWords struct {
	name, uri, task, arguments, elicitation jsonrpc.Value
	taskID, state, inputs                   jsonrpc.Value
	requestID, id, progressToken, reason    jsonrpc.Value
	status, statusMessage, level            jsonrpc.Value
	meta                                    metaWords
	// whole are the params.
	whole jsonrpc.Value
}

// metaWords are those of _meta.
type metaWords struct {
	token, version, logLevel, relatedTask, subscription jsonrpc.Value
}

// read reads params into zero words. Of two members of one name the last counts.
func (w *callWords) read(params []byte) {
	w.whole = params
	if !w.whole.IsObject() {
		return
	}
	w.whole.Each(func(name []byte, v jsonrpc.Value) bool {
		if to := w.member(name); to != nil {
			*to = present(v)
		} else if string(name) == "_meta" {
			w.meta = readMeta(v)
		}
		return true
	})
}

// present is a value as it stands; null counts as absent.
func present(v jsonrpc.Value) jsonrpc.Value {
	if string(v) == "null" {
		return nil
	}
	return v
}

// member finds where a member of params belongs.
func (w *callWords) member(name []byte) *jsonrpc.Value {
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
	}
	return nil
}

func readMeta(meta jsonrpc.Value) (w metaWords) {
	if !meta.IsObject() {
		return w
	}
	meta.Each(func(key []byte, v jsonrpc.Value) bool {
		if string(key) == "progressToken" {
			w.token = v
			return true
		}
		if !bytes.HasPrefix(key, []byte(jsonrpc.MetaPrefix)) {
			return true
		}
		switch string(key[len(jsonrpc.MetaPrefix):]) {
		case "protocolVersion":
			w.version = named(v)
		case "logLevel":
			w.logLevel = named(v)
		case "subscriptionId":
			w.subscription = v
		case "related-task":
			w.relatedTask = v.Get("taskId")
		}
		return true
	})
	return w
}

// named is a value that says something only as a string that is not empty.
func named(v jsonrpc.Value) jsonrpc.Value {
	if len(v) > len(`""`) && v[0] == '"' {
		return v
	}
	return nil
}

// What the first byte of a word says.
const (
	wordID           = 'i'
	wordToken        = 't'
	wordTask         = 'k'
	wordSubscription = 'u'
	wordState        = 's'
	wordShape        = 'f'
	wordElicitation  = 'e'
)

// word is a key for an id, a token or another value by which messages name a
// request that crossed on a lane: equal for values that are the same, "" for one
// that is absent or null.
func word(kind byte, lane tap.Lane, value []byte) string {
	key := jsonrpc.AppendKey([]byte{kind, byte(lane)}, value)
	if len(key) == 2 {
		return ""
	}
	return string(key)
}

// unreadID is the word of an id that was not read, of a request on a lane.
func unreadID(lane tap.Lane) string { return string([]byte{wordID, byte(lane)}) }

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

// resultWords are the members of a result that make it an interim one.
type resultWords struct {
	state, inputs         jsonrpc.Value // requestState, inputRequests
	task, taskID          jsonrpc.Value
	status, statusMessage jsonrpc.Value
	result, err           jsonrpc.Value // of a task of the extension
}

func readResult(result jsonrpc.Value) (w resultWords) {
	if !result.IsObject() {
		return w
	}
	result.Each(func(name []byte, v jsonrpc.Value) bool {
		if to := w.member(name); to != nil {
			*to = present(v)
		}
		return true
	})
	return w
}

func (w *resultWords) member(name []byte) *jsonrpc.Value {
	switch string(name) {
	case "requestState":
		return &w.state
	case "inputRequests":
		return &w.inputs
	case "task":
		return &w.task
	case "taskId":
		return &w.taskID
	case "status":
		return &w.status
	case "statusMessage":
		return &w.statusMessage
	case "result":
		return &w.result
	case "error":
		return &w.err
	}
	return nil
}
