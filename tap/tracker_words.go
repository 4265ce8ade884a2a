package tap

import (
	"crypto/sha256"
	"strings"

	"github.com/tidwall/gjson"
)

// callWords are the members of params that tie a message to others, each as it
// stands on the wire; "" when absent. They point into the params.
type callWords struct {
	name, uri, task, arguments, elicitation string
	taskID, state, inputs                   string
	requestID, id, progressToken, reason    string
	status, statusMessage, level            string
	meta                                    metaWords
	// whole are the params.
	whole gjson.Result
}

// metaWords are those of _meta.
type metaWords struct {
	token, version, logLevel, relatedTask, subscription string
}

// readWords reads params. Of two members of one name the last counts.
func readWords(params []byte) (w callWords) {
	if len(params) == 0 || params[0] != '{' {
		return w
	}
	w.whole = gjson.ParseBytes(params)
	w.whole.ForEach(func(key, v gjson.Result) bool {
		if to := w.member(key.Str); to != nil {
			*to = present(v)
		} else if key.Str == "_meta" {
			w.meta = readMeta(v)
		}
		return true
	})
	return w
}

// present is a value as it stands; null counts as absent.
func present(v gjson.Result) string {
	if v.Type == gjson.Null {
		return ""
	}
	return v.Raw
}

// member finds where a member of params belongs.
func (w *callWords) member(name string) *string {
	switch name {
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

func readMeta(meta gjson.Result) (w metaWords) {
	if !meta.IsObject() {
		return w
	}
	meta.ForEach(func(key, v gjson.Result) bool {
		if key.Str == "progressToken" {
			w.token = v.Raw
			return true
		}
		switch name, ours := strings.CutPrefix(key.Str, metaPrefix); {
		case !ours:
		case name == "protocolVersion":
			w.version = v.Str
		case name == "logLevel":
			w.logLevel = v.Str
		case name == "subscriptionId":
			w.subscription = v.Raw
		case name == "related-task":
			w.relatedTask = member(v, "taskId").Raw
		}
		return true
	})
	return w
}

// wordSize is up to how many bytes a word is kept as it is. A longer one is
// kept as its hash: a requestState may have any length.
const wordSize = 64

// appendWord appends what two JSON values have in common when they are the
// same, typed like ids (see appendIDKey), or nothing for one that is absent or
// null.
func appendWord(dst []byte, raw string) []byte {
	if raw == "" || raw == "null" { // as an id or in _meta
		return dst
	}
	class, word := raw[0], raw
	switch {
	case class == '"' && !strings.Contains(raw, `\`):
		word = raw[1 : len(raw)-1]
	case class == '"':
		// What is decoded with a loss is not the same as what looks like it.
		if s := unquote([]byte(raw)); !strings.Contains(s, "\ufffd") {
			word = s
		} else {
			class = '\\'
		}
	case (class == '-' || class-'0' < 10) && len(raw) <= wordSize:
		return appendNumber(append(dst, '0'), []byte(raw))
	}
	if len(word) > wordSize {
		sum := sha256.Sum256([]byte(word))
		return append(append(dst, 'h', class), sum[:]...)
	}
	return append(append(dst, class), word...)
}

// wordText is a value as text to keep: decoded, bounded, and with no hold on
// the frame.
func wordText(raw string) string {
	if raw == "" {
		return ""
	}
	return strings.Clone(bound(text(gjson.Parse(raw))))
}

// hashText is a hash for telling texts apart where a mistake does no harm.
func hashText(s string) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// clipWord bounds a word that is kept.
func clipWord(s string) string {
	if len(s) <= MaxWord {
		return s
	}
	return strings.Clone(s[:MaxWord])
}

// resultWords are the members of a result that make it an interim one.
type resultWords struct {
	state, inputs         string // requestState, inputRequests
	task, taskID          string
	status, statusMessage string
	result, err           string // of a task of the extension
}

func readResult(result []byte) (w resultWords) {
	if len(result) == 0 || result[0] != '{' {
		return w
	}
	gjson.ParseBytes(result).ForEach(func(key, v gjson.Result) bool {
		if to := w.member(key.Str); to != nil {
			*to = present(v)
		}
		return true
	})
	return w
}

func (w *resultWords) member(name string) *string {
	switch name {
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
